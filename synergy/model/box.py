"""Boxes: the processes assigned to a machine, and those observed on it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

BOX_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", re.ASCII)
SILENT_AFTER = timedelta(seconds=45)  # three reports of a supervisor


@dataclass(frozen=True, slots=True)
class Assignment:
    """The assignment of a process to a box, and whether the process is switched on there."""

    box: str
    process: str
    is_on: bool = True


@dataclass(frozen=True, slots=True)
class ObservedProcess:
    """One process (instance) as the supervisor of its box last saw it.

    `marker` is a unique word in the environment of the process and all its children. `started` is
    the kernel's start time of the pid, in clock ticks since boot; with the boot id it tells the
    process from a later one with the same pid.
    """

    box: str
    process: str
    instance: int
    state: str
    marker: str = ""
    pid: int | None = None
    started: int = 0
    boot_id: str = ""
    since: datetime | None = None
    restarts: int = 0


@dataclass(frozen=True, slots=True)
class Box:
    """A machine, and when its supervisor last reported."""

    id: str
    seen_at: datetime | None

    def is_silent(self, now: datetime) -> bool:
        """Whether it has missed several reports, so that its last one may be out of date."""
        return self.seen_at is None or now - self.seen_at > SILENT_AFTER
