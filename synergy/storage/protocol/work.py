"""Jobs and units of work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Protocol

from synergy.model.job import JobChange, JobSpan
from synergy.model.time_range import EVER, TimeRange
from synergy.model.unit_of_work import Conclusion, Hint, UnitChange, UnitOfWork, UnitState


class ReadableJobs(Protocol):
    """The states of all jobs. A job that was never moved is an embryo of generation 1."""

    def load(self, processes: Sequence[str] | None = None) -> Iterator[JobSpan]:
        """All jobs that were ever moved, in spans of neighbours, each job once.

        A span may include jobs that were never moved.
        """
        ...


class Jobs(ReadableJobs, Protocol):
    """Jobs, read and moved."""

    def move(self, moves: Sequence[JobChange], now: datetime) -> list[JobChange]:
        """Applies each move whose jobs all have the state and generation that it expects.

        Returns the others. One journal entry per move: `job.started_over`; or `job.stale` if only
        flags change (`before` equals `after`); or `job.retried` if the jobs become embryos;
        or `job.acknowledged` if they were given up; or else `job.<after>`.
        """
        ...


class ReadableUnits(Protocol):
    """Units of work, unique by (process, timeperiod, generation, start_id, end_id)."""

    def get(self, ids: Sequence[str]) -> list[UnitOfWork]:
        """Those that exist, in no particular order."""
        ...

    def of_jobs(self, process: str, first: str, last: str) -> list[UnitOfWork]:
        """All units of jobs `first` to `last` (inclusive), newest creation first."""
        ...

    def newest(self, process: str, timeperiod: str, limit: int) -> list[UnitOfWork]:
        """At most `limit` units of one job, newest creation first; a job may have thousands."""
        ...

    def find(
        self,
        process: str | None = None,
        state: UnitState | None = None,
        limit: int = 100,
        cursor: str | None = None,
        within: TimeRange = EVER,
    ) -> tuple[list[UnitOfWork], str | None]:
        """A page of units, newest creation first, and the cursor of the next page or None.

        Only those created `within` a range of time.
        """
        ...

    def unfinished(self) -> list[UnitOfWork]:
        """All that are requested, in progress or invalid, oldest creation first."""
        ...

    def counts(self) -> dict[tuple[str, UnitState], int]:
        """The number of unfinished units of each process and state."""
        ...

    def requested(self) -> set[str]:
        """The processes with units that are requested."""
        ...


class Units(ReadableUnits, Protocol):
    """Units, read, created, claimed, concluded, moved and pruned."""

    def create(self, units: Sequence[UnitOfWork], who: str) -> list[UnitOfWork]:
        """Stores those that are new (journal `unit.requested`); returns for each the stored one.

        If a unit with the same key exists, it is returned unchanged.
        """
        ...

    def claim(self, hints: Sequence[Hint], owner: str, now: datetime) -> list[UnitOfWork]:
        """Claims the units that are requested, of the hinted attempt, and due (`not_before`).

        Two callers never receive the same attempt. A unit is not claimed while another unit of the
        same process and timeperiod is in progress. This does not apply to free runs, whose
        timeperiod has 14 digits and which belong to no job. The time of the first claim is recorded
        and kept over later attempts. Journal `unit.in_progress`.
        """
        ...

    def heartbeat(self, claims: Sequence[Hint], owner: str) -> list[Hint]:
        """Advances the heartbeat of those in progress that `owner` holds; returns the lost ones."""
        ...

    def give_back(self, claims: Sequence[Hint], owner: str, now: datetime) -> list[UnitOfWork]:
        """Returns claims that were not begun: requested again, attempt + 1, not a failure.

        If it was the first claim of a unit, the unit counts as never claimed.
        """
        ...

    def conclude(self, conclusions: Sequence[Conclusion], now: datetime) -> list[Conclusion]:
        """Ends each attempt that its owner still holds; returns the refused conclusions.

        A refused conclusion writes nothing. Otherwise its sink writes are visible exactly
        when the conclusion is; rows that do not change keep their number. INVALID adds a
        failure. Journal `unit.processed`, `unit.noop` or `unit.invalid`.
        """
        ...

    def move(self, moves: Sequence[UnitChange], now: datetime) -> list[UnitChange]:
        """Applies each move whose unit has the state, attempt and heartbeat that it expects.

        Returns the others. Journal `unit.<after>`. A unit that is requested again counts as not
        published.
        """
        ...

    def extend(self, unit: str, attempt: int, end_id: int, now: datetime) -> bool:
        """Raises the upper bound of a requested or invalid unit; returns whether it did.

        False if its state or its attempt is another, its bound is higher already, or another unit
        has the key that it would get. Journal `unit.extended`.
        """
        ...

    def published(self, hints: Sequence[Hint], now: datetime) -> None:
        """Records the time at which the messages of these attempts were confirmed."""
        ...

    def prune(self, before: datetime, limit: int) -> int:
        """Deletes at most `limit` superseded finished units older than `before`, with their logs.

        A job's newest unit is kept, because it records the range that the job's result covers. A
        free run, whose timeperiod has 14 digits, belongs to no job and counts as superseded from
        its creation.
        """
        ...
