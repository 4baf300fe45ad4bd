"""Slots and their states."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum


class SlotState(Enum):
    """The state of a slot: STARTING comes before RUNNING, the others after it."""

    STOPPED = "stopped"  # nothing runs, and nothing is to run
    STARTING = "starting"  # spawned; has neither reported that it is ready nor lived for long
    RUNNING = "running"
    BACKOFF = "backoff"  # died; will be started again
    FINISHING = "finishing"  # was asked to end when the work that it has begun is done
    STOPPING = "stopping"  # was asked to end (TERM)
    KILLING = "killing"  # did not end in time (KILL)


@dataclass(frozen=True, slots=True, order=True)
class Slot:
    """The place of one instance of a process on this box; instances count from 1."""

    process: str
    instance: int

    def __str__(self) -> str:
        return f"{self.process}/{self.instance}"


@dataclass(frozen=True, slots=True)
class SlotStatus:
    """The known status of a slot.

    `entered` (when it came into its state) and `born` (when its process was started or adopted)
    are seconds on the monotonic clock; `since` is `entered` on the wall clock. `failures` counts
    deaths and failed starts in a row, `restarts` all starts after them.
    """

    state: SlotState
    entered: float
    since: datetime
    born: float = 0.0
    failures: int = 0
    restarts: int = 0
