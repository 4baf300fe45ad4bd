"""Units that take too long or are taken away, and work that does not heed it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
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
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness, close_worlds, copy_rows

FIRST, SECOND, THIRD = "2015051704", "2015051705", "2015051706"
LIMIT = 60.0  # seconds of real time that anything may take


@pytest.fixture(autouse=True)
def _closing() -> Iterator[None]:
    yield
    close_worlds()


def a_world(**fields: object) -> SchedulerHarness:
    """Three hours wait for the worker of one hourly process, whose heartbeat is quick."""
    given = {"timeout": 20.0, "heartbeat_timeout": 0.6, **fields}
    hour = a_process("Hour", HOURLY, source="raw", sink="hour", **given)
    world = SchedulerHarness(a_deployment({"site": [hour]}))
    for period in (FIRST, SECOND, THIRD):
        world.write("raw", period, 1)
    world.schedule()
    return world


def the_unit(world: SchedulerHarness, period: str) -> UnitOfWork:
    (unit,) = world.units("Hour", period)
    return unit


class Hanging:
    """Work that hangs in one period, once: until the heartbeat has seen what it was to see."""

    def __init__(self, world: SchedulerHarness, period: str, until: Callable[[], None]) -> None:
        self._world = world
        self._period = period
        self._until = until
        self.ended = threading.Event()
        self.codes: list[int] = []
        crew = UnitRunner(world.workplace("Hour", "worker"), self._work, ("domain",), end=self._end)
        crew._group = 64
        self.crew = crew

    def run(self) -> None:
        """One group; the worker that would have ended itself does nothing more."""
        consumer = self._world.bus.consumer("Hour")
        try:
            self.crew.round(consumer)
        finally:
            consumer.close()
            self.crew.close()

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


def timed_out(world: SchedulerHarness, period: str = FIRST) -> None:
    """Has the present unit take as long as it may, until it is ended."""
    world.clock.advance(20)
    soon(lambda: the_unit(world, period).state is UnitState.INVALID)


def test_a_unit_that_takes_too_long_has_failed():
    world = a_world()
    Hanging(world, FIRST, lambda: timed_out(world)).run()
    unit = the_unit(world, FIRST)
    assert (unit.state, unit.reason, unit.failures) == (
        UnitState.INVALID, "timed out after 20 s", 1,
    )  # fmt: skip
    assert unit.not_before == world.clock.now() + timedelta(seconds=60)


def test_a_late_success_changes_nothing_and_the_worker_goes_on():
    world = a_world()
    hanging = Hanging(world, FIRST, lambda: timed_out(world))
    hanging.run()
    assert the_unit(world, FIRST).state is UnitState.INVALID
    assert FIRST not in world.rows("hour")
    assert hanging.codes == []
    world.work("Hour")
    assert world.rows("hour") == {SECOND: 1, THIRD: 1}


def test_the_log_of_the_unit_says_where_the_work_was():
    world = a_world()
    Hanging(world, FIRST, lambda: timed_out(world)).run()
    lines = world.store.logs.of_unit(the_unit(world, FIRST).id)
    assert any("in timed_out" in line.text and "soon(" in line.text for line in lines)


def test_work_that_looks_at_its_checkpoint_lets_go():
    world = a_world()
    reached: list[str] = []

    def work(task: Task) -> Outcome:
        if task.timeperiod == FIRST:
            timed_out(world)
            task.checkpoint()
            reached.append("what comes after the checkpoint")
        return copy_rows(task)

    world.round("Hour", work)
    assert reached == []
    assert world.ended == []
    assert the_unit(world, FIRST).reason == "timed out after 20 s"


def test_without_a_timeout_a_unit_may_take_long():
    world = a_world(timeout=None)
    Hanging(world, FIRST, lambda: world.clock.advance(86_400)).run()
    assert the_unit(world, FIRST).state is UnitState.PROCESSED


def test_it_is_tried_again_after_its_back_off():
    world = a_world()
    Hanging(world, FIRST, lambda: timed_out(world)).run()
    world.advance(59)
    assert the_unit(world, FIRST).state is UnitState.INVALID
    world.advance(120)
    assert (the_unit(world, FIRST).state, the_unit(world, FIRST).attempt) == (
        UnitState.REQUESTED, 2,
    )  # fmt: skip
    world.work("Hour")
    assert world.rows("hour") == {FIRST: 1, SECOND: 1, THIRD: 1}


# Letting go


@pytest.mark.parametrize("how", ["timed out", "canceled"])
def test_work_that_does_not_let_go_ends_its_process_and_costs_no_neighbour_anything(how, caplog):
    world = a_world()

    def hang() -> None:
        if how == "timed out":
            timed_out(world, SECOND)
        else:
            world.clock.advance(1)
            unit = the_unit(world, SECOND)
            world.unit_commands.cancel(unit, OPERATOR, world.clock.now())
            soon(lambda: hanging.crew._hold._lost is not None)
        assert not hanging.ended.is_set()
        world.clock.advance(GRACE)
        hanging.until_ended()
        done = the_unit(world, FIRST), the_unit(world, THIRD)
        found.extend((unit.state, unit.failures) for unit in done)

    found: list[tuple[UnitState, int]] = []
    hanging = Hanging(world, SECOND, hang)
    hanging.run()
    assert set(hanging.codes) == {EXIT}
    assert found == [(UnitState.PROCESSED, 0), (UnitState.REQUESTED, 0)]
    assert the_unit(world, THIRD).first_claimed_at is None  # it never ran
    assert "does not return within 10 s" in caplog.text
    world.work("Hour")
    assert world.rows("hour") == {FIRST: 1, THIRD: 1}


def test_work_that_returns_within_the_grace_time_does_not_end_its_process():
    world = a_world()

    def return_late() -> None:
        timed_out(world)
        world.clock.advance(GRACE - 0.1)

    hanging = Hanging(world, FIRST, return_late)
    hanging.run()
    assert hanging.codes == []


def a_hold(world: SchedulerHarness) -> tuple[ClaimedUnits, list[UnitOfWork]]:
    """A hold by itself, with the three units."""
    place = world.workplace("Hour", "worker")
    hints = [Hint(unit.id, unit.attempt) for unit in world.store.units.unfinished()]
    claims = world.store.units.claim(hints, place.owner, world.clock.now())
    hold = ClaimedUnits(place, WorkLog(world.clock))
    hold.take(claims)
    return hold, claims


def refuse(*_arguments: object) -> None:
    raise StorageUnavailable("the disk is away")


def test_what_is_finished_is_written_before_the_process_ends_however_long_that_takes(monkeypatch):
    world = a_world()
    hold, (first, second, _) = a_hold(world)
    done = Conclusion(first.id, 1, "worker", UnitState.PROCESSED)
    hold.next()
    hold.conclude(done, flush_after=60.0)
    hold.next()
    ended: list[UnitOfWork] = []
    with monkeypatch.context() as away:
        away.setattr(world.store.units, "conclude", refuse)
        world.clock.advance(20)
        with pytest.raises(StorageUnavailable):
            hold.time_out(20.0)
        world.clock.advance(3600)
        with pytest.raises(StorageUnavailable):
            hold.leave(GRACE, ended.append)
        assert ended == []
    hold.leave(GRACE, ended.append)
    assert ended == [second]
    assert the_unit(world, FIRST).state is UnitState.PROCESSED
    assert the_unit(world, THIRD).state is UnitState.REQUESTED


def test_a_timeout_that_cannot_be_written_at_once_is_written_later(monkeypatch):
    world = a_world()
    hold, (first, *_) = a_hold(world)
    hold.next()
    with monkeypatch.context() as away:
        away.setattr(world.store.units, "conclude", refuse)
        world.clock.advance(20)
        with pytest.raises(StorageUnavailable):
            hold.time_out(20.0)
    hold.conclude(Conclusion(first.id, 1, "worker", UnitState.PROCESSED), flush_after=0.0)
    assert (the_unit(world, FIRST).state, the_unit(world, FIRST).reason) == (
        UnitState.INVALID, "timed out after 20 s",
    )  # fmt: skip


def test_nor_is_one_forgotten_whose_work_fails_for_want_of_the_store(monkeypatch):
    world = a_world()
    hold, (first, *_) = a_hold(world)
    hold.next()
    with monkeypatch.context() as away:
        away.setattr(world.store.units, "conclude", refuse)
        world.clock.advance(20)
        with pytest.raises(StorageUnavailable):
            hold.time_out(20.0)
    hold.put_back(first)
    hold.flush()
    assert the_unit(world, FIRST).reason == "timed out after 20 s"
    following = hold.next()
    assert following is not None
    assert following.timeperiod == SECOND


# The collector


def test_a_worker_that_beats_and_does_not_end_what_takes_too_long_loses_it():
    world = a_world(heartbeat_timeout=60.0)
    hold, _claims = a_hold(world)
    hold.next()
    hold.give_back_waiting()

    def pass_time(seconds: float) -> None:
        for _ in range(int(seconds / 4)):
            world.advance(4)
            hold.beat()

    pass_time(20 + SLACK - 8)
    assert the_unit(world, FIRST).state is UnitState.IN_PROGRESS
    pass_time(128)
    unit = the_unit(world, FIRST)
    assert (unit.reason, unit.failures) == ("timed out after 20 s", 1)
    assert unit.state in (UnitState.INVALID, UnitState.REQUESTED)
    with pytest.raises(LostAttempt):
        hold.checkpoint()


def test_a_unit_that_no_worker_ever_took_is_not_given_up():
    world = a_world(life_support=3600.0)
    world.clock.advance(100 * 3600)
    world.advance(120)
    unit = the_unit(world, FIRST)
    assert (unit.state, unit.attempt, unit.failures) == (UnitState.REQUESTED, 1, 0)
    world.work("Hour")
    assert world.rows("hour")[FIRST] == 1


def test_a_unit_that_was_begun_is_given_up_in_the_end():
    world = a_world(life_support=3600.0, max_attempts=99)

    def fail(task: Task) -> Outcome:
        if task.timeperiod == FIRST:
            raise ValueError("no")
        return Processed()

    world.work("Hour", work=fail)
    world.clock.advance(3601)
    world.advance(120)
    unit = the_unit(world, FIRST)
    assert unit.state is UnitState.CANCELED
    assert unit.reason == "not done within 3600 s; last: ValueError: no"
