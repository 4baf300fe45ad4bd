"""Jobs, which say whether a period of a process is done."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from synergy.timeperiod import Qualifier


class JobState(IntEnum):
    """The states of a job; the numbers are what stores keep."""

    EMBRYO = 0  # nothing has been requested yet
    IN_PROGRESS = 1  # units of work carry it out; its period may still be open
    FINAL_RUN = 2  # the last unit, over the period's final bounds, is under way
    PROCESSED = 3  # done: the work function said so
    NOOP = 4  # done: there was nothing to do
    SKIPPED = 5  # given up, by an operator or by the rules; the journal says why

    @property
    def is_finished(self) -> bool:
        return self >= JobState.PROCESSED

    @property
    def is_active(self) -> bool:
        return self < JobState.PROCESSED

    @property
    def word(self) -> str:
        """The state as documents, commands and pages write it."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class JobRun:
    """Neighbouring jobs of one process, as a store hands them over.

    `states` holds one byte a job from ordinal `first` on: the JobState, plus STALE_FLAG when
    its source changed after it was finished and the process only marks that. `generations`
    names the jobs that were started over, by ordinal; all others are in generation 1.
    """

    process: str
    first: int
    states: bytes
    generations: dict[int, int]


STALE_FLAG = 0x08


@dataclass(frozen=True, slots=True)
class JobMove:
    """A change of state for the jobs `first` to `last` (inclusive) of a process.

    It applies to all of them or to none: only if each is in state `before` and generation
    `generation`. `start_over` adds one to the generation. `stale` is the stale flag
    afterwards. `covered` is what of its source a job stands for that ends without a unit, as a
    write number. `why` and `who` go into the journal, as do `covered` and the `unit` that
    caused it.
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
    unit: str | None = None
    covered: int = 0
