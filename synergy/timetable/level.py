"""One process of the timetable: a start ordinal and one byte for each period.

Everything else is derived: parents, children and counterparts are index arithmetic. The level
updates its frontier (the first unfinished period) and its counts with each change, so that reading
them costs nothing, however long the history is.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from synergy.errors import InvalidValue, NotFound
from synergy.model.job import (
    ACKNOWLEDGED_FLAG,
    DERIVED_FLAG,
    STALE_FLAG,
    STATE_MASK,
    UNREADABLE_FLAG,
    JobSpan,
    JobState,
    bytes_of,
)
from synergy.model.process import ManagedProcess
from synergy.timeperiod import checkpoint, covered, parse_period

_STATES = tuple(JobState)  # by number; quicker than to call the enum
_PENDING = (JobState.EMBRYO, JobState.IN_PROGRESS, JobState.FINAL_RUN)


def byte_class(*states: JobState, negated: bool = False) -> bytes:
    """The character class of a regular expression over stored states, with any flags."""
    return b"[" + b"^" * negated + re.escape(bytes_of(*states)) + b"]"


def flagged(state: JobState, flag: int) -> bytes:
    """The character class of a state with a flag."""
    return b"[" + re.escape(bytes(byte for byte in bytes_of(state) if byte & flag)) + b"]"


UNFINISHED = byte_class(*_PENDING, JobState.FAILED)
_UNFINISHED = re.compile(UNFINISHED)
HELD = bytes(byte for byte in bytes_of(JobState.SKIPPED) if not byte & DERIVED_FLAG)
_PENDING_ONLY = re.compile(byte_class(*_PENDING))
_FAILED = re.compile(byte_class(JobState.FAILED))
_UNREADABLE = re.compile(flagged(JobState.FAILED, UNREADABLE_FLAG))
_NOT_SKIPPED = re.compile(byte_class(JobState.SKIPPED, JobState.GIVEN_UP, negated=True))


class Level:
    """The jobs of one process, from the timetable's start to the period that has begun last."""

    __slots__ = ("counts", "frontier", "generations", "process", "start", "states")

    def __init__(self, process: ManagedProcess, start: int, end: int) -> None:
        self.process = process
        self.start = start
        self.states = bytearray(max(end - start, 0))
        self.generations: dict[int, int] = {}
        self.frontier = start
        self.counts = [0] * len(JobState)
        self.counts[JobState.EMBRYO] = len(self.states)

    @property
    def end(self) -> int:
        return self.start + len(self.states)

    @property
    def memory(self) -> int:
        """The approximate size in bytes."""
        return sys.getsizeof(self.states) + sys.getsizeof(self.generations)

    def copy(self) -> Level:
        """An independent copy."""
        level = Level(self.process, self.start, self.start)
        level.states = self.states[:]
        level.generations = self.generations.copy()
        level.frontier = self.frontier
        level.counts = self.counts[:]
        return level

    def grow(self, end: int) -> None:
        """Adds embryos up to `end` (exclusive), as time passes."""
        more = end - self.end
        if more > 0:
            self.states.extend(bytes(more))
            self.counts[JobState.EMBRYO] += more

    def extend(self, start: int) -> None:
        """Adds embryos before the present start."""
        more = self.start - start
        if more > 0:
            self.states[:0] = bytes(more)
            self.counts[JobState.EMBRYO] += more
            self.start = self.frontier = start

    def load(self, span: JobSpan) -> None:
        """Takes over stored states; those outside the level are ignored."""
        first = max(span.first, self.start)
        last = min(span.first + len(span.states), self.end)
        if first < last:
            self.states[first - self.start : last - self.start] = span.states[
                first - span.first : last - span.first
            ]
        self.generations.update(span.generations)

    def loaded(self) -> None:
        """Recounts the states; to be called after the last `load`."""
        for state in JobState:
            self.counts[state] = sum(map(self.states.count, bytes_of(state)))
        self.frontier = self.first_unfinished(self.start, self.end)

    def holds(self, ordinal: int) -> bool:
        """Whether the period is in the timetable."""
        return 0 <= ordinal - self.start < len(self.states)

    def ordinal(self, timeperiod: str) -> int:
        """The ordinal of a period in the timetable, given as people write it.

        Raises InvalidValue if it is not of this qualifier, NotFound if it lies outside.
        """
        ordinal = parse_period(self.process.qualifier, timeperiod)
        if not self.holds(ordinal):
            name = self.process.qualifier.timeperiod
            raise NotFound(
                "job",
                f"{self.process.name} {name(ordinal)}",
                f"the timetable of this process holds {name(self.start)} to {name(self.end - 1)}",
            )
        return ordinal

    def find(self, timeperiod: str) -> int | None:
        """The ordinal of a stored timeperiod; None if this level has no such job.

        It may be from a time when the process had another qualifier.
        """
        qualifier = self.process.qualifier
        ordinal = qualifier.parse(timeperiod) if qualifier.names(timeperiod) else None
        return ordinal if ordinal is not None and self.holds(ordinal) else None

    def timeperiod(self, ordinal: int) -> str:
        return self.process.qualifier.timeperiod(ordinal)

    def state(self, ordinal: int) -> JobState:
        return _STATES[self.states[ordinal - self.start] & STATE_MASK]

    def is_stale(self, ordinal: int) -> bool:
        """Whether its stored rows do not match its source: its STALE_FLAG (see `JobSpan`)."""
        return bool(self.states[ordinal - self.start] & STALE_FLAG)

    def is_acknowledged(self, ordinal: int) -> bool:
        """Whether it was given up, and an operator acknowledged that."""
        return bool(self.states[ordinal - self.start] & ACKNOWLEDGED_FLAG)

    def is_held(self, ordinal: int) -> bool:
        """Whether only a reprocess starts it over: an operator skipped or acknowledged it.

        A period that began under a parent that is held is held as well.
        """
        return self.states[ordinal - self.start] in HELD

    def is_unreadable(self, ordinal: int) -> bool:
        """Whether the stored job cannot be read, so that nothing is decided about it."""
        return bool(self.states[ordinal - self.start] & UNREADABLE_FLAG)

    def unreadable(self) -> Iterator[int]:
        """The periods whose stored jobs cannot be read, oldest first."""
        for found in _UNREADABLE.finditer(self.states) if self.counts[JobState.FAILED] else ():
            yield found.start() + self.start

    def forget_unreadable(self) -> None:
        """Takes jobs that cannot be read for unmoved, as they are if no `load` follows for them."""
        for ordinal in self.unreadable():
            self.states[ordinal - self.start] = JobState.EMBRYO

    def is_derived(self, ordinal: int) -> bool:
        """Whether it is skipped only because other jobs are."""
        return bool(self.states[ordinal - self.start] & DERIVED_FLAG)

    def is_all(self, first: int, last: int, state: JobState, generation: int) -> bool:
        """Whether the jobs `first` to `last` (inclusive) are all in a state and generation."""
        states = self.states[first - self.start : last + 1 - self.start]
        if states.strip(bytes_of(state)):
            return False
        if not self.generations:
            return generation == 1
        return all(self.generation(at) == generation for at in range(first, last + 1))

    def generation(self, ordinal: int) -> int:
        """The number of times the job was started over, plus 1."""
        return self.generations.get(ordinal, 1)

    def set(
        self, first: int, last: int, state: JobState, generation: int, *, flags: int = 0
    ) -> None:
        """Sets jobs `first` to `last` (inclusive), with the flags of a stored state."""
        begin, end = first - self.start, last + 1 - self.start
        self._uncount(begin, end)
        self.counts[state] += end - begin
        byte = state | flags
        if end - begin == 1:
            self.states[begin] = byte
        else:
            self.states[begin:end] = bytes((byte,)) * (end - begin)
        if generation != 1:
            self.generations.update(dict.fromkeys(range(first, last + 1), generation))
        if state.is_active:
            self.frontier = min(self.frontier, first)
        elif first <= self.frontier <= last:
            self.frontier = self.first_unfinished(last + 1, self.end)

    def _uncount(self, begin: int, end: int) -> None:
        if end - begin == 1:
            self.counts[self.states[begin] & STATE_MASK] -= 1
            return
        old = self.states[begin:end]
        for state in JobState:
            self.counts[state] -= sum(map(old.count, bytes_of(state)))

    def first_unfinished(self, first: int, end: int) -> int:
        """The first unfinished period of `[first, end)`; `end` if there is none."""
        found = _UNFINISHED.search(self.states, max(first - self.start, 0), end - self.start)
        return end if found is None else found.start() + self.start

    def unfinished(self, first: int, end: int) -> Iterator[int]:
        """The unfinished periods of `[first, end)`, oldest first."""
        ordinal = self.first_unfinished(first, end)
        while ordinal < end:
            yield ordinal
            ordinal = self.first_unfinished(ordinal + 1, end)

    def first_pending(self, first: int, end: int) -> int:
        """The first period of `[first, end)` that is neither finished nor failed, or `end`."""
        found = _PENDING_ONLY.search(self.states, max(first - self.start, 0), end - self.start)
        return end if found is None else found.start() + self.start

    def failed(self, first: int, end: int) -> Iterator[int]:
        """The failed periods of `[first, end)`, oldest first."""
        if self.counts[JobState.FAILED]:
            begin = max(first - self.start, 0)
            for found in _FAILED.finditer(self.states, begin, max(end - self.start, begin)):
                yield found.start() + self.start

    def all_finished(self, first: int, end: int) -> bool:
        """Whether all periods of `[first, end)` have begun and are finished.

        Periods before the level's start do not belong to the timetable and are ignored.
        """
        if end > self.end:
            return False
        begin = max(first - self.start, 0)
        return _UNFINISHED.search(self.states, begin, max(end - self.start, begin)) is None

    def all_skipped(self, first: int, end: int) -> bool:
        """Whether there are periods in `[first, end)`, and all of them are skipped or given up."""
        begin, stop = max(first - self.start, 0), end - self.start
        if begin >= stop or end > self.end:
            return False
        return _NOT_SKIPPED.search(self.states, begin, stop) is None

    def skipped_with(self, flag: int) -> int:
        """The number of skipped jobs with a flag."""
        if not self.counts[JobState.SKIPPED]:
            return 0
        return sum(self.states.count(byte) for byte in bytes_of(JobState.SKIPPED) if byte & flag)

    def covered(self, ordinal: int) -> tuple[int, int] | None:
        """The periods that the job covers (`time_grouping`); None if it is no checkpoint."""
        return covered(self.process.qualifier, ordinal, self.process.time_grouping)

    def reads(self, ordinal: int) -> list[tuple[int, int]]:
        """The half-open ranges of periods that the job of this period reads, its own first."""
        first, end = self.covered(ordinal) or (ordinal, ordinal + 1)
        return [(first, end), *((first + n, end + n) for n in self.process.also_reads)]

    def readers(self, ordinal: int) -> list[int]:
        """The periods whose jobs read this one; some may lie outside the level."""
        distances = (0, *self.process.also_reads)
        return [self.checkpoint(ordinal - distance) for distance in distances]

    def readers_of(self, timeperiod: str) -> list[int]:
        """The periods whose jobs read a document filed under `timeperiod`.

        Empty if it is no timeperiod: workers may file documents under any text.
        """
        try:
            return self.readers(self.process.qualifier.cast(timeperiod))
        except InvalidValue:
            return []

    def checkpoint(self, ordinal: int) -> int:
        """The period whose job covers this one."""
        return checkpoint(self.process.qualifier, ordinal, self.process.time_grouping)
