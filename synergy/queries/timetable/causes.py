"""The causes for which a job is in its state, in words and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from synergy.model.job import JobState
from synergy.model.process import ManagedProcess
from synergy.queries.timetable.remedies import Remedy
from synergy.timetable.timetable import Place


class Kind(Enum):
    """The kind of a cause, for programs."""

    FINISHED = "finished"
    SKIPPED = "skipped"  # finished without a result, by a decision
    GIVEN_UP = "given_up"  # finished without a result, after a failure, and not acknowledged
    LATE_DATA = "late_data"
    OPEN = "open"
    SETTLING = "settling"
    SWITCHED_OFF = "switched_off"
    BLOCKED = "blocked"
    IMPOSSIBLE = "impossible"
    WAITS_FOR_WORKER = "waits_for_worker"
    WORKERS_BUSY = "workers_busy"
    RUNNING = "running"
    FAILED = "failed"  # it waits for a retry, a reprocess or a skip
    RETRYING = "retrying"  # its unit failed, and is tried again
    NO_SCHEDULER = "no_scheduler"
    NO_SLOT = "no_slot"
    READY = "ready"
    MALFORMED = "malformed"  # its stored state cannot be read


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a job is in its state: the text, what would help, and the causes behind it."""

    kind: Kind
    process: str
    timeperiod: str
    state: JobState | None
    text: str
    helps: tuple[Remedy, ...] = ()
    causes: tuple[Cause, ...] = ()

    def leaves(self) -> Iterator[Cause]:
        """The causes that have no other behind them."""
        if not self.causes:
            yield self
        for cause in self.causes:
            yield from cause.leaves()


@dataclass(frozen=True, slots=True)
class Job:
    """A job of the timetable, the subject of a cause."""

    place: Place
    ordinal: int

    @property
    def process(self) -> ManagedProcess:
        return self.place.process

    @property
    def timeperiod(self) -> str:
        return self.place.level.timeperiod(self.ordinal)

    @property
    def state(self) -> JobState:
        return self.place.level.state(self.ordinal)

    @property
    def ends_at(self) -> datetime:
        return self.process.qualifier.start(self.ordinal + 1)

    @property
    def closes_at(self) -> datetime:
        """The time after which its period is closed: it has ended and settled."""
        return self.process.closes_at(self.ordinal)

    def cause(self, kind: Kind, text: str, *helps: Remedy, causes: tuple[Cause, ...] = ()) -> Cause:
        return Cause(kind, self.process.name, self.timeperiod, self.state, text, helps, causes)


def instant(at: datetime | None) -> str:
    """A time in words."""
    return "an unknown time" if at is None else f"{at:%Y-%m-%d %H:%M:%S} UTC"
