"""Ends all processes of a home, with or without a supervisor."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from synergy.runtime.identity import Incarnation
from synergy.supervisor import home_lock, proctable
from synergy.supervisor.home_lock import HomeLock
from synergy.supervisor.host import ProcessHost
from synergy.supervisor.plan import Timing
from synergy.supervisor.proctable import Entry


@dataclass(frozen=True, slots=True)
class StopReport:
    """The result of a stop.

    `was_running`: there was a supervisor, `pid`. `ended`: how many processes were found without
    a supervisor and ended. `left`: pids that are still there. `is_stopped`: none is.
    """

    was_running: bool
    is_stopped: bool
    pid: int | None = None
    ended: int = 0
    left: tuple[int, ...] = ()


def stop(home: Path, timeout: float = 30.0) -> StopReport:
    """Stops the supervisor of the home and all its processes; waits at most `timeout` seconds.

    If there is no supervisor, the processes that an earlier one left behind are ended, with the
    grace time of a supervisor.
    """
    running = home_lock.holder(home)
    if running is not None:
        return _stop_supervisor(running, home, timeout)
    if not home.is_dir():
        return StopReport(was_running=False, is_stopped=True)
    held = HomeLock(home)
    if not held.acquire(records=False):  # a supervisor is just starting
        return StopReport(was_running=True, is_stopped=False)
    try:
        return _stop_survivors(ProcessHost(home, home))
    finally:
        held.release()


def _stop_supervisor(running: Incarnation, home: Path, timeout: float) -> StopReport:
    pidfd = proctable.pin(Entry(running.pid, 0, 0, running.started))
    if pidfd is not None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(pidfd, signal.SIGTERM)
        has_ended = proctable.has_ended(pidfd, timeout)
        os.close(pidfd)
        if not has_ended:
            return StopReport(was_running=True, is_stopped=False, pid=running.pid)
    left = tuple(sorted(entry.pid for entry in ProcessHost(home, home).leftovers()))
    return StopReport(was_running=True, is_stopped=not left, pid=running.pid, left=left)


def _stop_survivors(host: ProcessHost) -> StopReport:
    found = host.leftovers()
    left = tuple(sorted(entry.pid for entry in host.sweep(grace=Timing().grace)))
    return StopReport(
        was_running=False, is_stopped=not left, ended=len(found) - len(left), left=left
    )
