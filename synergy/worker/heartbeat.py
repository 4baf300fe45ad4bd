"""The heartbeat thread of a worker process.

It sends six heartbeats in each `heartbeat_timeout`; `claimed_units` recognizes a lost unit, and
does what follows. Once a unit has run for about a second, the thread also writes
pending conclusions, gives back the waiting units, and checks every second whether the unit was
canceled or started over. If the process is asked to stop and the work does not return within
`LAST_WORK_SECONDS`, the unit is given back.

A unit that takes longer than its process's timeout is concluded as failed. Work that continues
after its unit was lost, timed out or canceled has a grace time to return. Then the thread settles
all other units and ends the process, and the supervisor restarts it. Work that keeps this thread
itself from running is ended by the kernel (see `watchdog`).
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
LAST_WORK_SECONDS = 5.0  # the time in which work may return after the process was asked to stop

log = logging.getLogger(__name__)

End = Callable[[int], object]
"""Ends the process immediately with this exit code, whatever its threads do."""


class Heartbeat(Service):
    """A service without a thread between groups of units, and a context manager around each group.

    While the store is unavailable, the work and the steps go on at the same intervals; whether the
    claim still holds is checked when the unit concludes.
    """

    def __init__(self, workplace: Workplace, claims: ClaimedUnits, end: End = os._exit) -> None:
        process = workplace.process
        assert isinstance(process, WorkingProcess)
        self._every = process.heartbeat_timeout / 6
        self._step_seconds = step = min(STEP_SECONDS, self._every)
        rule = RetryRule("worker.no_heartbeat", "worker.heartbeat_failed", first=step, longest=step)
        super().__init__("heartbeat", workplace.clock, rule)
        self._workplace = workplace
        self._claims = claims
        self._end = end
        self._timeout = process.timeout
        longest = min(process.heartbeat_timeout, process.timeout or process.heartbeat_timeout)
        self._watchdog = Watchdog(longest + abandoned_work.GRACE_SECONDS)
        self._group = 0  # the number of the current group; 0 between groups
        self._groups = 0
        self._seen = 0  # the group of the last step
        self._beaten = 0.0  # when the last heartbeat of the group was sent (monotonic)
        self._stopping = 0.0  # when the process was last seen not asked to stop (monotonic)

    def __enter__(self) -> None:
        self._watchdog.arm()
        self._groups += 1
        self._group = self._groups
        self.start()

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

    def run_once(self, now: datetime) -> float | None:
        """Does one step for the current group; without one, the thread ends until the next."""
        if (group := self._group) == 0:
            return None
        self._watchdog.renew()
        at = self._clock.monotonic()
        if group != self._seen:
            self._seen, self._beaten, self._stopping = group, at, at
        if not self._workplace.stop.is_urgent:
            self._stopping = at
        self._step(at)
        return self._step_seconds

    def _step(self, at: float) -> None:
        claims = self._claims
        # This comes first, because the other steps may fail each time.
        claims.exit_if_abandoned(abandoned_work.GRACE_SECONDS, self._exit)
        if self._timeout is not None:
            claims.time_out(self._timeout)
        if at - self._stopping >= LAST_WORK_SECONDS:
            claims.give_back_current()
        is_due = at - self._beaten >= self._every
        if is_due:
            claims.beat()  # also for short units: together they may take longer than the interval
        if claims.running_for() >= self._step_seconds / 2:
            claims.flush()
            claims.give_back_waiting()
            if not is_due:
                claims.check_current()
        if is_due:
            self._beaten = at

    def _exit(self, unit: UnitOfWork) -> None:
        log.error(
            "The work on unit %s does not return within %g s: the process ends itself",
            unit.id,
            abandoned_work.GRACE_SECONDS,
            extra={"event": "worker.left", "unit": unit.id, "timeperiod": unit.timeperiod},
        )
        self._end(abandoned_work.EXIT_CODE)
