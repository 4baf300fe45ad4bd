"""The audit by REST: in the background, one at a time, with a kept result."""

from __future__ import annotations

import threading

import pytest

from synergy.errors import StorageUnavailable
from synergy.model.job import JobChange, JobState
from synergy.mx.background_audit import BackgroundAudit
from synergy.names import TIMETABLE_START
from synergy.queries.timetable.audit import Audit, Unexplained
from synergy.queries.timetable.last_audit import EVERY, PAUSE, SOON
from tests.deployments import DAILY

AT = "/api/v1/audit"


class Maker:
    """Makes audits, each once it is released; each has one more expected period."""

    def __init__(self, clock):
        self.clock = clock
        self.made = 0
        self.lasts = 0.0
        self.error = None
        self.unexplained = ()
        self.going_on = threading.Event()
        self.asked = threading.Semaphore(0)

    def __call__(self, progress):
        progress(3, 20)
        self.asked.release()
        while not self.going_on.wait(0.01):
            progress(3, 20)
        self.clock.advance(self.lasts)
        if self.error is not None:
            raise self.error
        self.made += 1
        return Audit(self.made, self.made, 0, self.unexplained)


@pytest.fixture
def maker(world):
    return Maker(world.clock)


@pytest.fixture
def audits(maker, world):
    audits = BackgroundAudit(maker, world.clock)
    yield audits
    maker.going_on.set()
    audits.stop()


def done(audits):
    """The standing after the running audit."""
    assert audits.wait_for_result(10)
    return audits.standing()


def test_one_audit_runs_at_a_time_and_reports_progress(maker, audits):
    assert audits.standing().is_running
    assert maker.asked.acquire(timeout=10)
    for standing in (audits.begin(), audits.standing()):
        assert (standing.is_running, standing.done, standing.total) == (True, 3, 20)
    maker.going_on.set()
    assert done(audits).result.audit.expected == 1
    assert maker.made == 1


def made_once(maker, audits):
    """The first audit is done; the next waits for its release."""
    maker.going_on.set()
    audits.begin()
    standing = done(audits)
    maker.going_on.clear()
    return standing


def test_the_result_is_kept_until_it_is_old(maker, audits, world):
    first = made_once(maker, audits)
    assert first.result.at == world.clock.now()
    world.clock.advance(EVERY)
    assert not audits.standing().is_running
    world.clock.advance(1)
    again = audits.standing()
    assert again.is_running
    assert again.result == first.result  # shown meanwhile
    maker.going_on.set()
    assert done(audits).result.audit.expected == 2


def test_an_audit_with_unexplained_periods_is_repeated_soon(maker, audits, world):
    maker.unexplained = (Unexplained("SiteHourly", "2015051700", "processed", "late"),)
    made_once(maker, audits)
    world.clock.advance(SOON)
    assert not audits.standing().is_running
    world.clock.advance(1)
    assert audits.standing().is_running
    maker.going_on.set()


def test_a_long_audit_is_made_less_often(maker, audits, world):
    maker.lasts = 60.0
    assert made_once(maker, audits).result.took == 60.0
    world.clock.advance(PAUSE * 60)
    assert not audits.standing().is_running
    world.clock.advance(1)
    assert audits.standing().is_running


def test_a_failed_audit_says_why_and_is_not_repeated_at_once(maker, audits):
    maker.error = StorageUnavailable("/srv/synergy.db is locked")
    maker.going_on.set()
    audits.begin()
    standing = done(audits)
    assert (standing.failure, standing.result) == ("the store does not answer", None)
    assert not standing.is_running


def test_stopping_aborts_the_running_audit(maker, audits):
    audits.begin()
    assert maker.asked.acquire(timeout=10)
    audits.stop()
    assert (maker.made, audits.standing().failure) == (0, "it was interrupted")
    assert not audits.begin().is_running


def test_the_first_response_has_the_audit_of_a_small_timetable(world, client):
    world.schedule()
    answer = client.get(AT)
    assert answer.status_code == 200
    result = answer.json()["result"]
    # 84 hours of which the last is not settled, 3 closed days of each tree
    assert result["audit"] == {
        "expected": 89, "accounted": 89, "unfinished": 89, "unexplained": [],
        "failed": 0, "given_up": 0, "acknowledged": 0, "unseen": 0, "late": 0,
        "failures": [], "acknowledgements": [],
    }  # fmt: skip
    assert result["at"] == "2015-05-20T12:00:00Z"


def test_a_fresh_audit_is_made_on_request(world, client):
    world.schedule()
    client.get(AT)
    world.clock.advance(30)
    assert client.get(AT).json()["result"]["at"] == "2015-05-20T12:00:00Z"
    assert client.get(f"{AT}?fresh=true").json()["result"]["at"] == "2015-05-20T12:00:30Z"


def test_unexplained_periods_are_named(world, client):
    world.store.facts.set(TIMETABLE_START, "2015051700")
    day, before, after = DAILY.parse("2015051700"), JobState.EMBRYO, JobState.PROCESSED
    world.store.jobs.move(
        [JobChange("Sitedaily", DAILY, day, day, before, after, 1, "", "a test")], world.clock.now()
    )
    audit = client.get(AT).json()["result"]["audit"]
    assert audit["expected"] - audit["accounted"] == len(audit["unexplained"])
    assert {
        "process": "Sitedaily",
        "timeperiod": "2015051700",
        "state": "processed",
        "text": "finished, but not all its children are",
    } in audit["unexplained"]


def test_a_timetable_without_start_says_so(client):
    answer = client.get(AT)
    assert answer.json()["result"] is None
    assert "has no start yet" in answer.json()["failure"]
