"""Changes of the jobs of a level from the journal, compared with their known states.

A follower of the journal meets entries that are older than the rows it has read. An entry either
*follows* from the known states, or *is known* already, or neither: then the rows are newer, or the
entry was journaled late, and the rows have to be read again, because they are authoritative.
"""

from __future__ import annotations

from dataclasses import dataclass

from synergy.errors import InvalidValue
from synergy.model.job import JobState
from synergy.model.journal import JournalEntry
from synergy.model.journal_event import JournalEvent
from synergy.timetable.level import Level


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the state of jobs `first` to `last` (inclusive), all within their level."""

    first: int
    last: int
    before: JobState
    after: JobState
    generation: int
    flags: int
    is_started_over: bool

    @staticmethod
    def of(entry: JournalEntry, level: Level) -> Change | None:
        """The change of a `job.…` entry; None if it concerns no job of this level.

        The entry may be from a time when the process had another qualifier. Raises InvalidValue for
        a malformed one; then the rows have to be read.
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
            _state(entry.before),
            _state(entry.after),
            entry.generation,
            entry.flags,
            entry.event == JournalEvent.JOB_STARTED_OVER,
        )

    def follows(self, level: Level) -> bool:
        """Whether all the jobs are in the state before the change."""
        generation = self.generation - self.is_started_over
        return level.is_all(self.first, self.last, self.before, generation)

    def is_known(self, level: Level) -> bool:
        """Whether all the jobs are in the state after the change, regardless of flags."""
        return level.is_all(self.first, self.last, self.after, self.generation)

    def make(self, level: Level) -> None:
        """Applies the change to the level."""
        level.set(self.first, self.last, self.after, self.generation, flags=self.flags)


def _state(word: str) -> JobState:
    try:
        return JobState[word.upper()]
    except KeyError:
        raise InvalidValue(f"{word!r} is no state of a job") from None
