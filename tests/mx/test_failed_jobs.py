"""Jobs whose unit was given up, by the API: failed, given up, tried again, acknowledged."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from synergy.model.job import JobMove, JobState
from synergy.model.process import OnFailure
from synergy.mx.access import Role
from synergy.names import TIMETABLE_START
from synergy.timeperiod import Qualifier
from tests.deployments import DAILY, HOURLY, a_deployment, a_process
from tests.mx.conftest import client_of
from tests.service.scheduler_harness import OPERATOR

FIRST = Qualifier.HOURLY.parse("2015051700")
HOUR, DAY = "2015051705", "2015051700"
ATTEMPTS = "all attempts are used"


def a_deployment_that_fails(**hourly):
    day = a_process("Day", DAILY, source="hour", sink="day")
    hour = a_process("Hour", HOURLY, source="raw", sink="hour", max_attempts=1, **hourly)
    return a_deployment({"site": [day, hour]})


@pytest.fixture
def deployment():
    return a_deployment_that_fails()


@pytest.fixture
def world(worlds, deployment):
    """It begins on 17 May; now is 12:00 on the 18th. Nothing has run yet."""
    world = worlds(deployment, now=datetime(2015, 5, 18, 12, 0, tzinfo=UTC))
    world.store.facts.set(TIMETABLE_START, DAY)
    return world


def move(world, first, last, after, *, before=JobState.EMBRYO, **fields):
    """Moves hours, numbered from the timetable's start."""
    span = (FIRST + first, FIRST + last)
    moves = [JobMove("Hour", HOURLY, *span, before, after, 1, ATTEMPTS, "t", **fields)]
    assert not world.store.jobs.move(moves, world.clock.now())


def get(client, path):
    answer = client.get(f"/api/v1/{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def post(client, path, body, status=200, **headers):
    answer = client.post(f"/api/v1/{path}", json=body, headers=headers)
    assert answer.status_code == status, answer.text
    return answer.json()


def found(client, query):
    items = get(client, f"jobs?process=Hour&{query}")["items"]
    return [(job["timeperiod"][8:], job["state"], job["cause"]) for job in items]


def breaks(_task):
    raise OSError("the disk is full")


# How they are told


@pytest.fixture
def some(world):
    """Hours 2 and 3 are failed, 4 is given up, 5 was and is acknowledged, 6 a person skipped."""
    move(world, 2, 3, JobState.FAILED)
    move(world, 4, 5, JobState.GIVEN_UP)
    move(world, 5, 5, JobState.SKIPPED, before=JobState.GIVEN_UP, acknowledged=True)
    move(world, 6, 6, JobState.SKIPPED)
    return world


@pytest.mark.usefixtures("some")
def test_each_state_is_found_and_a_skipped_job_tells_its_cause(client):
    assert found(client, "state=failed") == [("02", "failed", None), ("03", "failed", None)]
    assert found(client, "state=given_up") == [("04", "skipped", "given_up")]
    assert found(client, "state=skipped") == [
        ("05", "skipped", "acknowledged"),
        ("06", "skipped", None),
    ]


@pytest.mark.usefixtures("some")
def test_what_failed_is_not_late(client):
    hours = [hour for hour, _, _ in found(client, f"late=true&to={DAY[:8]}08")]
    assert hours == ["00", "01", "07"]


@pytest.mark.usefixtures("some")
def test_a_tree_keeps_them_apart(client):
    hours = get(client, f"trees/site?to={DAY[:8]}08")["processes"][1]
    assert hours["runs"] == [
        ["embryo", 2],
        ["failed", 2],
        ["given_up", 1],
        ["skipped", 2],
        ["embryo", 1],
    ]
    counts = {word: count for word, count in hours["counts"].items() if count}
    assert counts == {"embryo": 32, "failed": 2, "given_up": 1, "skipped": 2}
    assert hours["frontier"] == "2015051700"


@pytest.mark.usefixtures("some")
def test_why_says_the_state_of_the_contract_and_offers_the_requests_that_help(client):
    why = get(client, "jobs/Hour/2015051702/why")
    assert (why["kind"], why["state"]) == ("failed", "failed")
    paths = [help_["path"] for help_ in why["helps"] if help_["method"] == "POST"]
    assert paths == ["/api/v1/jobs/retry", "/api/v1/jobs/reprocess", "/api/v1/jobs/skip"]
    why = get(client, "jobs/Hour/2015051704/why")
    assert (why["kind"], why["state"]) == ("given_up", "skipped")
    assert why["helps"][0]["path"] == "/api/v1/jobs/acknowledge"


@pytest.mark.usefixtures("some")
def test_a_day_counts_its_failed_and_given_up_hours_apart(client):
    (hours,) = get(client, f"jobs/Day/{DAY}")["inputs"]
    assert hours["counts"] == {"embryo": 19, "failed": 2, "given_up": 1, "skipped": 2}
    told = [(job["state"], job["cause"]) for job in hours["jobs"][2:7]]
    assert told == [
        ("failed", None),
        ("failed", None),
        ("skipped", "given_up"),
        ("skipped", "acknowledged"),
        ("skipped", None),
    ]


def test_changes_since_a_skip_are_counted(world, client):
    move(world, 2, 4, JobState.SKIPPED)
    move(world, 3, 3, JobState.SKIPPED, before=JobState.SKIPPED, stale=True)
    assert get(client, "trees")["items"][0]["processes"][1]["unseen"] == 1
    assert get(client, "trees/site")["processes"][1]["unseen"] == 1
    assert found(client, "state=skipped&stale=true") == [("03", "skipped", None)]


def test_openapi_names_all_states_and_causes(client):
    document = client.get("/api/openapi.json").json()
    for verb in ("retry", "acknowledge"):
        operation = document["paths"][f"/api/v1/jobs/{verb}"]["post"]
        assert {"200", "202", "404", "409", "422"} <= set(operation["responses"])
    schemas = document["components"]["schemas"]
    kinds = schemas["OperationView"]["properties"]["kind"]["enum"]
    assert kinds == ["reprocess", "skip", "retry", "acknowledge"]
    assert {"failed", "given_up"} <= set(schemas["TouchedJob"]["properties"]["after"]["enum"])
    causes = schemas["ListedJob"]["properties"]["cause"]["anyOf"]
    assert causes == [{"enum": ["given_up", "acknowledged"], "type": "string"}, {"type": "null"}]


# Trying again


def test_what_failed_is_tried_again_and_then_all_of_it_is_done(world, client):
    world.write("raw", HOUR, 1)
    world.schedule()
    world.work("Hour", work=breaks)
    world.schedule()
    assert found(client, "state=failed") == [("05", "failed", None)]
    job = get(client, f"jobs/Hour/{HOUR}")["job"]
    assert "the disk is full" in job["reason"]
    dry = post(client, "jobs/retry", {"process": "Hour", "from": HOUR, "dry_run": True})
    entry = {"before": "failed", "after": "embryo", "generation": 1}
    assert dry["touched"] == [{"process": "Hour", "timeperiod": HOUR, **entry}]
    assert world.state("Hour", HOUR) is JobState.FAILED
    world.new_workers()
    body = {"process": "Hour", "from": DAY, "to": "2015051800", "reason": "a new disk"}
    assert post(client, "jobs/retry", body)["touched"] == dry["touched"]
    assert world.store.journal.of_job("Hour", HOUR)[0].event == "job.retried"
    world.clock.advance(2 * 3600)
    world.settle()
    assert (world.state("Hour", HOUR), world.generation("Hour", HOUR)) == (JobState.PROCESSED, 1)
    assert world.state("Day", DAY) is JobState.PROCESSED


def test_a_retry_that_is_sent_twice_is_done_once(some, client):
    body = {"jobs": [{"process": "Hour", "timeperiod": "2015051702"}]}
    first = client.post("/api/v1/jobs/retry", json=body, headers={"Idempotency-Key": "one"})
    again = client.post("/api/v1/jobs/retry", json=body, headers={"Idempotency-Key": "one"})
    assert first.json() == again.json()
    assert first.json()["count"] == 1
    assert again.headers["Idempotency-Replayed"] == "true"
    assert some.state("Hour", "2015051703") is JobState.FAILED


def test_a_retry_may_go_on_after_its_answer(some, client):
    body = {"process": "Hour", "from": DAY, "to": "2015051800"}
    asked = post(client, "jobs/retry", body, 202, Prefer="respond-async")
    assert (asked["kind"], asked["state"], asked["total"]) == ("retry", "accepted", 24)
    client.app.state.services.operations.work(lambda: True)
    ended = get(client, f"operations/{asked['id']}")
    assert (ended["state"], ended["touched"]) == ("done", 2)
    assert some.state("Hour", "2015051703") is JobState.EMBRYO


# Acknowledging


@pytest.fixture
def given_up(worlds):
    """Hour 5 was given up in earnest."""
    deployment = a_deployment_that_fails(on_failure=OnFailure.SKIP)
    world = worlds(deployment, now=datetime(2015, 5, 18, 12, 0, tzinfo=UTC))
    world.store.facts.set(TIMETABLE_START, DAY)
    world.write("raw", HOUR, 1)
    world.schedule()
    world.work("Hour", work=breaks)
    world.schedule()
    assert world.state("Hour", HOUR) is JobState.GIVEN_UP
    return world


@pytest.mark.parametrize("body", [{}, {"reason": ""}, {"reason": "  "}])
def test_to_acknowledge_takes_a_reason(given_up, body):
    asked = {"process": "Hour", "from": HOUR, **body}
    with client_of(given_up) as client:
        answer = post(client, "jobs/acknowledge", asked, 422)
        assert answer["detail"].startswith("reason is missing")
        assert given_up.state("Hour", HOUR) is JobState.GIVEN_UP
        (seen,) = post(client, "jobs/acknowledge", {**asked, "dry_run": True})["touched"]
        assert (seen["before"], seen["after"]) == ("given_up", "skipped")


def test_what_is_acknowledged_counts_as_skipped_and_says_why(given_up):
    body = {"process": "Hour", "from": HOUR, "reason": "nobody needs that hour"}
    with client_of(given_up) as client:
        assert post(client, "jobs/acknowledge", body)["count"] == 1
        assert found(client, "state=given_up") == []
        (job,) = get(client, "jobs?process=Hour&state=skipped")["items"]
        assert (job["cause"], job["reason"]) == ("acknowledged", "nobody needs that hour")
        assert post(client, "jobs/acknowledge", body)["count"] == 0
        entry = given_up.store.journal.of_job("Hour", HOUR)[0]
        assert (entry.event, entry.who) == ("job.acknowledged", "local (mx)")


@pytest.mark.parametrize("verb", ["retry", "acknowledge"])
def test_viewers_may_do_neither(house, verb):
    answer = house.bearer("vera", Role.VIEWER).post(
        f"/api/v1/jobs/{verb}", json={"process": "Sitehourly", "from": HOUR, "reason": "so"}
    )
    assert answer.status_code == 403


def test_what_an_operator_canceled_is_failed_and_says_by_whom(world, client):
    world.write("raw", HOUR, 1)
    world.schedule()
    (unit,) = world.units("Hour", HOUR)
    world.unit_commands.cancel(unit, OPERATOR, world.clock.now())
    world.schedule()
    (job,) = get(client, "jobs?process=Hour&state=failed")["items"]
    assert (job["timeperiod"], job["reason"] != "") == (HOUR, True)
    page = client.get(f"/jobs/Hour/{HOUR}").text
    assert "Its unit was canceled" in page
    assert OPERATOR.who in page
