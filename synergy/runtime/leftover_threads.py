"""Ends a process whose own part is over, but in which threads that its work began go on.

The interpreter waits for such threads without limit. The supervisor would take the process for one
that works, and a reload would wait for it.
"""

from __future__ import annotations

import logging
import os
import threading

SECONDS = 5.0  # the time that the threads have

log = logging.getLogger(__name__)


def end_by_force(code: int) -> None:
    """Ends the process with this exit code in `SECONDS`, unless it has ended by then."""
    names = [
        thread.name
        for thread in threading.enumerate()
        if not thread.daemon and thread is not threading.main_thread()
    ]
    if names:
        threading.Thread(target=_end, args=(code, names), daemon=True).start()


def _end(code: int, names: list[str]) -> None:
    threading.Event().wait(SECONDS)
    log.warning(
        "Threads of its work went on after its end, and were ended: %s",
        ", ".join(names),
        extra={"event": "process.threads_left"},
    )
    os._exit(code)
