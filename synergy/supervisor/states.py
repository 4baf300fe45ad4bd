"""What a slot is, and what may be true of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum


class SlotState(Enum):
    """The life of a slot: up through starting, down through backoff or stopping."""

    STOPPED = "stopped"  # nothing runs, and nothing shall
    STARTING = "starting"  # spawned; has neither said that it is ready nor lived for long
    RUNNING = "running"
    BACKOFF = "backoff"  # died; will be started again
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
    """What is known of a slot.

    `entered` (when it came into its state) and `born` (when what runs in it was started or
    adopted) are seconds on the monotonic clock; `since` is `entered` for people. `failures`
    counts deaths in a row, `restarts` all of them.
    """

    state: SlotState
    entered: float
    since: datetime
    born: float = 0.0
    failures: int = 0
    restarts: int = 0
