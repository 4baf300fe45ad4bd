"""Follows the journal: the changes that other processes made since the last turn.

An entry that does not follow from the known state is no error: newer rows were read, or entries
were written late, or an own write of unknown outcome took effect. Then the rows are read again,
because they are authoritative.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from synergy.errors import InvalidValue
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
class CollectionRequest:
    """A request to run the collector now, for all processes or one; `flush` skips waiting times."""

    flush: bool = False
    process: str = ""
    by_operator: bool = False


class Feed:
    """Follows the journal entries of all authors except `name`.

    `collections` are the requested runs of the collector; `is_released` is whether another
    scheduler released a part of the work. The owner of the feed resets both.
    """

    def __init__(
        self, store: Store, known_state: KnownState, breaker: CircuitBreaker, name: str, seq: int
    ) -> None:
        """`seq` is the number of the newest entry before the known state was read."""
        self._store = store
        self._known = known_state
        self._breaker = breaker
        self._name = name
        self._seq = seq
        self._unexpected: defaultdict[ProcessState, set[int]] = defaultdict(set)
        self.collections: list[CollectionRequest] = []
        self.is_released = False

    def follow(self, now: datetime) -> None:
        """Applies all new entries."""
        for entries in self._pages():
            for entry in entries:
                self._handle(entry, now)
            self._reread()

    def _pages(self) -> Iterator[Sequence[JournalEntry]]:
        is_more = True
        while is_more:
            newest = self._store.journal.last_seq()
            entries = self._store.journal.since(self._seq, PAGE, besides=self._name)
            is_more = len(entries) == PAGE
            # Own entries are not returned; `_seq` passes them, so that they are not read again.
            last = entries[-1].seq if entries else 0
            self._seq = last if is_more else max(last, newest)
            yield entries

    def _handle(self, entry: JournalEntry, now: datetime) -> None:
        state = self._known.processes.get(entry.process)
        if entry.noun not in (Noun.UNIT, Noun.JOB):
            self._other_event(entry, now)
        elif state is not None:
            with self._breaker.of_tree(state.place.tree):
                if entry.noun == Noun.UNIT:
                    self._unit_event(state, entry)
                else:
                    self._job_event(state, entry)
        elif entry.event == JournalEvent.UNIT_INVALID and entry.process in self._known.freerun:
            self._ask_collector()

    def _ask_collector(self) -> None:
        """Requests a run of the collector, which decides when and whether to retry units."""
        if not self.collections:
            self.collections.append(CollectionRequest())

    def _reread(self) -> None:
        """Reads the jobs whose entries did not follow from the known state."""
        unexpected, self._unexpected = self._unexpected, defaultdict(set)
        for state, ordinals in unexpected.items():
            with self._breaker.of_tree(state.place.tree):
                self._known.reread(state, ordinals)

    # Units

    def _unit_event(self, state: ProcessState, entry: JournalEntry) -> None:
        if entry.event == JournalEvent.UNIT_INVALID:
            self._ask_collector()
        ordinal = state.level.find(entry.first)
        if ordinal is None or not state.is_held:
            return
        known = state.units.get(ordinal, [])
        unit = next((unit for unit in known if unit.id == entry.unit), None)
        is_move = entry.event != JournalEvent.UNIT_EXTENDED
        if unit is None or (is_move and unit.state.value != entry.before):
            self._unexpected_unit(state, ordinal, entry)
            return
        was_running = unit.state is UnitState.IN_PROGRESS
        unit.attempt, unit.reason = entry.attempt, entry.why
        if is_move:
            unit.follow(UnitState(entry.after), entry.at)
        state.count(ordinal)
        if was_running and unit is not known[-1] and known[-1].state is UnitState.REQUESTED:
            self._known.unsent.append((state.process.queue, Hint(known[-1].id, known[-1].attempt)))
        if unit.state is not UnitState.IN_PROGRESS:
            state.wake(ordinal)

    def _unexpected_unit(self, state: ProcessState, ordinal: int, entry: JournalEntry) -> None:
        """Reads the units of a job again: a unit is unknown, or not in the entry's state."""
        if entry.generation == state.level.generation(ordinal):
            self._known.read_units(state, entry.first)
            state.wake(ordinal)

    # Jobs

    def _job_event(self, state: ProcessState, entry: JournalEntry) -> None:
        level = state.level
        try:
            change = Change.of(entry, level)
        except InvalidValue:
            self._unexpected[state].add(level.start)  # all of its jobs are read
            return
        if change is None:
            return
        ordinals = range(change.first, change.last + 1)
        if change.is_started_over:
            self._known.started_over += [(state.place, at) for at in ordinals]
        if change.follows(level) and state not in self._unexpected:
            self._known.apply_change(state, change)
            if change.after in (JobState.PROCESSED, JobState.NOOP):
                # Another scheduler finished it, perhaps before it saw all writes to the source.
                self._known.to_recheck += [(state, at) for at in ordinals]
        elif not change.is_known(level):
            self._unexpected[state].update(ordinals)

    # Everything else

    def _other_event(self, entry: JournalEntry, now: datetime) -> None:
        known_state = self._known
        match entry.event:
            case (
                JournalEvent.PROCESS_ON
                | JournalEvent.PROCESS_OFF
                | JournalEvent.PROCESS_TRIGGER_FREQUENCY
            ):
                known_state.apply_controls(now)
            case JournalEvent.PROCESS_TRIGGERED if entry.process in known_state.processes:
                known_state.processes[entry.process].fire(now)
            case JournalEvent.COLLECTION_REQUESTED | JournalEvent.COLLECTION_FLUSHED:
                is_flush = entry.event == JournalEvent.COLLECTION_FLUSHED
                asked = CollectionRequest(is_flush, entry.process, by_operator=True)
                self.collections.append(asked)
            case JournalEvent.PROCESS_STARTED:  # it may replace one that died with claimed units
                self._ask_collector()
            case JournalEvent.TIMETABLE_EXTENDED:
                known_state.extend(entry.new_start)
            case JournalEvent.SCHEDULER_RELEASED:
                self.is_released = True
