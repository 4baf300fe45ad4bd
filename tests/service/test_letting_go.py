"""Units that take too long or are taken away, and work that does not heed it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta

import pytest

from synergy.errors import LostAttempt, StorageUnavailable
from synergy.lifecycle.reclaim import SLACK
from synergy.model.unit_of_work import Conclusion, Hint, UnitOfWork, UnitState
from synergy.runtime.abandoned_work import EXIT, GRACE
from synergy.worker.claimed_units import ClaimedUnits
from synergy.worker.outcome import Outcome, Processed
from synergy.worker.task import Task
from synergy.worker.unit_runner import UnitRunner
from synergy.worker.work_log import WorkLog
from tests.deployments import HOURLY, a_deployment, a_process
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness, copy_rows

FIRST, SECOND, THIRD = "2015051704", "2015051705", "2015051706"
LIMIT = 60.0  # seconds of real time that anything may take


def a_system(**fields: object) -> SchedulerHarness:
    """Three hours wait for the worker of one hourly process, whose heartbeat is quick."""
    given = {"timeout": 20.0, "heartbeat_timeout": 0.6, **fields}
    hour = a_process("Hour", HOURLY, source="raw", sink="hour", **given)
    system = SchedulerHarness(a_deployment({"site": [hour]}))
    for period in (FIRST, SECOND, THIRD):
        system.write("raw", period, 1)
    system.schedule()
    return system


def the_unit(system: SchedulerHarness, period: str) -> UnitOfWork:
    (unit,) = system.units("Hour", period)
    return unit


class Hanging:
    """Work that hangs in one period, once: until the heartbeat has seen what it was to see."""

    def __init__(self, system: SchedulerHarness, period: str, until: Callable[[], None]) -> None:
        self._system = system
        self._period = period
        self._until = until
        self.ended = threading.Event()
        self.codes: list[int] = []
        runner = UnitRunner(
            system.workplace("Hour", "worker"), self._work, ("domain",), end=self._end
        )
        runner._group = 64
        self.runner = runner

    def run(self) -> None:
        """One group; the worker that would have ended itself does nothing more."""
        consumer = self._system.bus.consumer("Hour")
        try:
            self.runner.round(consumer)
        finally:
            consumer.close()
            self.runner.close()

    def _work(self, task: Task) -> Outcome:
        if task.timeperiod == self._period and task.unit.attempt == 1:
            self._until()
        return copy_rows(task)

    def _end(self, code: int) -> None:
        self.codes.append(code)
        self.ended.set()

    def until_ended(self) -> None:
        assert self.ended.wait(LIMIT)


def soon(condition: Callable[[], bool]) -> None:
    """Waits until the heartbeat has brought something about."""
    clock = threading.Event()
    for _ in range(int(LIMIT / 0.02)):
        if condition():
            return
        clock.wait(0.02)
    raise AssertionError("it never comes about")


# A timeout


def timed_out(system: SchedulerHarness, period: str = FIRST) -> None:
    """Has the present unit take as long as it may, until it is ended."""
    system.clock.advance(20)
    soon(lambda: the_unit(system, period).state is UnitState.INVALID)


def test_a_unit_that_takes_too_long_has_failed():
    system = a_system()
    Hanging(system, FIRST, lambda: timed_out(system)).run()
    unit = the_unit(system, FIRST)
    assert (unit.state, unit.reason, unit.failures) == (
        UnitState.INVALID, "timed out after 20 s", 1,
    )  # fmt: skip
    assert unit.not_before == system.clock.now() + timedelta(seconds=60)


def test_a_late_success_changes_nothing_and_the_worker_goes_on():
    system = a_system()
    hanging = Hanging(system, FIRST, lambda: timed_out(system))
    hanging.run()
    assert the_unit(system, FIRST).state is UnitState.INVALID
    assert FIRST not in system.rows("hour")
    assert hanging.codes == []
    system.work("Hour")
    assert system.rows("hour") == {SECOND: 1, THIRD: 1}


def test_the_log_of_the_unit_says_where_the_work_was():
    system = a_system()
    Hanging(system, FIRST, lambda: timed_out(system)).run()
    lines = system.store.logs.of_unit(the_unit(system, FIRST).id)
    assert any("in timed_out" in line.text and "soon(" in line.text for line in lines)


def test_work_that_looks_at_its_checkpoint_lets_go():
    system = a_system()
    reached: list[str] = []

    def work(task: Task) -> Outcome:
        if task.timeperiod == FIRST:
            timed_out(system)
            task.checkpoint()
            reached.append("what comes after the checkpoint")
        return copy_rows(task)

    system.round("Hour", work)
    assert reached == []
    assert system.ended == []
    assert the_unit(system, FIRST).reason == "timed out after 20 s"


def test_without_a_timeout_a_unit_may_take_long():
    system = a_system(timeout=None)
    Hanging(system, FIRST, lambda: system.clock.advance(86_400)).run()
    assert the_unit(system, FIRST).state is UnitState.PROCESSED


def test_it_is_tried_again_after_its_back_off():
    system = a_system()
    Hanging(system, FIRST, lambda: timed_out(system)).run()
    system.advance(59)
    assert the_unit(system, FIRST).state is UnitState.INVALID
    system.advance(120)
    assert (the_unit(system, FIRST).state, the_unit(system, FIRST).attempt) == (
        UnitState.REQUESTED, 2,
    )  # fmt: skip
    system.work("Hour")
    assert system.rows("hour") == {FIRST: 1, SECOND: 1, THIRD: 1}


# Letting go


@pytest.mark.parametrize("how", ["timed out", "canceled"])
def test_work_that_does_not_let_go_ends_its_process_and_costs_no_neighbour_anything(how, caplog):
    system = a_system()

    def hang() -> None:
        if how == "timed out":
            timed_out(system, SECOND)
        else:
            system.clock.advance(1)
            unit = the_unit(system, SECOND)
            system.unit_commands.cancel(unit, OPERATOR, system.clock.now())
            soon(lambda: hanging.runner._claims._lost is not None)
        assert not hanging.ended.is_set()
        system.clock.advance(GRACE)
        hanging.until_ended()
        done = the_unit(system, FIRST), the_unit(system, THIRD)
        found.extend((unit.state, unit.failures) for unit in done)

    found: list[tuple[UnitState, int]] = []
    hanging = Hanging(system, SECOND, hang)
    hanging.run()
    assert set(hanging.codes) == {EXIT}
    assert found == [(UnitState.PROCESSED, 0), (UnitState.REQUESTED, 0)]
    assert the_unit(system, THIRD).first_claimed_at is None  # it never ran
    assert "does not return within 10 s" in caplog.text
    system.work("Hour")
    assert system.rows("hour") == {FIRST: 1, THIRD: 1}


def test_work_that_returns_within_the_grace_time_does_not_end_its_process():
    system = a_system()

    def return_late() -> None:
        timed_out(system)
        system.clock.advance(GRACE - 0.1)

    hanging = Hanging(system, FIRST, return_late)
    hanging.run()
    assert hanging.codes == []


def claims_of_the_units(system: SchedulerHarness) -> tuple[ClaimedUnits, list[UnitOfWork]]:
    """Claims of the three units, without a worker."""
    place = system.workplace("Hour", "worker")
    hints = [Hint(unit.id, unit.attempt) for unit in system.store.units.unfinished()]
    units = system.store.units.claim(hints, place.owner, system.clock.now())
    claimed = ClaimedUnits(place, WorkLog(system.clock))
    claimed.add(units)
    return claimed, units


def refuse(*_arguments: object) -> None:
    raise StorageUnavailable("the disk is away")


def test_what_is_finished_is_written_before_the_process_ends_however_long_that_takes(monkeypatch):
    system = a_system()
    claimed, (first, second, _) = claims_of_the_units(system)
    done = Conclusion(first.id, 1, "worker", UnitState.PROCESSED)
    claimed.next()
    claimed.conclude(done, flush_after=60.0)
    claimed.next()
    ended: list[UnitOfWork] = []
    with monkeypatch.context() as away:
        away.setattr(system.store.units, "conclude", refuse)
        system.clock.advance(20)
        with pytest.raises(StorageUnavailable):
            claimed.time_out(20.0)
        system.clock.advance(3600)
        with pytest.raises(StorageUnavailable):
            claimed.exit_if_abandoned(GRACE, ended.append)
        assert ended == []
    claimed.exit_if_abandoned(GRACE, ended.append)
    assert ended == [second]
    assert the_unit(system, FIRST).state is UnitState.PROCESSED
    assert the_unit(system, THIRD).state is UnitState.REQUESTED


def test_a_timeout_that_cannot_be_written_at_once_is_written_later(monkeypatch):
    system = a_system()
    claimed, (first, *_) = claims_of_the_units(system)
    claimed.next()
    with monkeypatch.context() as away:
        away.setattr(system.store.units, "conclude", refuse)
        system.clock.advance(20)
        with pytest.raises(StorageUnavailable):
            claimed.time_out(20.0)
    claimed.conclude(Conclusion(first.id, 1, "worker", UnitState.PROCESSED), flush_after=0.0)
    assert (the_unit(system, FIRST).state, the_unit(system, FIRST).reason) == (
        UnitState.INVALID, "timed out after 20 s",
    )  # fmt: skip


def test_nor_is_one_forgotten_whose_work_fails_for_want_of_the_store(monkeypatch):
    system = a_system()
    claimed, (first, *_) = claims_of_the_units(system)
    claimed.next()
    with monkeypatch.context() as away:
        away.setattr(system.store.units, "conclude", refuse)
        system.clock.advance(20)
        with pytest.raises(StorageUnavailable):
            claimed.time_out(20.0)
    claimed.requeue(first)
    claimed.flush()
    assert the_unit(system, FIRST).reason == "timed out after 20 s"
    following = claimed.next()
    assert following is not None
    assert following.timeperiod == SECOND


# The collector


def test_a_worker_that_beats_and_does_not_end_what_takes_too_long_loses_it():
    system = a_system(heartbeat_timeout=60.0)
    claimed, _units = claims_of_the_units(system)
    claimed.next()
    claimed.give_back_waiting()

    def pass_time(seconds: float) -> None:
        for _ in range(int(seconds / 4)):
            system.advance(4)
            claimed.beat()

    pass_time(20 + SLACK - 8)
    assert the_unit(system, FIRST).state is UnitState.IN_PROGRESS
    pass_time(128)
    unit = the_unit(system, FIRST)
    assert (unit.reason, unit.failures) == ("timed out after 20 s", 1)
    assert unit.state in (UnitState.INVALID, UnitState.REQUESTED)
    with pytest.raises(LostAttempt):
        claimed.checkpoint()


def test_a_unit_that_no_worker_ever_took_is_not_given_up():
    system = a_system(life_support=3600.0)
    system.clock.advance(100 * 3600)
    system.advance(120)
    unit = the_unit(system, FIRST)
    assert (unit.state, unit.attempt, unit.failures) == (UnitState.REQUESTED, 1, 0)
    system.work("Hour")
    assert system.rows("hour")[FIRST] == 1


def test_a_unit_that_was_begun_is_given_up_in_the_end():
    system = a_system(life_support=3600.0, max_attempts=99)

    def fail(task: Task) -> Outcome:
        if task.timeperiod == FIRST:
            raise ValueError("no")
        return Processed()

    system.work("Hour", work=fail)
    system.clock.advance(3601)
    system.advance(120)
    unit = the_unit(system, FIRST)
    assert unit.state is UnitState.CANCELED
    assert unit.reason == "not done within 3600 s; last: ValueError: no"
