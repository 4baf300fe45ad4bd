"""The audit while a scheduler catches up."""

from __future__ import annotations

from contextlib import closing

import apsw
import pytest

from synergy.clock import SystemClock
from synergy.commands.audits import audited
from synergy.lifecycle.legal_moves import JobMove
from synergy.lifecycle.state_changes import move_job
from synergy.model.job import JobState
from synergy.queries.timetable.audit import Audit, audit
from synergy.storage.sqlite import SqliteStore, writer_gate
from tests.deployments import HOURLY, a_deployment, a_process
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness


@pytest.fixture
def catching_up():
    """A scheduler that has made one turn over some thousand empty hours, and has more to do."""
    hour = a_process("Hour", HOURLY, source="raw", sink="hour")
    system = SchedulerHarness(a_deployment({"site": [hour]}), start="2014010100")
    system.scheduler.run_once()
    assert system.timetable().place("Hour").level.counts[JobState.NOOP] > 100
    assert system.timetable().place("Hour").level.counts[JobState.EMBRYO] > 1000
    return system


def test_periods_that_a_working_scheduler_has_not_reached_are_explained(catching_up):
    result = catching_up.audit()
    assert result.unexplained == ()
    assert result.accounted == result.expected
    assert result.unfinished > 1000


def test_unfinished_periods_are_unexplained_once_the_scheduler_has_stopped(catching_up):
    catching_up.clock.advance(11)
    result = catching_up.audit()
    assert len(result.unexplained) == min(result.unfinished, 1000)


def test_a_period_that_the_scheduler_passed_over_is_unexplained(catching_up):
    place = catching_up.timetable().place("Hour")
    forgotten = move_job(
        place, place.level.start + 3, JobMove.START_OVER, OPERATOR.why, OPERATOR.who
    )
    assert catching_up.store.jobs.move([forgotten], catching_up.clock.now()) == []
    (found,) = catching_up.audit().unexplained
    assert found.timeperiod == "2014010103"


def test_a_period_that_is_moved_while_the_audit_looks_is_explained(catching_up):
    now = catching_up.clock.now()
    before = catching_up.timetable()
    catching_up.schedule()
    assert audit(catching_up.store, before, now).unexplained == ()


def test_an_audit_that_cannot_be_stored_is_made_and_warns(tmp_path, monkeypatch):
    monkeypatch.setattr(writer_gate, "LOCK_SECONDS", 0.01)
    path = tmp_path / "synergy.db"
    with (
        closing(SqliteStore.open(path)) as store,
        closing(apsw.Connection(str(path))) as writer,
    ):
        writer.execute("BEGIN IMMEDIATE")
        warnings = []
        clean = Audit(0, 0, 0, ())
        found = audited(store, lambda _: clean, SystemClock(), lambda _d, _t: None, warnings.append)
    assert found is clean
    assert "was not stored" in warnings[0]
