"""Trees: how far they are, and their states run-length encoded."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from synergy.model.job import JobMove, JobState
from synergy.mx.api.trees import Tree
from synergy.names import TIMETABLE_START
from synergy.timeperiod import Qualifier
from tests.deployments import DAILY, HOURLY, a_deployment, a_process, site_and_client
from tests.mx.conftest import client_of

FIRST = Qualifier.HOURLY.parse("2015051700")
NOTHING = {state.word: 0 for state in JobState}


@pytest.fixture
def world(worlds):
    """Two trees since 17 May; now is 12:00 on the 18th. Settling takes 300 s."""
    world = worlds(site_and_client(), now=datetime(2015, 5, 18, 12, 0, tzinfo=UTC))
    world.store.facts.set(TIMETABLE_START, "2015051700")
    return world


def move(world, first, last, after, *, before=JobState.EMBRYO, **fields):
    """Moves hours, numbered from the timetable's start."""
    moves = [
        JobMove(
            "Sitehourly", HOURLY, FIRST + first, FIRST + last, before, after, 1, "", "t", **fields
        )
    ]
    assert not world.store.jobs.move(moves, world.clock.now())


def hours_of(client, query=""):
    answer = client.get(f"/api/v1/trees/site{query}")
    assert answer.status_code == 200
    return answer.json()["processes"][3]


def test_neighbours_in_one_state_are_one_run(world, client):
    move(world, 0, 23, JobState.PROCESSED)
    move(world, 24, 24, JobState.NOOP)
    move(world, 25, 27, JobState.PROCESSED)
    move(world, 26, 26, JobState.PROCESSED, before=JobState.PROCESSED, stale=True)
    hours = hours_of(client)
    assert hours["from"] == "2015051700"
    assert hours["runs"] == [
        ["processed", 24],
        ["noop", 1],
        ["processed", 1],
        ["processed", 1, "stale"],
        ["processed", 1],
        ["embryo", 9],
    ]


def test_a_window_cuts_its_runs_off(world, client):
    move(world, 0, 23, JobState.PROCESSED)
    hours = hours_of(client, "?from=2015051722&to=2015051803")
    assert (hours["from"], hours["runs"]) == ("2015051722", [["processed", 2], ["embryo", 3]])
    hours = hours_of(client, "?to=2015051702")
    assert (hours["from"], hours["runs"]) == ("2015051700", [["processed", 2]])
    hours = hours_of(client, "?from=2020000000")
    assert hours["runs"] == []


def test_a_window_holds_the_coarser_periods_that_overlap_it(client):
    answer = client.get("/api/v1/trees/site?from=2015051723&to=2015051801").json()
    names = ["qualifier", "from", "runs"]
    assert [[process[name] for name in names] for process in answer["processes"]] == [
        ["yearly", "2015000000", [["embryo", 1]]],
        ["monthly", "2015050000", [["embryo", 1]]],
        ["daily", "2015051700", [["embryo", 2]]],
        ["hourly", "2015051723", [["embryo", 2]]],
    ]


def test_a_tree_says_all_that_a_page_needs_to_draw_it(world, client):
    move(world, 0, 4, JobState.PROCESSED)
    answer = client.get("/api/v1/trees/client").json()
    assert (answer["name"], answer["dependent_on"]) == ("client", ["site"])
    assert answer["now"] == "2015-05-18T12:00:00Z"
    hours = hours_of(client)
    del hours["runs"]
    assert hours == {
        "name": "Sitehourly",
        "qualifier": "hourly",
        "time_grouping": 1,
        "first": "2015051700",
        "last": "2015051812",  # open
        "frontier": "2015051705",
        "counts": {**NOTHING, "processed": 5, "embryo": 32},
        # 11:00 ended at 12:00 and settles until 12:05; 10:00 closed at 11:05
        "closed": "2015051811",
        # 09:00 closed at 10:05, more than an hour ago; 10:00 did not
        "late_before": "2015051810",
        "late": 29,  # 05:00 to 09:00 of the next day
        "unseen": 0,
        "from": "2015051700",
    }


@pytest.mark.parametrize(
    ("minute", "second", "microsecond", "closed", "late"),
    [
        (4, 59, 0, "2015051811", "2015051810"),
        (5, 0, 0, "2015051811", "2015051810"),  # at that instant it settles still
        (5, 0, 1, "2015051812", "2015051811"),
    ],
)
def test_a_period_closes_after_it_has_settled(worlds, minute, second, microsecond, closed, late):
    now = datetime(2015, 5, 18, 12, minute, second, microsecond, tzinfo=UTC)
    world = worlds(site_and_client(), now=now)
    world.store.facts.set(TIMETABLE_START, "2015051700")
    with client_of(world) as client:
        hours = hours_of(client)
    assert (hours["closed"], hours["late_before"]) == (closed, late)


def test_patience_is_that_of_the_process(worlds):
    day = a_process("Day", DAILY, settle=0, resubmit_after=2 * 86400.0)
    hour = a_process("Hour", HOURLY, settle=0, resubmit_after=60.0)
    world = worlds(
        a_deployment({"site": [day, hour]}), now=datetime(2015, 5, 20, 12, 0, tzinfo=UTC)
    )
    world.store.facts.set(TIMETABLE_START, "2015051700")
    with client_of(world) as client:
        days, hours = client.get("/api/v1/trees/site").json()["processes"]
    assert (days["late_before"], days["late"]) == ("2015051800", 1)
    assert (hours["late_before"], hours["late"]) == ("2015052011", 83)


def test_trees_say_how_far_they_are(world, client):
    move(world, 0, 4, JobState.PROCESSED)
    answer = client.get("/api/v1/trees")
    assert answer.status_code == 200
    site, other = answer.json()["items"]
    assert (site["name"], other["name"], other["dependent_on"]) == ("site", "client", ["site"])
    assert site["processes"][3] == {
        "name": "Sitehourly",
        "qualifier": "hourly",
        "counts": {**NOTHING, "processed": 5, "embryo": 32},
        "first": "2015051700",
        "last": "2015051812",
        "frontier": "2015051705",
        "late": 29,
        "unseen": 0,
    }


def test_what_is_not_there_or_cannot_be_is_said(client):
    answer = client.get("/api/v1/trees/nowhere")
    assert (answer.status_code, answer.json()["detail"]) == (
        404,
        "no such tree: nowhere; there are: site, client",
    )
    assert client.get("/api/v1/trees/site?from=2015059900").status_code == 422
    assert client.get("/api/v1/trees/site?from=yesterday").status_code == 422
    assert client.get("/api/v1/trees/site?from=2015051802&to=2015051802").status_code == 422


def test_before_there_is_a_timetable_it_is_refused(worlds):
    with client_of(worlds(site_and_client())) as client:
        assert client.get("/api/v1/trees").status_code == 409
        assert client.get("/api/v1/trees/site").status_code == 409


def test_the_answer_is_what_openapi_says_of_it(world, client):
    move(world, 0, 4, JobState.PROCESSED)
    move(world, 2, 2, JobState.PROCESSED, before=JobState.PROCESSED, stale=True)
    answer = client.get("/api/v1/trees/site").json()
    assert Tree.model_validate(answer).model_dump(mode="json", by_alias=True) == answer
    properties = client.get("/api/openapi.json").json()["components"]["schemas"]["LaneRuns"]
    assert set(properties["required"]) == answer["processes"][0].keys()


def test_a_tree_that_is_as_it_was_is_not_sent_again(world, client):
    first = client.get("/api/v1/trees/site")
    tag = first.headers["etag"]
    world.clock.advance(1)
    again = client.get("/api/v1/trees/site", headers={"If-None-Match": f'"other", {tag}'})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    move(world, 0, 0, JobState.PROCESSED)
    changed = client.get("/api/v1/trees/site", headers={"If-None-Match": tag})
    assert (changed.status_code, changed.headers["etag"] == tag) == (200, False)


def test_that_a_job_is_late_by_now_is_sent(world, client):
    tag = client.get("/api/v1/trees/site").headers["etag"]
    world.clock.advance(301)
    changed = client.get("/api/v1/trees/site", headers={"If-None-Match": tag})
    assert changed.status_code == 200
