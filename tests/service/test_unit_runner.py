"""Workers give units back, and send heartbeats for all units that they hold."""

from __future__ import annotations

import threading
from contextlib import closing
from dataclasses import replace

import pytest

from synergy.clock import SystemClock
from synergy.model.unit_of_work import UnitState
from synergy.worker.heartbeat import LAST_WORK_SECONDS
from synergy.worker.outcome import Outcome
from synergy.worker.task import Task
from synergy.worker.unit_runner import UnitRunner
from tests.service.hour_and_day import hour_and_day
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness, copy_rows


def test_a_worker_that_lost_a_unit_before_gives_one_back_when_asked_to_stop():
    system = SchedulerHarness(hour_and_day())
    for hour in ("2015051704", "2015051705"):
        system.write("raw", hour, 1)
    system.schedule()

    def work(task: Task) -> Outcome:
        if task.timeperiod == "2015051704":
            unit = system.units("Hour", task.timeperiod)[0]
            system.unit_commands.cancel(unit, OPERATOR, system.clock.now())
            system.runner("Hour")._claims.check_current()
        else:
            system.stop.set()
        task.checkpoint()
        raise AssertionError("it goes on")

    system.round("Hour", work)
    system.round("Hour", work)
    (unit,) = system.units("Hour", "2015051705")
    assert (unit.state, unit.attempt, unit.failures) == (UnitState.REQUESTED, 2, 0)


def test_a_worker_that_may_finish_its_work_takes_no_more_and_gives_waiting_units_back():
    system = SchedulerHarness(hour_and_day())
    for hour in ("2015051704", "2015051705"):
        system.write("raw", hour, 1)
    system.schedule()

    def work(task: Task) -> Outcome:
        system.stop.finish()
        task.checkpoint()
        return copy_rows(task)

    runner = system.runner("Hour", work)
    runner._group = 2
    with closing(system.bus.consumer("Hour")) as consumer:
        runner.round(consumer)
    done = [system.units("Hour", hour)[0] for hour in ("2015051704", "2015051705")]
    assert {unit.state for unit in done} == {UnitState.PROCESSED, UnitState.REQUESTED}
    assert system.store.messages.depths() == {"Hour": 1}


def test_a_worker_that_finishes_its_work_can_still_be_stopped_at_once():
    system = SchedulerHarness(hour_and_day())
    system.write("raw", "2015051704", 1)
    system.schedule()

    def work(task: Task) -> Outcome:
        system.stop.finish()
        task.checkpoint()
        system.stop.set()
        task.checkpoint()
        raise AssertionError("it goes on")

    system.round("Hour", work)
    (unit,) = system.units("Hour", "2015051704")
    assert (unit.state, unit.attempt) == (UnitState.REQUESTED, 2)


@pytest.mark.parametrize("may_finish", [True, False])
def test_work_without_checkpoints_is_given_back_unless_it_may_be_finished(may_finish):
    system = SchedulerHarness(hour_and_day())
    system.write("raw", "2015051704", 1)
    system.schedule()

    def work(task: Task) -> Outcome:
        beats = system.runner("Hour")._heartbeat
        beats.run_once(system.clock.now())
        (system.stop.finish if may_finish else system.stop.set)()
        system.clock.advance(LAST_WORK_SECONDS)
        beats.run_once(system.clock.now())
        return copy_rows(task)

    system.round("Hour", work)
    (unit,) = system.units("Hour", "2015051704")
    assert unit.state is (UnitState.PROCESSED if may_finish else UnitState.REQUESTED)


def test_units_that_are_given_back_need_no_collector():
    system = SchedulerHarness(hour_and_day())
    system.write("raw", "2015051704", 1)
    system.schedule()

    def work(task: Task) -> Outcome:
        system.stop.set()
        task.checkpoint()
        raise AssertionError("it goes on")

    system.round("Hour", work)
    assert system.store.messages.depths() == {"Hour": 1}


def test_many_short_units_together_send_heartbeats():
    system = SchedulerHarness(hour_and_day(heartbeat_timeout=6.0, max_active=30))
    for hour in range(24):
        system.write("raw", f"20150517{hour:02}", 1)
    system.schedule()
    beaten = threading.Event()

    def work(task: Task) -> Outcome:
        waiting = [u for u in system.store.units.unfinished() if u.state is UnitState.IN_PROGRESS]
        if len(waiting) > 1 and all(unit.heartbeat for unit in waiting):
            beaten.set()
        beaten.wait(0.2)  # shorter than a unit that counts as long; no wait after the heartbeat
        return copy_rows(task)

    runner = UnitRunner(
        replace(system.workplace("Hour", "w"), clock=SystemClock()), work, ("domain",)
    )
    runner._group = 64
    consumer = system.bus.consumer("Hour")
    runner.round(consumer)
    runner.close()
    consumer.close()
    assert beaten.is_set()
