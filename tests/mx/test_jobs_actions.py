"""Jobs by REST: reprocessed and skipped; the timetable is extended."""

from __future__ import annotations

import pytest

from synergy.commands.bulk import BulkRequest, BulkVerb, Range
from synergy.model.job import JobState
from synergy.mx.api import jobs as module
from tests.mx.timetable_kit import NOON, START, hours_days_and_client, move, started

DAY = START
HOUR = {"process": "Hour", "from": "2015051703"}


@pytest.fixture
def world(worlds):
    return started(worlds(hours_days_and_client(), now=NOON))


@pytest.fixture
def done(world):
    """A system in which all 37 hours, the first day and the client's day are finished, as noop."""
    world.clock.advance(2 * 3600)
    world.settle()
    assert world.state("Client", DAY) is JobState.NOOP
    return world


def touched(answer):
    return {(job["process"], job["timeperiod"]) for job in answer["touched"]}


def hours(*numbers):
    return {("Hour", f"20150517{hour:02}") for hour in numbers}


DAYS = {("Day", DAY), ("Client", DAY)}


def test_a_dry_run_names_the_cascade_and_changes_nothing(done, client):
    before = done.store.journal.last_seq()
    job = {"before": "noop", "after": "embryo", "generation": 2}
    periods = {"Hour": "2015051703", "Day": DAY, "Client": DAY}
    assert client.act("jobs/reprocess", {**HOUR, "dry_run": True}) == {
        "dry_run": True,
        "count": 3,
        "processes": {"Hour": 1, "Day": 1, "Client": 1},
        "touched": [{"process": name, "timeperiod": at, **job} for name, at in periods.items()],
    }
    assert done.store.journal.last_seq() == before


def test_a_range_is_reprocessed_without_its_end(done, client):
    answer = client.act("jobs/reprocess", {**HOUR, "to": "2015051706", "reason": "again"})
    assert (answer["dry_run"], answer["count"]) == (False, 5)
    assert touched(answer) == hours(3, 4, 5) | DAYS
    generations = [done.generation("Hour", f"20150517{hour:02}") for hour in range(2, 7)]
    assert generations == [1, 2, 2, 2, 1]
    entry = done.store.journal.of_job("Hour", "2015051703")[0]
    assert (entry.event, entry.why, entry.who) == ("job.started_over", "again", "local (mx)")
    assert client.act("jobs/reprocess", HOUR)["count"] == 0  # it has been already


def test_jobs_may_be_named_one_by_one(done, client):
    named = [("Hour", "2015051703"), ("Client", DAY), ("Hour", "2015051703")]
    jobs = [{"process": process, "timeperiod": timeperiod} for process, timeperiod in named]
    answer = client.act("jobs/reprocess", {"jobs": jobs})
    assert (touched(answer), answer["count"]) == (hours(3) | DAYS, 3)


def test_periods_of_a_request_are_understood_generously(done, client):
    def periods(body):
        answer = client.act("jobs/reprocess", {**body, "dry_run": True})
        return {job["timeperiod"] for job in answer["touched"] if job["process"] == "Hour"}

    day = {at for _, at in hours(*range(24))}
    assert periods({"process": "Hour", "from": "2015-05-17", "to": "2015-05-18"}) == day
    assert periods({"process": "Hour", "from": "2015-05-17"}) == day
    three = {"process": "Hour", "timeperiod": "2015-05-17T03:00Z"}
    assert periods({"jobs": [three]}) == {"2015051703"}
    client.act("jobs/reprocess", {"jobs": [{**three, "timeperiod": "2015-05-17"}]}, 422)
    client.act("jobs/reprocess", {"process": "Day", "from": "2015-05-17T03"}, 422)


def test_an_operation_keeps_canonical_timeperiods(done):
    deployment = done.deployment
    named = BulkRequest.of_jobs(deployment, BulkVerb.SKIP, [("Hour", "2015-05-17T03"), ("No", "x")])
    assert named.ranges == (Range("Hour", "2015051703", "2015051703"), Range("No", "x", "x"))
    ranged = BulkRequest.of_range(deployment, BulkVerb.SKIP, "Hour", "2015-05-17", "2015-05-18")
    assert ranged.ranges == (Range("Hour", "2015051700", "2015051723"),)


def test_a_skip_takes_what_is_unfinished(world, client):
    move(world, 0, 20, JobState.PROCESSED)
    answer = client.act("jobs/skip", {"process": "Day", "from": DAY, "reason": "lost"})
    assert touched(answer) == hours(21, 22, 23) | DAYS
    assert {job["after"] for job in answer["touched"]} == {"skipped"}
    assert world.state("Day", DAY) is JobState.SKIPPED
    assert world.state("Hour", "2015051720") is JobState.PROCESSED


@pytest.mark.parametrize("dry_run", [True, False])
def test_of_many_jobs_the_first_are_named_and_all_are_counted(done, client, monkeypatch, dry_run):
    monkeypatch.setattr(module, "MOST_LISTED", 2)
    body = {"process": "Hour", "from": DAY, "to": "2015051800", "dry_run": dry_run}
    answer = client.act("jobs/reprocess", body)
    assert (answer["count"], len(answer["touched"])) == (26, 2)
    assert answer["processes"] == {"Hour": 24, "Day": 1, "Client": 1}


@pytest.mark.parametrize("verb", ["reprocess", "skip", "retry"])
@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"process": "Hour"}, 422),
        ({**HOUR, "to": "2015051703"}, 422),
        ({**HOUR, "to": "2015051702"}, 422),
        ({**HOUR, "process": "Day"}, 422),
        ({"process": "Day", "from": DAY, "to": "2015051803"}, 422),
        ({"process": "Hour", "from": 2015051703}, 422),
        ({**HOUR, "jobs": []}, 422),
        ({**HOUR, "dry_run": "yes"}, 422),
        ({**HOUR, "why": "typo"}, 422),
        ({"jobs": []}, 422),
        ({"jobs": [{"process": "Hour"}]}, 422),
        ({"jobs": [{"process": "Nobody", "timeperiod": "2015051703"}]}, 404),
        ({**HOUR, "process": "Nobody"}, 404),
        ({**HOUR, "process": "Nobody", "to": "2015051704"}, 404),
        ({"process": "Hour", "from": "2014051703"}, 404),
        ({**HOUR, "to": "2030010100"}, 404),
    ],
)
def test_an_invalid_request_is_refused_and_changes_nothing(done, client, verb, body, status):
    before = done.store.journal.last_seq()
    client.act(f"jobs/{verb}", body, status)
    assert done.store.journal.last_seq() == before


def test_the_timetable_is_extended(done, client):
    body = {"from": "2015051600", "reason": "older data"}
    expected = {"count": 1, "touched": [{"before": DAY, "after": "2015051600"}]}
    dry = client.act("timetable/extend", {**body, "dry_run": True})
    assert dry == {"dry_run": True, **expected}
    assert done.timetable().start == DAY
    assert client.act("timetable/extend", body) == {"dry_run": False, **expected}
    assert client.read("trees/site")["processes"][1]["first"] == "2015051600"


@pytest.mark.parametrize(
    ("body", "status"),
    [({}, 422), ({"from": "2015051601"}, 200), ({"from": DAY}, 409), ({"from": "nine"}, 422)],
)
def test_the_timetable_is_extended_to_an_earlier_hour_only(done, client, body, status):
    client.act("timetable/extend", body, status)
