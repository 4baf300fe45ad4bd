"""The timetable, kept in step with the journal: a look costs what changed, not what exists.

What is handed out is a snapshot that is never changed afterwards. The next one shares with it
all processes whose jobs did not change in between.

The rows are the truth. They are read anew, for one process, where an entry does not follow from
what is known of it; and for all, where the entries do not follow from the last one that was
taken in: because they were pruned meanwhile, or the store is another one. So they are where
very much has happened, because then that is quicker; and where the clock was set back.

The places of a snapshot refer to one another, so of one that nobody looks at any more Python's
collector has to get rid. It counts objects, and these are few and large: it is called here when
enough of them are left.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from synergy.clock import Clock
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
FAR = 50_000  # entries behind from which reading all rows is quicker than following
LEFT = 32 << 20  # bytes of levels that were replaced from which on they are collected


@dataclass(frozen=True, slots=True)
class _Known:
    """A snapshot, and how far the journal is taken in: `entry` is that numbered `seq`.

    It is None if the journal had forgotten it already.
    """

    timetable: Timetable
    seq: int
    entry: JournalEntry | None


class TimetableFollower:
    """The timetable of a store that others write to; for several threads."""

    def __init__(self, store: StoreView, deployment: Deployment, clock: Clock) -> None:
        self._store = store
        self._deployment = deployment
        self._clock = clock
        self._turns = SingleFlight()
        self._known: _Known | None = None
        self._left = 0

    def timetable(self) -> Timetable:
        """The timetable as it is now; nobody may change it.

        Raises Refused if it has no start yet, StorageUnavailable; the look after that recovers.
        """
        with self._turns.taken():
            self._known = self._look()
            return self._known.timetable

    def _look(self) -> _Known:
        known = self._known
        while known is not None and self._is_whole(known.timetable):
            entries = self._news(known)
            if entries is None:
                break
            known = self._taken(known, entries)
            if len(entries) < PAGE:
                return self._grown(known)
            if self._store.journal.last_seq() - known.seq > FAR:
                break
        if known is not None:
            self._leave(known.timetable, known.timetable.places)
        return self._loaded()

    def _loaded(self) -> _Known:
        """All from the rows; what they hold beyond the entry will be met again, and known."""
        newest = self._store.journal.find(limit=1)
        entry = newest[0] if newest else None
        seq = self._store.journal.last_seq() if entry is None else entry.seq
        timetable = load_timetable(self._store, self._deployment, self._clock.now())
        return _Known(timetable, seq, entry)

    def _is_whole(self, timetable: Timetable) -> bool:
        """Whether it begins where it shall, and nothing in it lies in the future."""
        now = self._clock.now()
        return timetable.start == self._store.facts.get(TIMETABLE_START) and all(
            place.level.end <= max(place.process.qualifier.at(now) + 1, place.level.start)
            for place in timetable.places.values()
        )

    def _news(self, known: _Known) -> Sequence[JournalEntry] | None:
        """The entries after those that are known; None if they do not follow from those."""
        journal = self._store.journal
        entries = journal.since(known.seq - 1, PAGE + 1)
        newest = known.seq
        if entries[:1] == [known.entry]:
            entries = entries[1:]
        elif not entries:  # forgotten, or of another store
            newest = journal.last_seq()
        if entries:
            newest = entries[-1].seq
        return entries if newest == known.seq + len(entries) else None

    def _taken(self, known: _Known, entries: Sequence[JournalEntry]) -> _Known:
        if not entries:
            return known
        taking = _Taking(known.timetable)
        for entry in entries:
            if entry.noun == Noun.JOB:
                taking.take(entry)
        levels = taking.levels | self._read(known.timetable, taking.doubtful)
        timetable = self._replaced(known.timetable, levels) if levels else known.timetable
        return _Known(timetable, entries[-1].seq, entries[-1])

    def _grown(self, known: _Known) -> _Known:
        """With the periods that have begun.

        They may have begun earlier for somebody with another clock: what he did to them is in
        the rows.
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
        self._leave(timetable, levels)
        return timetable.replaced(levels)

    def _leave(self, timetable: Timetable, names: Iterable[str]) -> None:
        """These levels of it are needed no longer, but by those who look at it now."""
        self._left += sum(timetable.places[name].level.memory for name in names)
        if self._left > LEFT:
            self._left = 0
            gc.collect()

    def _read(self, timetable: Timetable, processes: set[str]) -> dict[str, Level]:
        """The levels of some processes as the rows have them."""
        now = self._clock.now()
        levels = {}
        for name in processes:
            old = timetable.places[name].level
            end = old.process.qualifier.at(now) + 1
            levels[name] = Level(old.process, old.start, end)
        for run in self._store.jobs.load(list(levels)) if levels else ():
            levels[run.process].load(run)
        for level in levels.values():
            level.loaded()
        return levels


class _Taking:
    """Entries that are taken in: the levels they change, and those they do not follow from."""

    def __init__(self, timetable: Timetable) -> None:
        self._places = timetable.places
        self.levels: dict[str, Level] = {}
        self.doubtful: set[str] = set()

    def take(self, entry: JournalEntry) -> None:
        """Makes the change in a copy of the level; later ones do not count where one is amiss."""
        name = entry.process
        if name not in self._places or name in self.doubtful:
            return
        level = self.levels.get(name, self._places[name].level)
        change = Change.of(entry, level)
        if change is None:
            return
        if change.follows(level):
            if name not in self.levels:
                level = self.levels[name] = level.copy()
            change.make(level)
        elif not change.is_known(level):
            self.doubtful.add(name)
