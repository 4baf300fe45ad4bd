"""The timetable's half of the scheduler: listen, decide, apply.

`turn` takes in what happened since the last one (the journal, which tells what workers,
operators and the collector did; the numbers of source writes; the time), decides about the
jobs that this concerns, writes the decisions, and tells how long nothing will happen by
itself. A finished job wakes its parent and its dependants within the same turn. Nothing is
polled: what a turn costs follows what changed.

Memory is a cache of rows. It is built when a scheduler comes to lead and thrown away when it
ceases to; a move that the store refuses means that somebody else was first, and his entry
comes with the journal.
"""

from __future__ import annotations

import heapq
import logging
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from synergy.clock import Clock
from synergy.insight.actions import Actor, cascade_moves, make_moves
from synergy.insight.coverage import source_bounds
from synergy.lifecycle.decision import (
    Decision,
    Finish,
    Request,
    Situation,
    SourceBounds,
    UnitView,
    Wait,
)
from synergy.lifecycle.machines import decide
from synergy.lifecycle.transitions import Move
from synergy.messaging.protocol import Bus
from synergy.model.job import JobMove, JobState
from synergy.model.journal import JournalEntry
from synergy.model.process import Deployment, ManagedProcess
from synergy.model.unit_of_work import Hint, UnitOfWork, UnitState
from synergy.schedule.trigger import Every
from synergy.scheduler.apply import Applied, Applier, Decided, views
from synergy.scheduler.lane import Lane, view
from synergy.scheduler.late import LateData
from synergy.storage.protocol import SourceChange, Store
from synergy.timeperiod import Qualifier
from synergy.timetable.cascade import Node, reprocess_cascade
from synergy.timetable.readiness import readiness
from synergy.timetable.timetable import Timetable

log = logging.getLogger(__name__)

JOURNAL = "journal"  # the topic that wakes whoever waits for jobs to be finished
BATCH = 256  # periods looked at in a turn, shared by all processes that have work
LEAST = 16  # the share of each, however many they are
PAGE = 5000  # journal entries and source changes read at a time
REFRESH = 10.0  # seconds between interim runs of a period that cannot be finished yet


@dataclass(frozen=True, slots=True)
class CollectionAsked:
    """That the collector shall run now, for all processes or one, with or without waiting."""

    flush: bool = False
    process: str = ""
    by_operator: bool = False


class Managed:
    """The managed processes of one scheduler, while it leads."""

    def __init__(
        self,
        store: Store,
        bus: Bus,
        clock: Clock,
        deployment: Deployment,
        start: str,
        who: str,
    ) -> None:
        self._store = store
        self._bus = bus
        self._clock = clock
        self._who = who
        self._applier = Applier(store, bus, who)
        now = clock.now()
        self._journal_seq = store.journal.last_seq()
        self.timetable = Timetable(deployment, start, now)
        self.timetable.load(store.jobs.load())
        self._awake: set[Lane] = set()
        self.lanes = {
            name: Lane(place, now, self._awake) for name, place in self.timetable.places.items()
        }
        self._time_due = self._turned_at = now
        self._refreshes: list[tuple[float, str, int]] = []
        self._by_source: defaultdict[str, list[Lane]] = defaultdict(list)
        for lane in self.lanes.values():
            if lane.process.stored_source is not None:
                self._by_source[lane.process.stored_source].append(lane)
        self._late = LateData(store, bus, clock, self.timetable)
        self._started_over: list[Node] = []
        self._hints: defaultdict[str, list[Hint]] = defaultdict(list)
        self.collections: list[CollectionAsked] = []
        self._take_controls(now)
        for unit in store.units.unfinished():
            self._know(unit.process, unit.timeperiod)
        for lane in self.lanes.values():
            lane.tick()

    def turn(self) -> float:
        """Does what is due; returns the seconds until something is due by itself."""
        now = self._clock.now()
        is_behind = self._follow(now)
        if now < self._turned_at:
            self._set_back(now)
        self._turned_at = now
        if now >= self._time_due:
            self._pass_time(now)
        self._refresh()
        batch = self._decide(now)
        if batch or self._hints:
            hints, self._hints = self._hints, defaultdict(list)
            self._take_in(self._applier.apply(batch, hints, now))
        self._late.act(now)
        return 0.0 if self._awake or is_behind else self._idle_for(now)

    def switched_on(self) -> dict[str, ManagedProcess]:
        """The managed processes that are switched on."""
        return {name: lane.process for name, lane in self.lanes.items() if lane.is_on}

    def is_superseded(self, unit: UnitOfWork) -> bool:
        """Whether a unit's job is finished, or was started over since the unit was made.

        A unit of a generation that is not known yet is none: another scheduler made it.
        """
        level = self.lanes[unit.process].level
        ordinal = level.find(unit.timeperiod)
        if ordinal is None:
            return False
        known = level.generation(ordinal)
        return unit.generation < known or (
            unit.generation == known and level.state(ordinal).is_finished
        )

    # What happened

    def _follow(self, now: datetime) -> bool:
        """Takes in what happened; whether sources may have changed more than was read."""
        while len(entries := self._entries()) == PAGE:
            self._take_entries(entries, now)
        self._take_entries(entries, now)
        self._start_over_what_was_missed(now)
        changes = self._late.changes(PAGE)
        for change in changes:
            self._source_event(change)
        return len(changes) == PAGE

    def _entries(self) -> list[JournalEntry]:
        """The next page of what others wrote."""
        newest = self._store.journal.last_seq()
        entries = self._store.journal.since(self._journal_seq, PAGE, besides=self._who)
        # Past the own entries, which are left out, as well: they would be read again each time.
        read = entries[-1].seq if entries else 0
        self._journal_seq = read if len(entries) == PAGE else max(read, newest)
        return entries

    def _take_entries(self, entries: Sequence[JournalEntry], now: datetime) -> None:
        for entry in entries:
            noun, _, event = entry.event.partition(".")
            if noun == "unit":
                self._unit_event(entry, event)
            elif noun == "job":
                self._job_event(entry)
            else:
                self._other_event(entry, now)

    def _unit_event(self, entry: JournalEntry, event: str) -> None:
        lane = self.lanes.get(entry.process)
        if lane is None:
            return
        ordinal = lane.level.find(entry.first)
        if ordinal is None:
            return
        known = lane.units.get(ordinal, [])
        unit = next((unit for unit in known if unit.id == entry.unit), None)
        if unit is None:
            return
        was_running = unit.state is UnitState.IN_PROGRESS
        unit.attempt, unit.reason = entry.attempt, entry.why
        if event != "extended":
            unit.state = UnitState(event)
        if unit.state is UnitState.INVALID and not self.collections:
            self.collections.append(CollectionAsked())  # it knows when, and whether, to try again
        lane.count(ordinal)
        if was_running and unit is not known[-1] and known[-1].state is UnitState.REQUESTED:
            self._hints[lane.process.queue].append(Hint(known[-1].id, known[-1].attempt))
        if unit.state is not UnitState.IN_PROGRESS:
            lane.wake(ordinal)

    def _job_event(self, entry: JournalEntry) -> None:
        lane = self.lanes.get(entry.process)
        if lane is None or not lane.process.qualifier.names(entry.first):
            return
        parse = lane.process.qualifier.parse
        first = max(parse(entry.first), lane.level.start)
        last = min(parse(entry.last), lane.level.end - 1)
        if first <= last:
            state, stale = JobState[entry.after.upper()], entry.event == "job.stale"
            self._set(lane, first, last, state, entry.generation, stale=stale)
            if entry.event == "job.started_over":
                self._started_over += [(lane.place, at) for at in range(first, last + 1)]

    def _start_over_what_was_missed(self, now: datetime) -> None:
        """Starts over what was finished in the very moment when its children were started over.

        Whoever did that passed it through, because it had no result yet.
        """
        started, self._started_over = self._started_over, []
        missed = [
            node
            for node in reprocess_cascade(
                [(place, at) for place, at in started if place.level.state(at).is_active]
            )
            if node[0].level.state(node[1]).is_finished
        ]
        if missed:
            actor = Actor("scheduler", "what it is made from was started over")
            moves = cascade_moves(self._store, missed, Move.START_OVER, actor)
            make_moves(self._store, self._bus, moves, actor, now)

    def _other_event(self, entry: JournalEntry, now: datetime) -> None:
        if entry.event in ("process.on", "process.off", "process.trigger_frequency"):
            self._take_controls(now)
        elif entry.event == "process.triggered" and entry.process in self.lanes:
            self.lanes[entry.process].close(now)
            self.lanes[entry.process].tick()
        elif entry.event in ("gc.requested", "gc.flush"):
            flush = entry.event == "gc.flush"
            self.collections.append(CollectionAsked(flush, entry.process, by_operator=True))
        elif entry.event == "process.started" and not self.collections:
            # Perhaps in the place of one that died with units in its hands.
            self.collections.append(CollectionAsked())
        elif entry.event == "timetable.extended":
            self.timetable.extend(entry.after)
            for lane in self.lanes.values():
                lane.tick()

    def _source_event(self, change: SourceChange) -> None:
        for lane in self._by_source.get(change.collection, ()):
            for ordinal in lane.level.readers_of(change.timeperiod):
                if not lane.level.holds(ordinal):
                    continue
                if lane.level.state(ordinal).is_finished:
                    self._late.suspect(lane.place, ordinal, change.seq)
                else:
                    lane.wake(ordinal)

    def _take_controls(self, now: datetime) -> None:
        self._time_due = now
        controls = self._store.controls.all()
        for name, lane in self.lanes.items():
            lane.control(controls.get(name), now)

    def _set_back(self, now: datetime) -> None:
        """The clock was set back: what was to come at a time comes at that time by the new one.

        What is closed stays closed, so nothing is done twice.
        """
        log.warning("The clock was set back", extra={"event": "scheduler.clock_jump"})
        for lane in self.lanes.values():
            lane.next_tick = lane.trigger.next_after(now)
        self._time_due = now

    def _pass_time(self, now: datetime) -> None:
        """Begins, closes and ticks what the time has come for, and notes when that is next."""
        self._grow(now)
        dues = [Qualifier.HOURLY.start(Qualifier.HOURLY.at(now) + 1)]
        for lane in self.lanes.values():
            if isinstance(lane.trigger, Every):
                for ordinal in lane.close(now):
                    lane.wake(ordinal)
                dues.append(lane.closes_at() + timedelta(milliseconds=1))
            if lane.next_tick <= now:
                lane.close(now)
                lane.tick()
                lane.next_tick = lane.trigger.next_after(now)
            dues.append(lane.next_tick)
        self._time_due = min(dues)

    def _grow(self, now: datetime) -> None:
        """Adds the periods that have begun.

        For somebody with another clock, or before this one was set back, they may have begun
        earlier: what he did to them is in the store, and so is what was written to their source.
        """
        ends = {name: lane.level.end for name, lane in self.lanes.items()}
        self.timetable.grow(now)
        grown = [name for name, lane in self.lanes.items() if lane.level.end > ends[name]]
        for run in self._store.jobs.load(grown) if grown else ():
            self.lanes[run.process].level.load(run)
        for name in grown:
            lane = self.lanes[name]
            lane.level.loaded()
            for ordinal in range(ends[name], lane.level.end):
                self._look_again(lane, ordinal)

    def _refresh(self) -> None:
        """Wakes the periods whose next interim run is due."""
        monotonic = self._clock.monotonic()
        while self._refreshes and self._refreshes[0][0] <= monotonic:
            due, process, ordinal = heapq.heappop(self._refreshes)
            lane = self.lanes[process]
            if lane.refresh_at.get(ordinal) == due:
                del lane.refresh_at[ordinal]
                lane.wake(ordinal)

    # What to do about it

    def _decide(self, now: datetime) -> list[Decided]:
        batch: list[Decided] = []
        share = max(BATCH // max(len(self._awake), 1), LEAST)
        for lane in list(self._awake):
            lane.resume()
            lane.head = lane.level.frontier
            for ordinal, refresh in self._due(lane, share):
                units = self._units(lane, ordinal)
                bounds = self._bounds(lane, ordinal)
                decision = self._consider(lane, ordinal, units, bounds, refresh=refresh)
                if isinstance(decision, Finish) and ordinal == lane.head:
                    lane.head = lane.level.first_unfinished(ordinal + 1, lane.level.end)
                if not isinstance(decision, Wait):
                    high = bounds.high if bounds is not None else 0
                    batch.append(Decided(lane, ordinal, decision, tuple(units), high))
            if not lane.has_work:
                self._awake.discard(lane)
        return batch

    def _due(self, lane: Lane, limit: int) -> Iterator[tuple[int, bool]]:
        """The periods that something happened to, then those that were never looked at."""
        seen: set[int] = set()
        while lane.candidates and len(seen) < limit:
            ordinal = next(iter(lane.candidates))
            refresh = lane.candidates.pop(ordinal)
            if lane.level.state(ordinal).is_active:
                seen.add(ordinal)
                yield ordinal, refresh
        end = lane.scan_end
        lane.cursor = lane.level.first_unfinished(max(lane.cursor, lane.level.frontier), end)
        while lane.cursor < end and lane.free > 0 and len(seen) < limit:
            ordinal = lane.cursor
            if ordinal not in seen:
                if lane.is_strict and ordinal != lane.head:
                    return
                seen.add(ordinal)
                yield ordinal, False
            lane.cursor = lane.level.first_unfinished(ordinal + 1, end)

    def _consider(
        self,
        lane: Lane,
        ordinal: int,
        units: Sequence[UnitView],
        bounds: SourceBounds | None,
        *,
        refresh: bool,
    ) -> Decision:
        decision = decide(
            lane.process.state_machine,
            Situation(
                state=lane.level.state(ordinal),
                is_closed=ordinal < lane.closed,
                is_checkpoint=lane.level.covered(ordinal) is not None,
                readiness=readiness(lane.place, ordinal),
                is_measured=lane.process.stored_source is not None,
                bounds=bounds,
                units=tuple(units),
                may_refresh=self._may_refresh(lane, ordinal, ticked=refresh),
            ),
        )
        if isinstance(decision, Request) and ordinal not in lane.busy:
            if not lane.is_on:
                return Wait("the process is switched off")
            if lane.is_strict and ordinal != lane.head:
                return Wait("its turn comes when the periods before it are finished")
            if lane.free <= 0:
                lane.postpone(ordinal)
                return Wait("all slots are taken")
            lane.busy.add(ordinal)
        return decision

    def _may_refresh(self, lane: Lane, ordinal: int, *, ticked: bool) -> bool:
        if lane.process.stored_source is None:
            return ticked
        return ticked or ordinal not in lane.refresh_at

    def _units(self, lane: Lane, ordinal: int) -> list[UnitView]:
        if ordinal not in lane.units and lane.level.state(ordinal) is not JobState.EMBRYO:
            self._know(lane.process.name, lane.level.timeperiod(ordinal))
        return lane.units.get(ordinal, [])

    def _know(self, process: str, timeperiod: str) -> None:
        lane = self.lanes.get(process)
        if lane is None:
            return
        ordinal = lane.level.find(timeperiod)
        if ordinal is None:
            return
        # The units of an embryo, left by a crash before its job was moved, are found again by
        # their key when they are requested.
        state = lane.level.state(ordinal)
        if state.is_active and state is not JobState.EMBRYO:
            generation = lane.level.generation(ordinal)
            units = self._store.units.of_jobs(process, timeperiod, timeperiod)
            lane.set_units(ordinal, views([u for u in units if u.generation == generation]))

    def _bounds(self, lane: Lane, ordinal: int) -> SourceBounds | None:
        found = source_bounds(self._store, lane.level, ordinal)
        return None if found is None else SourceBounds(found.low, found.high)

    # What came of it

    def _take_in(self, applied: Applied) -> None:
        for lane, ordinal, unit in applied.units:
            self._take_unit(lane, ordinal, unit)
        for lane, ordinal, extend, done in applied.extended:
            if done:
                extend.unit.end_id = extend.end_id
            else:
                self._know(lane.process.name, lane.level.timeperiod(ordinal))
                lane.wake(ordinal)
        for move in applied.moved:
            lane = self.lanes[move.process]
            if move.after.is_finished:
                _tell(move)
            self._set(lane, move.first, move.last, move.after, move.generation)
        if any(move.after.is_finished for move in applied.moved):
            self._bus.notify(JOURNAL)
        for name in {move.process for move in applied.refused}:
            refused = [move for move in applied.refused if move.process == name]
            self._learn(self.lanes[name], refused)

    def _learn(self, lane: Lane, refused: Sequence[JobMove]) -> None:
        """Some jobs are not as was thought: reads how they stand, and looks at them again.

        Jobs that were closed by a clock that ran ahead, and was set back, are met so.
        """
        level = lane.level
        surprising = {at for move in refused for at in range(move.first, move.last + 1)}
        before = bytes(level.states)
        for run in self._store.jobs.load([lane.process.name]):
            level.load(run)
        level.loaded()
        surprising.update(
            level.start + n for n, state in enumerate(level.states) if state != before[n]
        )
        for ordinal in sorted(surprising):
            lane.forget(ordinal)
            self._look_again(lane, ordinal)
            self._wake_neighbours(lane, ordinal, ordinal)

    def _look_again(self, lane: Lane, ordinal: int) -> None:
        """Has a job looked at of which it is not known what happened to it, or to its source."""
        lane.wake(ordinal)
        if lane.level.state(ordinal).is_finished:
            bounds = self._bounds(lane, ordinal)
            if bounds is not None:
                self._late.suspect(lane.place, ordinal, bounds.high)

    def _take_unit(self, lane: Lane, ordinal: int, unit: UnitOfWork) -> None:
        known = [other for other in lane.units.get(ordinal, []) if other.id != unit.id]
        lane.set_units(ordinal, [*known[-1:], view(unit)])
        if lane.process.stored_source is not None:
            due = self._clock.monotonic() + REFRESH
            lane.refresh_at[ordinal] = due
            heapq.heappush(self._refreshes, (due, lane.process.name, ordinal))
        if unit.state.is_finished:
            lane.wake(ordinal)

    def _set(
        self, lane: Lane, first: int, last: int, state: JobState, generation: int, *,
        stale: bool = False,
    ) -> None:  # fmt: skip
        """Takes a change of jobs into memory, and wakes whoever may have waited for it."""
        level = lane.level
        for ordinal in range(first, last + 1) if lane.units else ():
            if state.is_finished or level.generation(ordinal) != generation:
                lane.forget(ordinal)
        level.set(first, last, state, generation, stale=stale)
        if state is JobState.EMBRYO:
            for ordinal in range(first, last + 1):
                lane.wake(ordinal)
        elif state.is_finished:
            self._wake_neighbours(lane, first, last)

    def _wake_neighbours(self, lane: Lane, first: int, last: int) -> None:
        place = lane.place
        if place.parent is not None:
            parent = self.lanes[place.parent.process.name]
            for ordinal in range(place.parent_ordinal(first), place.parent_ordinal(last) + 1):
                parent.wake(ordinal)
        for dependant in place.dependants:
            other = self.lanes[dependant.process.name]
            for ordinal in range(first, last + 1):
                for reader in other.level.readers(ordinal):
                    other.wake(reader)
        if lane.is_strict:
            lane.wake(lane.level.frontier)

    def _idle_for(self, now: datetime) -> float:
        waits = [self._late.due_in(), (self._time_due - now).total_seconds()]
        if self._refreshes:
            waits.append(self._refreshes[0][0] - self._clock.monotonic())
        return max(0.0, min(waits))


def _tell(move: JobMove) -> None:
    """Logs that jobs are finished; how they got there is in the journal."""
    name = move.qualifier.timeperiod
    first, last = name(move.first), name(move.last)
    log.info(
        "%s %s is %s",
        move.process,
        first if first == last else f"{first} to {last}",
        move.after.word,
        extra={
            "event": f"job.{move.after.word}",
            "process_name": move.process,
            "timeperiod": first,
            "unit": move.unit,
        },
    )
