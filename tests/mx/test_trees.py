"""Trees by REST: progress, and run-length encoded states."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

import pytest

from synergy.model.job import JobState
from synergy.mx.api.trees import Tree
from tests.deployments import DAILY, HOURLY, a_deployment, a_process, site_and_client
from tests.mx.conftest import client_of
from tests.mx.timetable_kit import NOON, move, started


@pytest.fixture
def world(worlds):
    """Two trees since 17 May, at 12:00 on the 18th; periods settle for 300 s."""
    return started(worlds(site_and_client(), now=NOON))


NOTHING = {state.word: 0 for state in JobState}
COUNTS = {**NOTHING, "processed": 5, "embryo": 32}
move = partial(move, process="Sitehourly")


def hours_of(client, query=""):
    return client.read(f"trees/site{query}")["processes"][3]


def test_neighbours_in_one_state_are_one_run(world, client):
    move(world, 0, 23, JobState.PROCESSED)
    move(world, 24, 24, JobState.NOOP)
    move(world, 25, 27, JobState.PROCESSED)
    move(world, 26, 26, JobState.PROCESSED, before=JobState.PROCESSED, stale=True)
    hours = hours_of(client)
    assert hours["from"] == "2015051700"
    assert hours["runs"] == [
        ["processed", 24], ["noop", 1], ["processed", 1], ["processed", 1, "stale"],
        ["processed", 1], ["embryo", 9],
    ]  # fmt: skip


def test_runs_of_states_are_cut_at_the_bounds_of_the_window(world, client):
    move(world, 0, 23, JobState.PROCESSED)
    hours = hours_of(client, "?from=2015051722&to=2015051803")
    assert (hours["from"], hours["runs"]) == ("2015051722", [["processed", 2], ["embryo", 3]])
    hours = hours_of(client, "?to=2015051702")
    assert (hours["from"], hours["runs"]) == ("2015051700", [["processed", 2]])
    hours = hours_of(client, "?from=2020000000")
    assert hours["runs"] == []


def test_a_window_holds_the_coarser_periods_that_overlap_it(client):
    answer = client.read("trees/site?from=2015051723&to=2015051801")
    names = ["qualifier", "from", "runs"]
    assert [[process[name] for name in names] for process in answer["processes"]] == [
        ["yearly", "2015000000", [["embryo", 1]]],
        ["monthly", "2015050000", [["embryo", 1]]],
        ["daily", "2015051700", [["embryo", 2]]],
        ["hourly", "2015051723", [["embryo", 2]]],
    ]


def test_a_tree_shows_levels_bounds_and_counts(world, client):
    move(world, 0, 4, JobState.PROCESSED)
    answer = client.read("trees/client")
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
        "counts": COUNTS,
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
    hours = hours_of(client_of(started(worlds(site_and_client(), now=now))))
    assert (hours["closed"], hours["late_before"]) == (closed, late)


def test_trees_show_their_progress(world, client):
    move(world, 0, 4, JobState.PROCESSED)
    site, other = client.read("trees")["items"]
    assert (site["name"], other["name"], other["dependent_on"]) == ("site", "client", ["site"])
    assert site["processes"][3] == {
        "name": "Sitehourly",
        "qualifier": "hourly",
        "counts": COUNTS,
        "first": "2015051700",
        "last": "2015051812",
        "frontier": "2015051705",
        "late": 29,
        "unseen": 0,
    }


def test_unknown_trees_and_invalid_windows_are_refused(client):
    problem = client.read("trees/nowhere", 404)
    assert problem["detail"] == "no such tree: nowhere; there are: site, client"
    for query in ("from=2015059900", "from=yesterday", "from=2015051802&to=2015051802"):
        client.read(f"trees/site?{query}", 422)


def test_before_the_first_start_trees_are_refused(worlds):
    client = client_of(worlds(site_and_client()))
    client.read("trees", 409)
    client.read("trees/site", 409)


def test_the_response_conforms_to_openapi(world, client):
    move(world, 0, 4, JobState.PROCESSED)
    move(world, 2, 2, JobState.PROCESSED, before=JobState.PROCESSED, stale=True)
    answer = client.read("trees/site")
    assert Tree.model_validate(answer).model_dump(mode="json", by_alias=True) == answer
    properties = client.get("/api/openapi.json").json()["components"]["schemas"]["ProcessStates"]
    assert set(properties["required"]) == answer["processes"][0].keys()


def test_an_unchanged_tree_responds_304(world, client):
    first = client.get("/api/v1/trees/site")
    tag = first.headers["etag"]
    world.clock.advance(1)
    again = client.get("/api/v1/trees/site", headers={"If-None-Match": f'"other", {tag}'})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    move(world, 0, 0, JobState.PROCESSED)
    changed = client.get("/api/v1/trees/site", headers={"If-None-Match": tag})
    assert (changed.status_code, changed.headers["etag"] == tag) == (200, False)


def test_a_job_that_became_late_changes_the_tree(world, client):
    tag = client.get("/api/v1/trees/site").headers["etag"]
    world.clock.advance(301)
    changed = client.get("/api/v1/trees/site", headers={"If-None-Match": tag})
    assert changed.status_code == 200


def test_lateness_follows_resubmit_after_of_the_process(worlds):
    day = a_process("Day", DAILY, settle=0, resubmit_after=2 * 86400.0)
    hour = a_process("Hour", HOURLY, settle=0, resubmit_after=60.0)
    now = datetime(2015, 5, 20, 12, 0, tzinfo=UTC)
    client = client_of(started(worlds(a_deployment({"site": [day, hour]}), now=now)))
    days, hours = client.read("trees/site")["processes"]
    assert (days["late_before"], days["late"]) == ("2015051800", 1)
    assert (hours["late_before"], hours["late"]) == ("2015052011", 83)
