"""What a journal entry says of the jobs of a level, held against what is known of them.

Whoever follows the journal meets entries that are older than the rows he read. One either
*follows* from what is known, or says what *is known* already, or neither: then rows were read
that are newer, or somebody tells late, and the rows are to be read, because they are the truth.
"""

from __future__ import annotations

from dataclasses import dataclass

from synergy.model.job import JobState
from synergy.model.journal import JournalEntry
from synergy.model.journal_event import JournalEvent
from synergy.timetable.level import Level


@dataclass(frozen=True, slots=True)
class Change:
    """Jobs `first` to `last` (inclusive), all within their level, went to a state."""

    first: int
    last: int
    before: JobState
    after: JobState
    generation: int
    flags: int
    is_started_over: bool

    @staticmethod
    def of(entry: JournalEntry, level: Level) -> Change | None:
        """The change that a `job.…` entry tells of; None if it is of no job of this level.

        It may be of a time when the process had another qualifier.
        """
        qualifier = level.process.qualifier
        if not qualifier.names(entry.first):
            return None
        first = max(qualifier.parse(entry.first), level.start)
        last = min(qualifier.parse(entry.last), level.end - 1)
        if first > last:
            return None
        return Change(
            first,
            last,
            JobState[entry.before.upper()],
            JobState[entry.after.upper()],
            entry.generation,
            entry.flags,
            entry.event == JournalEvent.JOB_STARTED_OVER,
        )

    def follows(self, level: Level) -> bool:
        """Whether all the jobs are as they were before it."""
        generation = self.generation - self.is_started_over
        return level.is_all(self.first, self.last, self.before, generation)

    def is_known(self, level: Level) -> bool:
        """Whether all the jobs are as they were after it, but for their flags."""
        return level.is_all(self.first, self.last, self.after, self.generation)

    def make(self, level: Level) -> None:
        """Sets the jobs."""
        level.set(self.first, self.last, self.after, self.generation, flags=self.flags)
