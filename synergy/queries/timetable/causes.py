"""What keeps a period from being done, in words and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from synergy.model.job import JobState
from synergy.queries.timetable.remedies import Remedy


class Kind(Enum):
    """What sort of cause it is, for programs."""

    FINISHED = "finished"
    SKIPPED = "skipped"  # finished without a result, because somebody decided so
    GIVEN_UP = "given_up"  # finished without a result, and nobody has acknowledged that
    LATE_DATA = "late_data"
    OPEN = "open"
    SETTLING = "settling"
    SWITCHED_OFF = "switched_off"
    BLOCKED = "blocked"
    IMPOSSIBLE = "impossible"
    WAITS_FOR_WORKER = "waits_for_worker"
    WORKERS_BUSY = "workers_busy"
    RUNNING = "running"
    FAILED = "failed"  # nobody has decided what becomes of it
    RETRYING = "retrying"  # its unit failed, and is tried again
    NO_SCHEDULER = "no_scheduler"
    NO_SLOT = "no_slot"
    READY = "ready"


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a job is as it is: in words, what would help, and what is behind it."""

    kind: Kind
    process: str
    timeperiod: str
    state: JobState | None
    text: str
    helps: tuple[Remedy, ...] = ()
    causes: tuple[Cause, ...] = ()

    def leaves(self) -> Iterator[Cause]:
        """The causes behind which there is no other."""
        if not self.causes:
            yield self
        for cause in self.causes:
            yield from cause.leaves()
