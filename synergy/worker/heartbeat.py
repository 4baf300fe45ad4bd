"""The second thread of a worker: it keeps the heart beating while a unit takes long.

It beats six times in each heartbeat limit. Once a unit takes as long as a second it also
concludes what is finished, gives back what was not begun, and looks every second whether the
unit was canceled or started over. When the process shall stop and
the work does not heed it, the unit is given back before the process is killed.

A unit that takes longer than its process's timeout is ended as failed. Work that goes on although
its unit was lost, timed out or canceled has a grace time to return; then the pulse ends the
process, in good order for all other units, and the supervisor starts it again. Work that keeps the
pulse itself from running is ended by the kernel (see `watchdog`).
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from types import TracebackType

from synergy.errors import MessagingUnavailable, StorageUnavailable
from synergy.model.process import WorkingProcess
from synergy.model.unit_of_work import UnitOfWork
from synergy.runtime import abandoned_work
from synergy.runtime.workplace import Workplace
from synergy.worker.claimed_units import ClaimedUnits
from synergy.worker.watchdog import Watchdog

STEP = 1.0
PATIENCE = 5.0  # seconds that work may go on after the process was asked to stop

log = logging.getLogger(__name__)

End = Callable[[int], object]
"""Ends the process at once, whatever its threads do, with this exit code."""


class Heartbeat:
    """A context manager around each group of units."""

    def __init__(self, workplace: Workplace, hold: ClaimedUnits, end: End = os._exit) -> None:
        process = workplace.process
        assert isinstance(process, WorkingProcess)
        self._workplace = workplace
        self._hold = hold
        self._end = end
        self._every = process.heartbeat_timeout / 6
        self._timeout = process.timeout
        longest = min(process.heartbeat_timeout, process.timeout or process.heartbeat_timeout)
        self._watchdog = Watchdog(longest + abandoned_work.GRACE)
        self._work = threading.Event()
        self._rest = threading.Event()
        self._rest.set()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="pulse", daemon=True)
        self._thread.start()

    def __enter__(self) -> None:
        self._watchdog.arm()
        self._rest.clear()
        self._work.set()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._work.clear()
        self._rest.set()
        self._watchdog.disarm()

    def close(self) -> None:
        """Ends the thread."""
        self._closed = True
        self._rest.set()
        self._work.set()
        self._thread.join()
        self._watchdog.close()

    def _run(self) -> None:
        while not self._closed:
            self._work.wait()
            beaten = stopping = self._workplace.clock.monotonic()
            while not self._rest.wait(min(STEP, self._every)):
                self._watchdog.renew()
                now = self._workplace.clock.monotonic()
                if not self._workplace.stop.is_set:
                    stopping = now
                try:
                    beaten = self._step(now, beaten, stopping)
                except (StorageUnavailable, MessagingUnavailable) as error:
                    # The work goes on: whether it still counts is decided when it concludes.
                    log.warning("No heartbeat: %s", error, extra={"event": "worker.no_heartbeat"})

    def _step(self, now: float, beaten: float, stopping: float) -> float:
        hold = self._hold
        hold.leave(abandoned_work.GRACE, self._leave)  # first: what follows may fail each time
        if self._timeout is not None:
            hold.time_out(self._timeout)
        if now - stopping >= PATIENCE:
            hold.give_back_current()
        is_due = now - beaten >= self._every
        if is_due:
            hold.beat()  # many units, none of them long, may take as long together
        if hold.running_for() >= min(STEP, self._every) / 2:
            hold.flush()
            hold.give_back_waiting()
            if not is_due:
                hold.look()
        return now if is_due else beaten

    def _leave(self, unit: UnitOfWork) -> None:
        log.error(
            "The work on unit %s does not let go within %g s: the process ends itself",
            unit.id, abandoned_work.GRACE,
            extra={"event": "worker.left", "unit": unit.id, "timeperiod": unit.timeperiod},
        )  # fmt: skip
        self._end(abandoned_work.EXIT)
