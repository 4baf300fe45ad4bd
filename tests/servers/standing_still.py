"""Pauses processes and waits until they have stopped."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from threading import Event

from synergy.clock import SystemClock

LIMIT = 120.0  # seconds
STEP = 0.005


def stand_still(*pids: int) -> None:
    """Sends SIGSTOP; returns when all threads of the processes have stopped.

    The threads stop only after one of them has noticed the signal, which takes a while on a busy
    machine.
    """
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    clock = SystemClock()
    deadline = clock.monotonic() + LIMIT
    while not all(map(_stands_still, pids)):
        assert clock.monotonic() < deadline, f"{pids} do not stop"
        Event().wait(STEP)


def _stands_still(pid: int) -> bool:
    return all(_state(task) in "TtZX" for task in Path(f"/proc/{pid}/task").iterdir())


def _state(task: Path) -> str:
    try:
        stat = (task / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return "X"
    return stat[stat.rindex(")") + 2]
