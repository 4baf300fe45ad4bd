"""Failed jobs with crashes, races, clocks and outside sources."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from synergy.commands.audits import store_audit
from synergy.commands.bulk import BulkVerb
from synergy.errors import StorageUnavailable
from synergy.model.job import JobState
from synergy.model.process import StateMachine
from synergy.model.unit_of_work import Hint
from synergy.queries.timetable.audit import LATE, Audit, Unexplained
from synergy.queries.timetable.last_audit import last_audit
from synergy.worker.outcome import Processed
from tests.deployments import HOURLY, a_deployment, a_process
from tests.service.failed_jobs import (
    BAD,
    FAILED,
    NOW,
    PROCESSED,
    a_failed_hour,
    a_system,
    an_open_hour,
    fails,
    rounds,
    settle,
)
from tests.service.piecemeal import PiecemealStore
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness, copy_rows


@pytest.mark.parametrize("by_itself", [False, True])
def test_an_older_unit_never_completes_a_failed_final_run_over_an_outside_source(by_itself):
    hour = a_process(
        "Hour", HOURLY, state_machine=StateMachine.CONTINUOUS, trigger_frequency="every 600",
        max_attempts=1, retry_failed=600.0 if by_itself else None,
    )  # fmt: skip
    system = SchedulerHarness(a_deployment({"site": [hour]}), start=NOW)

    def work(task):
        if system.state("Hour", task.timeperiod) is JobState.FINAL_RUN:
            raise OSError("no such disk")
        return Processed()

    rounds(system, {"Hour": work})
    for _ in range(20):
        system.advance(300)
        rounds(system, {"Hour": work}, 2)
    assert system.state("Hour", NOW) is FAILED
    runs = len(system.units("Hour", NOW))
    if not by_itself:
        system.act(BulkVerb.RETRY, "Hour", NOW)
        rounds(system, {"Hour": lambda _task: Processed()})
        assert system.state("Hour", NOW) is PROCESSED
        assert len(system.units("Hour", NOW)) == runs + 1


def test_a_job_that_fails_while_its_older_unit_runs_frees_its_slot():
    system = a_system(machine=StateMachine.CONTINUOUS, max_active=2)
    periods = (BAD, "2015051706")
    for period in periods:
        system.write("raw", period, 5)
    system.schedule()
    for period in periods:
        (unit,) = system.units("Hour", period)
        system.store.units.claim([Hint(unit.id, unit.attempt)], "w", system.clock.now())
        system.scheduler.run_once()
        system.write("raw", period, 6, key="more")
    system.advance(15)
    for period in periods:
        newest = system.units("Hour", period)[-1]
        system.unit_commands.cancel(newest, OPERATOR, system.clock.now())
    system.schedule()
    assert [system.state("Hour", period) for period in periods] == [FAILED, FAILED]
    system.write("raw", "2015051709", 1)
    system.advance(30)
    settle(system, copy_rows)
    assert "2015051709" in system.rows("hour")


def test_a_retried_job_is_processed_even_if_its_scheduler_died_before_moving_it():
    system = a_failed_hour()
    system.write("raw", BAD, 6, key="more")
    move, system.store.jobs.move = system.store.jobs.move, lambda moves, _now: list(moves)
    system.advance(12)
    system.store.jobs.move = move
    system.scheduler._forget()
    settle(system, copy_rows)
    system.advance(120)
    settle(system, copy_rows)
    assert system.state("Hour", BAD) is PROCESSED


def test_a_retry_does_not_cancel_the_unit_that_a_scheduler_requested_for_it():
    store = PiecemealStore(lambda _what: None)
    hour = a_process("Hour", HOURLY, source="raw", sink="hour", max_attempts=1)
    system = SchedulerHarness(a_deployment({"site": [hour]}), store=store)
    system.write("raw", BAD, 5)
    rounds(system, {"Hour": fails}, 3)
    assert system.state("Hour", BAD) is FAILED
    unfinished, turns = store.units.unfinished, []

    def after_the_scheduler():
        if not turns:
            turns.append(system.scheduler.run_once())
            turns.append(system.scheduler.run_once())
        return unfinished()

    store.units.unfinished = after_the_scheduler
    system.act(BulkVerb.RETRY, "Hour", BAD)
    store.units.unfinished = unfinished
    rounds(system, {"Hour": copy_rows}, 3)
    assert system.state("Hour", BAD) is PROCESSED


def test_a_unit_that_timed_out_is_not_started_again_if_the_store_is_unavailable():
    system = a_system(timeout=20.0, max_attempts=3)
    system.write("raw", BAD, 5)
    system.schedule()
    begun = []

    def work(task):
        begun.append(task.timeperiod)
        system.clock.advance(25)
        runner._claims.time_out(20.0)  # as the heartbeat does
        raise StorageUnavailable("away")

    runner = system.runner("Hour", work)
    consumer = system.bus.consumer("Hour")
    with pytest.raises(StorageUnavailable):
        runner.round(consumer)
    runner.round(consumer)
    consumer.close()
    assert begun == [BAD]


def test_a_failed_period_that_an_operator_closes_is_tried_again():
    system = an_open_hour(trigger_frequency="at 03:00")
    system.process_commands.trigger("Hour", OPERATOR, system.clock.now())
    settle(system, fails)
    assert system.state("Hour", NOW) is FAILED
    system.advance(4000)
    system.process_commands.trigger("Hour", OPERATOR, system.clock.now())
    settle(system, copy_rows)
    assert system.state("Hour", NOW) is PROCESSED


def test_a_clock_set_back_causes_no_endless_attempts():
    system = a_system()
    system.write("raw", NOW, 5)
    system.schedule()
    system.clock.advance(2 * 3600)
    system.schedule()
    system.clock.set_wall(datetime(2015, 5, 20, 12, 10, tzinfo=UTC))
    rounds(system, {"Hour": fails}, 20)
    assert len(system.units("Hour", NOW)) == 1
    system.advance(3600)
    settle(system, copy_rows)
    assert system.state("Hour", NOW) is PROCESSED


def test_late_data_is_late_for_long_only_if_the_same_period_stays_late():
    system = a_system()
    for hour in range(20):
        system.clock.advance(30)
        late = Unexplained("Hour", f"20150517{hour:02}", "processed", LATE)
        store_audit(system.store, Audit(100, 99, 0, (late,), late=1), system.clock.now(), 0.1)
    assert not last_audit(system.store).is_late_for_long
    for _ in range(14):
        system.clock.advance(30)
        store_audit(system.store, Audit(100, 99, 0, (late,), late=1), system.clock.now(), 0.1)
    assert last_audit(system.store).is_late_for_long


def test_the_heartbeat_timeout_of_a_unit_begins_with_its_claim():
    system = a_system(heartbeat_timeout=60.0)
    system.write("raw", BAD, 5)
    system.schedule()
    system.advance(300)
    (unit,) = system.units("Hour", BAD)
    system.store.units.claim([Hint(unit.id, unit.attempt)], "w", system.clock.now())
    system.maintenance.request_collection(
        "Hour", flush=False, actor=OPERATOR, now=system.clock.now()
    )
    system.schedule()
    (unit,) = system.units("Hour", BAD)
    assert (unit.state.value, unit.failures) == ("in_progress", 0)
    system.advance(130)
    assert system.state("Hour", BAD) is FAILED  # it never beat


@pytest.mark.parametrize(("attempts", "held"), [(1, 1), (3, 4)])
def test_a_worker_holds_only_one_unit_if_each_may_be_attempted_once(attempts, held):
    system = a_system(max_attempts=attempts)
    for hour in range(8):
        system.write("raw", f"20150517{hour:02}", 1)
    most = []

    def work(task):
        most.append(sum(u.state.value == "in_progress" for u in system.store.units.unfinished()))
        return copy_rows(task)

    settle(system, work)
    assert max(most) == held
