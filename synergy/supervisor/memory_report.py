"""The memory of the processes of a box, read from the system for the supervisor's reports."""

from __future__ import annotations

from collections.abc import Iterable

import psutil

from synergy.model.box import ObservedProcess
from synergy.runtime.process_memory import written


def resident(pid: int) -> int:
    """Resident bytes of a process; 0 if it has ended or cannot be read."""
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0


def report(observed: Iterable[ObservedProcess]) -> str:
    """The memory of the running processes, as the text of a fact of the store."""
    taken = {
        (one.process, one.instance): resident(one.pid) for one in observed if one.pid is not None
    }
    return written({place: size for place, size in taken.items() if size})
