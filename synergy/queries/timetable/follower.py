"""The timetable, kept up to date by the journal: a read costs what changed, not what exists.

Each result is a snapshot that never changes. The next one shares with it all processes whose jobs
did not change in between.

The rows are authoritative. They are read again for one process if a journal entry does not follow
from the known state of the job. They are read for all processes if the entries do not follow from
the last known one (they were pruned meanwhile, or the store is another one), if there are very many
entries, because that is quicker, and if the clock was set back.

The places of a snapshot refer to one another, so only Python's garbage collector can free an unused
snapshot. It is triggered by the number of objects, and these are few and large: so it is called
here, once enough memory is unused.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from synergy.clock import Clock
from synergy.errors import InvalidValue
from synergy.model.journal import JournalEntry
from synergy.model.journal_event import Noun
from synergy.model.process import Deployment
from synergy.names import TIMETABLE_START
from synergy.queries.single_flight import SingleFlight
from synergy.queries.timetable.load import load_timetable
from synergy.storage.protocol import StoreView
from synergy.timetable.change import Change
from synergy.timetable.level import Level
from synergy.timetable.timetable import Timetable

PAGE = 5000  # entries read at a time
FAR = 50_000  # entries behind, above which reading all rows is quicker than following
UNUSED = 32 << 20  # bytes of replaced levels, above which the garbage collector is called


@dataclass(frozen=True, slots=True)
class _Known:
    """A snapshot with the last journal entry that it includes, which has the number `seq`.

    `entry` is None if it was pruned already.
    """

    timetable: Timetable
    seq: int
    entry: JournalEntry | None


class TimetableFollower:
    """The timetable of a store that others write to; may be used by several threads."""

    def __init__(self, store: StoreView, deployment: Deployment, clock: Clock) -> None:
        self._store = store
        self._deployment = deployment
        self._clock = clock
        self._flight = SingleFlight()
        self._known: _Known | None = None
        self._unused = 0

    def timetable(self) -> Timetable:
        """The present timetable, which must not be changed.

        Raises Refused if it has no start yet, and StorageUnavailable; the next call recovers.
        """
        with self._flight.turn():
            self._known = self._look()
            return self._known.timetable

    def _look(self) -> _Known:
        known = self._known
        while known is not None and self._is_valid(known.timetable):
            entries = self._entries_after(known)
            if entries is None:
                break
            known = self._applied(known, entries)
            if len(entries) < PAGE:
                return self._grown(known)
            if self._store.journal.last_seq() - known.seq > FAR:
                break
        if known is not None:
            self._note_replaced(known.timetable, known.timetable.places)
        return self._loaded()

    def _loaded(self) -> _Known:
        """All processes from the rows, which may be newer than the noted entry."""
        newest = self._store.journal.find(limit=1)
        entry = newest[0] if newest else None
        seq = self._store.journal.last_seq() if entry is None else entry.seq
        timetable = load_timetable(self._store, self._deployment, self._clock.now())
        return _Known(timetable, seq, entry)

    def _is_valid(self, timetable: Timetable) -> bool:
        """Whether the start is the stored one, no period lies in the future, and all can be read.

        A malformed row may be repaired at any time, which leaves no entry in the journal.
        """
        now = self._clock.now()
        return timetable.start == self._store.facts.get(TIMETABLE_START) and all(
            place.level.end <= max(place.process.qualifier.at(now) + 1, place.level.start)
            and not any(place.level.unreadable())
            for place in timetable.places.values()
        )

    def _entries_after(self, known: _Known) -> Sequence[JournalEntry] | None:
        """The entries after the known one; None if they do not follow from it."""
        journal = self._store.journal
        entries = journal.since(known.seq - 1, PAGE + 1)
        newest = known.seq
        if entries[:1] == [known.entry]:
            entries = entries[1:]
        elif not entries:  # pruned, or another store
            newest = journal.last_seq()
        if entries:
            newest = entries[-1].seq
        return entries if newest == known.seq + len(entries) else None

    def _applied(self, known: _Known, entries: Sequence[JournalEntry]) -> _Known:
        if not entries:
            return known
        changes = _LevelChanges(known.timetable)
        for entry in entries:
            if entry.noun == Noun.JOB:
                changes.apply(entry)
        levels = changes.levels | self._read(known.timetable, changes.to_read)
        timetable = self._replaced(known.timetable, levels) if levels else known.timetable
        return _Known(timetable, entries[-1].seq, entries[-1])

    def _grown(self, known: _Known) -> _Known:
        """The snapshot with the periods that have begun since.

        A scheduler with another clock may have begun them earlier, so their rows are read.
        """
        now = self._clock.now()
        growing = {
            name
            for name, place in known.timetable.places.items()
            if place.process.qualifier.at(now) + 1 > place.level.end
        }
        if not growing:
            return known
        timetable = self._replaced(known.timetable, self._read(known.timetable, growing))
        return _Known(timetable, known.seq, known.entry)

    def _replaced(self, timetable: Timetable, levels: Mapping[str, Level]) -> Timetable:
        self._note_replaced(timetable, levels)
        return timetable.replaced(levels)

    def _note_replaced(self, timetable: Timetable, names: Iterable[str]) -> None:
        self._unused += sum(timetable.places[name].level.memory for name in names)
        if self._unused > UNUSED:
            self._unused = 0
            gc.collect()

    def _read(self, timetable: Timetable, processes: set[str]) -> dict[str, Level]:
        now = self._clock.now()
        levels = {}
        for name in processes:
            old = timetable.places[name].level
            end = old.process.qualifier.at(now) + 1
            levels[name] = Level(old.process, old.start, end)
        for span in self._store.jobs.load(list(levels)) if levels else ():
            levels[span.process].load(span)
        for level in levels.values():
            level.loaded()
        return levels


class _LevelChanges:
    """Applies entries to copies of levels; `to_read` are the processes that have to be read."""

    def __init__(self, timetable: Timetable) -> None:
        self._places = timetable.places
        self.levels: dict[str, Level] = {}
        self.to_read: set[str] = set()

    def apply(self, entry: JournalEntry) -> None:
        """Applies an entry; after one that does not follow, the process is not changed further."""
        name = entry.process
        if name not in self._places or name in self.to_read:
            return
        level = self.levels.get(name, self._places[name].level)
        try:
            change = Change.of(entry, level)
        except InvalidValue:
            self.to_read.add(name)
            return
        if change is None:
            return
        if change.follows(level):
            if name not in self.levels:
                level = self.levels[name] = level.copy()
            change.make(level)
        elif not change.is_known(level):
            self.to_read.add(name)
