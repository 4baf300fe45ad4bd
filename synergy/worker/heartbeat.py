"""The second thread of a worker: it sends heartbeats while a unit takes long.

It sends six in each heartbeat limit. Once a unit takes as long as a second, it also writes
conclusions that wait, gives back the units that were not begun, and looks every second whether
the unit was canceled or started over. When the process is asked to stop and the work does not
return, the unit is given back before the process is killed.

A unit that takes longer than its process's timeout is ended as failed. Work that continues although
its unit was lost, timed out or canceled has a grace time to return. Then the heartbeat thread ends
the process, in good order for all other units, and the supervisor starts it again. Work that keeps
this thread itself from running is ended by the kernel (see `watchdog`).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from datetime import datetime
from types import TracebackType

from synergy.model.process import WorkingProcess
from synergy.model.unit_of_work import UnitOfWork
from synergy.runtime import abandoned_work
from synergy.runtime.service import RetryRule, Service
from synergy.runtime.workplace import Workplace
from synergy.worker.claimed_units import ClaimedUnits
from synergy.worker.watchdog import Watchdog

STEP_SECONDS = 1.0
LAST_WORK_SECONDS = 5.0  # that work may take to return after the process was asked to stop
IDLE_SECONDS = 3600.0

log = logging.getLogger(__name__)

End = Callable[[int], object]
"""Ends the process at once, whatever its threads do, with this exit code."""


class Heartbeat(Service):
    """A context manager around each group of units; a service that rests between groups.

    While the store is unavailable the work goes on, and so do the steps, without growing pauses:
    whether the unit still counts is decided when it concludes.
    """

    def __init__(self, workplace: Workplace, hold: ClaimedUnits, end: End = os._exit) -> None:
        process = workplace.process
        assert isinstance(process, WorkingProcess)
        self._every = process.heartbeat_timeout / 6
        self._step_seconds = step = min(STEP_SECONDS, self._every)
        rule = RetryRule("worker.no_heartbeat", "worker.heartbeat_failed", first=step, longest=step)
        super().__init__("heartbeat", workplace.clock, rule)
        self._workplace = workplace
        self._hold = hold
        self._end = end
        self._timeout = process.timeout
        longest = min(process.heartbeat_timeout, process.timeout or process.heartbeat_timeout)
        self._watchdog = Watchdog(longest + abandoned_work.GRACE)
        self._is_resting = False
        self._group = 0  # the number of the group that is worked on; 0 between groups
        self._groups = 0
        self._seen = 0  # the group of the last step
        self._beaten = 0.0  # when the last heartbeat of the group was sent (monotonic)
        self._stopping = 0.0  # when the wish to stop was not there yet (monotonic)

    def __enter__(self) -> None:
        self._watchdog.arm()
        self._groups += 1
        self._group = self._groups
        if self._is_resting:
            self.wake()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._group = 0
        self._watchdog.disarm()

    def stop(self, timeout: float | None = None) -> bool:
        has_ended = super().stop(timeout)
        self._watchdog.close()
        return has_ended

    def run_once(self, now: datetime) -> float:
        """One step for the group that is worked on, if there is one."""
        self._is_resting = True  # before the look: a group that begins after it wakes this thread
        if (group := self._group) == 0:
            return IDLE_SECONDS
        self._is_resting = False
        self._watchdog.renew()
        at = self._clock.monotonic()
        if group != self._seen:
            self._seen, self._beaten, self._stopping = group, at, at
        if not self._workplace.stop.is_set:
            self._stopping = at
        self._step(at)
        return self._step_seconds

    def _step(self, at: float) -> None:
        hold = self._hold
        hold.leave(abandoned_work.GRACE, self._leave)  # first: what follows may fail each time
        if self._timeout is not None:
            hold.time_out(self._timeout)
        if at - self._stopping >= LAST_WORK_SECONDS:
            hold.give_back_current()
        is_due = at - self._beaten >= self._every
        if is_due:
            hold.beat()  # many units, none of them long, may take as long together
        if hold.running_for() >= self._step_seconds / 2:
            hold.flush()
            hold.give_back_waiting()
            if not is_due:
                hold.look()
        if is_due:
            self._beaten = at

    def _leave(self, unit: UnitOfWork) -> None:
        log.error(
            "The work on unit %s does not return within %g s: the process ends itself",
            unit.id, abandoned_work.GRACE,
            extra={"event": "worker.left", "unit": unit.id, "timeperiod": unit.timeperiod},
        )  # fmt: skip
        self._end(abandoned_work.EXIT)
