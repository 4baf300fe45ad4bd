"""Jobs: whether a period of a process is done."""

from __future__ import annotations

from enum import IntEnum
from functools import cache

from synergy.model.value import value
from synergy.timeperiod import Qualifier


class JobState(IntEnum):
    """The states of a job; the numbers are what stores keep.

    GIVEN_UP is a job that is skipped because of a failure (`on_failure="skip"`). It is shown and
    counted apart until an operator acknowledges it; only the field `state` of the API is `skipped`.
    """

    EMBRYO = 0  # no unit was requested, or none since it was retried or started over
    IN_PROGRESS = 1  # units of work carry it out; its period may still be open
    FINAL_RUN = 2  # the last unit, over the period's final bounds, is under way
    PROCESSED = 3  # done: the work function said so
    NOOP = 4  # done: there was nothing to do
    SKIPPED = 5  # by an operator, because of another skipped job, or given up and acknowledged
    FAILED = 6  # its unit was given up; a decision about the period is missing
    GIVEN_UP = 7  # its unit was given up, and its process says `on_failure="skip"`

    @property
    def is_finished(self) -> bool:
        return not self.is_active

    @property
    def is_active(self) -> bool:
        """Whether it holds its ancestors and dependants back; failed jobs do."""
        return self < JobState.PROCESSED or self is JobState.FAILED

    @property
    def is_pending(self) -> bool:
        """Whether it is neither finished nor failed."""
        return self < JobState.PROCESSED

    @property
    def word(self) -> str:
        """The name of the state in counts, journal, CSS classes and metrics."""
        return self.name.lower()

    @property
    def public(self) -> str:
        """The value of the field `state` in the API: a job that was given up is `skipped`."""
        return JobState.SKIPPED.word if self is JobState.GIVEN_UP else self.word


FINISHED = frozenset(state for state in JobState if state.is_finished)

# A stored job is one byte: the state in the lower three bits, and these flags. HIGHEST has all.
STALE_FLAG = 0x08
ACKNOWLEDGED_FLAG = 0x10
DERIVED_FLAG = 0x20
UNREADABLE_FLAG = 0x40  # never stored: the stored block of the job is malformed
STATE_MASK = 0x07
HIGHEST = 0x3F
UNREADABLE = JobState.FAILED | UNREADABLE_FLAG
_FLAGS = range(0, 0x80, 0x08)


@cache
def bytes_of(*states: JobState) -> bytes:
    """Every byte that stores one of these states, with every combination of flags."""
    return bytes(state | flags for state in states for flags in _FLAGS)


def failed_flags(after: JobState, generation: int) -> int:
    """STALE_FLAG for a failed job that may still have rows of an earlier generation; else 0."""
    return STALE_FLAG if after is JobState.FAILED and generation > 1 else 0


@value
class JobSpan:
    """Consecutive jobs of one process, as a store returns them.

    `states` holds one byte for each job from ordinal `first` on: the JobState and its flags.
    STALE_FLAG: the source changed after the job was finished, and the job was left as it is; or the
    job failed, and the rows of an earlier generation are still stored. ACKNOWLEDGED_FLAG: the job
    was given up, and an operator acknowledged that. DERIVED_FLAG: the job is skipped only because
    others are, and is restored with them. UNREADABLE_FLAG: the stored job cannot be read; it counts
    as failed, and nothing is decided about it. `generations` maps the ordinals of jobs that were
    started over to their generations; all others are in generation 1.
    """

    process: str
    first: int
    states: bytes
    generations: dict[int, int]


@value
class JobChange:
    """A change of state for the jobs `first` to `last` (inclusive) of a process.

    It applies to all of them or to none: only if each is in state `before` and generation
    `generation`. `start_over` adds one to the generation. `stale`, `acknowledged` and `derived`
    set the flags afterwards; see also `failed_flags`. `covered` is the write number up to which a
    job that ends without a unit covers its source. The journal gets `why`, `who`, `covered`, and
    the `unit` that caused the change.
    """

    process: str
    qualifier: Qualifier
    first: int
    last: int
    before: JobState
    after: JobState
    generation: int
    why: str
    who: str
    start_over: bool = False
    stale: bool = False
    acknowledged: bool = False
    derived: bool = False
    unit: str | None = None
    covered: int = 0

    @property
    def flags(self) -> int:
        """The flags of the stored jobs afterwards."""
        marks = STALE_FLAG * self.stale | ACKNOWLEDGED_FLAG * self.acknowledged
        marks |= DERIVED_FLAG * self.derived
        return marks | failed_flags(self.after, self.generation)
