"""Ends a process whose own part is over, but in which threads that its work began go on.

The interpreter waits for such threads without limit. The supervisor would take the process for one
that works, and a reload would wait for it.
"""

from __future__ import annotations

import logging
import os
import threading

from synergy.clock import SystemClock

SECONDS = 5.0  # the time that the threads have

log = logging.getLogger(__name__)


def end_by_force(code: int) -> None:
    """Waits `SECONDS` for these threads; if some go on, ends the process with this exit code."""
    clock = SystemClock()
    deadline = clock.monotonic() + SECONDS
    threads = [one for one in threading.enumerate() if one is not threading.main_thread()]
    left = [one for one in threads if not one.daemon]
    for thread in left:
        thread.join(max(0.0, deadline - clock.monotonic()))
    names = [thread.name for thread in left if thread.is_alive()]
    if names:
        log.warning(
            "Threads of its work went on after its end, and were ended: %s",
            ", ".join(names),
            extra={"event": "process.threads_left"},
        )
        os._exit(code)
