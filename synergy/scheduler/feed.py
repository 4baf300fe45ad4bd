"""What happened since the last turn: the journal, which tells what everybody did.

An entry that does not follow from what is known is no error: rows were read that are newer
than it, or somebody tells late, or an own write of unknown outcome was made after all. Then
the rows are read, because rows are the truth.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from synergy.model.job import JobState
from synergy.model.journal import JournalEntry
from synergy.model.journal_event import JournalEvent, Noun
from synergy.model.unit_of_work import Hint, UnitState
from synergy.scheduler.circuit_breaker import CircuitBreaker
from synergy.scheduler.known_state import KnownState
from synergy.scheduler.process_state import ProcessState
from synergy.storage.protocol import Store
from synergy.timetable.change import Change

PAGE = 5000  # entries read at a time


@dataclass(frozen=True, slots=True)
class CollectionAsked:
    """That the collector shall run now, for all processes or one, with or without waiting."""

    flush: bool = False
    process: str = ""
    by_operator: bool = False


class Feed:
    """Follows what others than `who` wrote.

    `collections` are the runs of the collector that were asked for; `is_released` is whether
    another scheduler gave a part of the work up.
    """

    def __init__(
        self, store: Store, memory: KnownState, troubles: CircuitBreaker, who: str, seq: int
    ) -> None:
        """`seq` is the number of the newest entry before memory was filled."""
        self._store = store
        self._memory = memory
        self._troubles = troubles
        self._who = who
        self._seq = seq
        self._surprises: defaultdict[ProcessState, set[int]] = defaultdict(set)
        self.collections: list[CollectionAsked] = []
        self.is_released = False

    def follow(self, now: datetime) -> None:
        """Takes in everything that is new."""
        for entries in self._pages():
            for entry in entries:
                self._take(entry, now)
            self._look_up()

    def _pages(self) -> Iterator[Sequence[JournalEntry]]:
        is_more = True
        while is_more:
            newest = self._store.journal.last_seq()
            entries = self._store.journal.since(self._seq, PAGE, besides=self._who)
            is_more = len(entries) == PAGE
            # Past the own entries, which are left out, as well: they would be read again each
            # time.
            read = entries[-1].seq if entries else 0
            self._seq = read if is_more else max(read, newest)
            yield entries

    def _take(self, entry: JournalEntry, now: datetime) -> None:
        lane = self._memory.lanes.get(entry.process)
        if entry.noun not in (Noun.UNIT, Noun.JOB):
            self._other_event(entry, now)
        elif lane is not None:
            with self._troubles.of_tree(lane.place.tree):
                if entry.noun == Noun.UNIT:
                    self._unit_event(lane, entry)
                else:
                    self._job_event(lane, entry)
        elif entry.event == JournalEvent.UNIT_INVALID and entry.process in self._memory.free:
            self._ask_collector()

    def _ask_collector(self) -> None:
        """It knows when, and whether, to try again."""
        if not self.collections:
            self.collections.append(CollectionAsked())

    def _look_up(self) -> None:
        """Reads the rows of what does not follow from what was known."""
        surprises, self._surprises = self._surprises, defaultdict(set)
        for lane, ordinals in surprises.items():
            with self._troubles.of_tree(lane.place.tree):
                self._memory.learn(lane, ordinals)

    # Units

    def _unit_event(self, lane: ProcessState, entry: JournalEntry) -> None:
        if entry.event == JournalEvent.UNIT_INVALID:
            self._ask_collector()
        ordinal = lane.level.find(entry.first)
        if ordinal is None or not lane.is_held:
            return
        known = lane.units.get(ordinal, [])
        unit = next((unit for unit in known if unit.id == entry.unit), None)
        is_move = entry.event != JournalEvent.UNIT_EXTENDED
        if unit is None or (is_move and unit.state.value != entry.before):
            self._unexpected_unit(lane, ordinal, entry)
            return
        was_running = unit.state is UnitState.IN_PROGRESS
        unit.attempt, unit.reason = entry.attempt, entry.why
        if is_move:
            unit.follow(UnitState(entry.after), entry.at)
        lane.count(ordinal)
        if was_running and unit is not known[-1] and known[-1].state is UnitState.REQUESTED:
            self._memory.unsent.append((lane.process.queue, Hint(known[-1].id, known[-1].attempt)))
        if unit.state is not UnitState.IN_PROGRESS:
            lane.wake(ordinal)

    def _unexpected_unit(self, lane: ProcessState, ordinal: int, entry: JournalEntry) -> None:
        """Somebody else requested a unit, or it is not known as the entry found it."""
        if entry.generation == lane.level.generation(ordinal):
            self._memory.know(lane, entry.first)
            lane.wake(ordinal)

    # Jobs

    def _job_event(self, lane: ProcessState, entry: JournalEntry) -> None:
        level, change = lane.level, Change.of(entry, lane.level)
        if change is None:
            return
        first, last, after = change.first, change.last, change.after
        if change.is_started_over:
            self._memory.started_over += [(lane.place, at) for at in range(first, last + 1)]
        if change.follows(level) and lane not in self._surprises:
            self._memory.take(lane, first, last, after, change.generation, flags=change.flags)
            if after in (JobState.PROCESSED, JobState.NOOP):
                # Another scheduler was late: perhaps it knew less of the source.
                self._memory.unsure += [(lane, at) for at in range(first, last + 1)]
        elif not change.is_known(level):
            self._surprises[lane].update(range(first, last + 1))

    # Everything else

    def _other_event(self, entry: JournalEntry, now: datetime) -> None:
        memory = self._memory
        match entry.event:
            case (
                JournalEvent.PROCESS_ON
                | JournalEvent.PROCESS_OFF
                | JournalEvent.PROCESS_TRIGGER_FREQUENCY
            ):
                memory.control(now)
            case JournalEvent.PROCESS_TRIGGERED if entry.process in memory.lanes:
                memory.lanes[entry.process].look(now)
            case JournalEvent.COLLECTION_REQUESTED | JournalEvent.COLLECTION_FLUSHED:
                is_flush = entry.event == JournalEvent.COLLECTION_FLUSHED
                asked = CollectionAsked(is_flush, entry.process, by_operator=True)
                self.collections.append(asked)
            case JournalEvent.PROCESS_STARTED:  # it may replace one that died with units in hand
                self._ask_collector()
            case JournalEvent.TIMETABLE_EXTENDED:
                memory.extend(entry.new_start)
            case JournalEvent.SCHEDULER_RELEASED:
                self.is_released = True
