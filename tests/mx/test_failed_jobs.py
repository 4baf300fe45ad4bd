"""Failed and given up jobs by REST: found, retried, acknowledged."""

from __future__ import annotations

import pytest

from synergy.model.job import JobState
from synergy.model.process import OnFailure
from tests.mx.conftest import client_of
from tests.mx.timetable_kit import NOON, START, hours_days_and_client, move, started
from tests.service.scheduler_harness import OPERATOR

HOUR, DAY = "2015051705", START


@pytest.fixture
def world(worlds):
    return started(worlds(hours_days_and_client(max_attempts=1), now=NOON))


def found(client, query):
    items = client.read(f"jobs?process=Hour&{query}")["items"]
    return [(job["timeperiod"][8:], job["state"], job["cause"]) for job in items]


def breaks(_task):
    raise OSError("the disk is full")


# How they are shown


@pytest.fixture
def some(world):
    """Hours 2 and 3 failed; 4 and 5 were given up, and 5 is acknowledged; 6 was skipped."""
    move(world, 2, 3, JobState.FAILED)
    move(world, 4, 5, JobState.GIVEN_UP)
    move(world, 5, 5, JobState.SKIPPED, before=JobState.GIVEN_UP, acknowledged=True)
    move(world, 6, 6, JobState.SKIPPED)
    return world


@pytest.mark.usefixtures("some")
def test_each_state_is_found_and_a_skipped_job_has_its_cause(client):
    assert found(client, "state=failed") == [("02", "failed", None), ("03", "failed", None)]
    assert found(client, "state=given_up") == [("04", "skipped", "given_up")]
    assert found(client, "state=skipped") == [
        ("05", "skipped", "acknowledged"),
        ("06", "skipped", None),
    ]


@pytest.mark.usefixtures("some")
def test_a_failed_job_is_not_late(client):
    hours = [hour for hour, _, _ in found(client, f"late=true&to={DAY[:8]}08")]
    assert hours == ["00", "01", "07"]


@pytest.mark.usefixtures("some")
def test_a_tree_distinguishes_failed_and_given_up_jobs(client):
    hours = client.read(f"trees/site?to={DAY[:8]}08")["processes"][1]
    expected = [("embryo", 2), ("failed", 2), ("given_up", 1), ("skipped", 2), ("embryo", 1)]
    assert hours["runs"] == [list(run) for run in expected]
    counts = {word: count for word, count in hours["counts"].items() if count}
    assert counts == {"embryo": 32, "failed": 2, "given_up": 1, "skipped": 2}
    assert hours["frontier"] == "2015051700"


@pytest.mark.usefixtures("some")
def test_why_gives_the_public_state_and_the_requests_of_remedies(client):
    why = client.read("jobs/Hour/2015051702/why")
    assert (why["kind"], why["state"]) == ("failed", "failed")
    paths = [help_["path"] for help_ in why["helps"] if help_["method"] == "POST"]
    assert paths == ["/api/v1/jobs/retry", "/api/v1/jobs/reprocess", "/api/v1/jobs/skip"]
    why = client.read("jobs/Hour/2015051704/why")
    assert (why["kind"], why["state"]) == ("given_up", "skipped")
    assert why["helps"][0]["path"] == "/api/v1/jobs/acknowledge"


@pytest.mark.usefixtures("some")
def test_a_day_counts_its_failed_and_given_up_hours_apart(client):
    (hours,) = client.read(f"jobs/Day/{DAY}")["inputs"]
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
    assert client.read("trees")["items"][0]["processes"][1]["unseen"] == 1
    assert client.read("trees/site")["processes"][1]["unseen"] == 1
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


# Retrying


def test_a_retried_job_is_processed_in_the_same_generation(world, client):
    world.write("raw", HOUR, 1)
    world.schedule()
    world.work("Hour", work=breaks)
    world.schedule()
    assert found(client, "state=failed") == [("05", "failed", None)]
    job = client.read(f"jobs/Hour/{HOUR}")["job"]
    assert "the disk is full" in job["reason"]
    dry = client.act("jobs/retry", {"process": "Hour", "from": HOUR, "dry_run": True})
    entry = {"before": "failed", "after": "embryo", "generation": 1}
    assert dry["touched"] == [{"process": "Hour", "timeperiod": HOUR, **entry}]
    assert world.state("Hour", HOUR) is JobState.FAILED
    world.new_workers()
    body = {"process": "Hour", "from": DAY, "to": "2015051800", "reason": "a new disk"}
    assert client.act("jobs/retry", body)["touched"] == dry["touched"]
    assert world.store.journal.of_job("Hour", HOUR)[0].event == "job.retried"
    world.clock.advance(2 * 3600)
    world.settle()
    assert (world.state("Hour", HOUR), world.generation("Hour", HOUR)) == (JobState.PROCESSED, 1)
    assert world.state("Day", DAY) is JobState.PROCESSED


@pytest.mark.parametrize("verb", ["retry", "acknowledge", "skip"])
def test_every_action_may_become_an_operation(some, client, verb):
    body = {"process": "Hour", "from": DAY, "to": "2015051800", "reason": "so"}
    asked = client.act(f"jobs/{verb}", body, 202, Prefer="respond-async")
    assert (asked["kind"], asked["state"], asked["total"]) == (verb, "accepted", 24)
    assert some.state("Hour", "2015051703") is JobState.FAILED


# Acknowledging


@pytest.fixture
def given_up(worlds):
    """A world whose scheduler gave up hour 5."""
    deployment = hours_days_and_client(max_attempts=1, on_failure=OnFailure.SKIP)
    world = started(worlds(deployment, now=NOON))
    world.write("raw", HOUR, 1)
    world.schedule()
    world.work("Hour", work=breaks)
    world.schedule()
    assert world.state("Hour", HOUR) is JobState.GIVEN_UP
    return world


@pytest.mark.parametrize("body", [{}, {"reason": ""}, {"reason": "  "}])
def test_acknowledging_needs_a_reason(given_up, body):
    asked = {"process": "Hour", "from": HOUR, **body}
    with client_of(given_up) as client:
        answer = client.act("jobs/acknowledge", asked, 422)
        assert answer["detail"].startswith("reason is missing")
        assert given_up.state("Hour", HOUR) is JobState.GIVEN_UP
        (seen,) = client.act("jobs/acknowledge", {**asked, "dry_run": True})["touched"]
        assert (seen["before"], seen["after"]) == ("given_up", "skipped")


def test_an_acknowledged_job_counts_as_skipped_with_its_reason(given_up):
    body = {"process": "Hour", "from": HOUR, "reason": "nobody needs that hour"}
    with client_of(given_up) as client:
        assert client.act("jobs/acknowledge", body)["count"] == 1
        assert found(client, "state=given_up") == []
        (job,) = client.read("jobs?process=Hour&state=skipped")["items"]
        assert (job["cause"], job["reason"]) == ("acknowledged", "nobody needs that hour")
        assert client.act("jobs/acknowledge", body)["count"] == 0
        entry = given_up.store.journal.of_job("Hour", HOUR)[0]
        assert (entry.event, entry.who) == ("job.acknowledged", "local (mx)")


def test_a_canceled_unit_fails_its_job_and_names_the_operator(world, client):
    world.write("raw", HOUR, 1)
    world.schedule()
    (unit,) = world.units("Hour", HOUR)
    world.unit_commands.cancel(unit, OPERATOR, world.clock.now())
    world.schedule()
    (job,) = client.read("jobs?process=Hour&state=failed")["items"]
    assert (job["timeperiod"], job["reason"] != "") == (HOUR, True)
    page = client.get(f"/jobs/Hour/{HOUR}").text
    assert "Its unit was canceled" in page
    assert OPERATOR.who in page
