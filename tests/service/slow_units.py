"""Units with a timeout, and work that hangs until the heartbeat has seen it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from synergy.model.unit_of_work import Hint, UnitOfWork, UnitState
from synergy.worker.claimed_units import ClaimedUnits
from synergy.worker.outcome import Outcome
from synergy.worker.task import Task
from synergy.worker.unit_runner import UnitRunner
from synergy.worker.work_log import WorkLog
from tests.deployments import HOURLY, a_deployment, a_process
from tests.service.scheduler_harness import SchedulerHarness, copy_rows

FIRST, SECOND, THIRD = "2015051704", "2015051705", "2015051706"


LIMIT_SECONDS = 60.0  # the longest real time that a step may take


def a_system(**fields: object) -> SchedulerHarness:
    """A system in which three hours wait for a worker with a short heartbeat interval."""
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
    """Work that hangs once, in one period, until `until` returns."""

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
        """Carries out one group, then closes the worker."""
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
        assert self.ended.wait(LIMIT_SECONDS)


def soon(condition: Callable[[], bool]) -> None:
    """Waits until the heartbeat thread has made the condition true."""
    clock = threading.Event()
    for _ in range(int(LIMIT_SECONDS / 0.02)):
        if condition():
            return
        clock.wait(0.02)
    raise AssertionError("the condition never became true")


def timed_out(system: SchedulerHarness, period: str = FIRST) -> None:
    """Lets the timeout of the unit pass, and waits until the heartbeat has ended it."""
    system.clock.advance(20)
    soon(lambda: the_unit(system, period).state is UnitState.INVALID)


def claims_of_the_units(system: SchedulerHarness) -> tuple[ClaimedUnits, list[UnitOfWork]]:
    """Claims of the three units, without a worker."""
    place = system.workplace("Hour", "worker")
    hints = [Hint(unit.id, unit.attempt) for unit in system.store.units.unfinished()]
    units = system.store.units.claim(hints, place.owner, system.clock.now())
    claimed = ClaimedUnits(place, WorkLog(system.clock))
    claimed.add(units)
    return claimed, units
