"""Throughput: the units and jobs that were finished in each minute of the last hour."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from synergy.errors import InvalidValue
from synergy.model.job import FINISHED
from synergy.model.journal import JournalEntry, job_event
from synergy.model.journal_event import JournalEvent
from synergy.model.process import ManagedProcess

MINUTES = 60
_MINUTE = timedelta(minutes=1)
_UNITS = frozenset({JournalEvent.UNIT_PROCESSED, JournalEvent.UNIT_NOOP})
_JOBS = frozenset(job_event(state) for state in FINISHED)


@dataclass(frozen=True, slots=True)
class Throughput:
    """Units and jobs that were finished in each of the last 60 minutes, the present one last.

    They were counted from `since` on: minutes before that are 0.
    """

    units: tuple[int, ...]
    jobs: tuple[int, ...]
    since: datetime


class Minutes:
    """Counts by minute; those of the last hour are kept."""

    def __init__(self) -> None:
        self._counts: dict[int, tuple[int, int]] = {}

    def add(self, entry: JournalEntry, process: ManagedProcess | None) -> None:
        """Counts an entry, in any order; `process` is the managed process that it names."""
        units, jobs = int(entry.event in _UNITS), 0
        if entry.event in _JOBS:
            jobs = jobs_of(entry, process)
        if not (units or jobs):
            return
        minute = _minute(entry.at)
        before = self._counts.get(minute, (0, 0))
        self._counts[minute] = (before[0] + units, before[1] + jobs)
        if len(self._counts) > 2 * MINUTES:
            newest = max(self._counts)
            for old in [at for at in self._counts if at <= newest - MINUTES]:
                del self._counts[old]

    def shown(self, now: datetime, since: datetime) -> Throughput:
        """The last hour, counted from `since` on."""
        last = _minute(now)
        counts = [self._counts.get(at, (0, 0)) for at in range(last - MINUTES + 1, last + 1)]
        units, jobs = zip(*counts, strict=True)
        return Throughput(units, jobs, max(since, now - MINUTES * _MINUTE))


def jobs_of(entry: JournalEntry, process: ManagedProcess | None) -> int:
    """The number of jobs that an entry about jobs covers."""
    if process is None or entry.first == entry.last:
        return 1
    parse = process.qualifier.parse
    try:
        return parse(entry.last) - parse(entry.first) + 1
    except InvalidValue:  # it is from a time when the process had another qualifier
        return 1


def _minute(at: datetime) -> int:
    return int(at.timestamp() // 60)
