"""What a scheduler knows: the states of all jobs, and the work in flight of those it decides.

All of it is a cache of rows. The states of every tree are followed, because jobs wait for jobs
of other trees; units, periods to look at and the like are only kept for the trees that this
scheduler holds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime

from synergy.clock import Clock
from synergy.commands.jobs import widened
from synergy.lifecycle.situations import unit_view
from synergy.lifecycle.standing import is_superseded_in, waiting_behind
from synergy.model.job import JobMove, JobState
from synergy.model.process import Deployment, FreerunProcess, WorkingProcess
from synergy.model.switches import is_switched_on
from synergy.model.unit_of_work import Hint, UnitOfWork, UnitState
from synergy.names import TIMETABLE_START
from synergy.scheduler.circuit_breaker import CircuitBreaker
from synergy.scheduler.process_state import ProcessState
from synergy.storage.protocol import Store
from synergy.timetable.cascade import Node
from synergy.timetable.timetable import Timetable


class KnownState:
    """The timetable with its lanes.

    `unsure` are the jobs of which it is not known what happened to them, or to their source:
    they are to be looked at again. `started_over` are those that somebody started over, and
    `widened` those that cover more than before, since what was made from them was last checked.
    `unsent` are units, by queue, that nobody was told of yet. `time_due` is when the time that
    passes changes anything. `free` are the free-run processes that are switched on: they have no
    lanes, and of their units only the collector takes notice.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        deployment: Deployment,
        start: str,
        troubles: CircuitBreaker,
    ) -> None:
        self._store = store
        self._troubles = troubles
        now = clock.now()
        self.timetable = Timetable(deployment, start, now)
        self.awake: dict[ProcessState, None] = {}  # in the order in which they woke
        self.lanes = {
            name: ProcessState(place, now, self.awake)
            for name, place in self.timetable.places.items()
        }
        self.trees: dict[str, list[ProcessState]] = defaultdict(list)
        self.by_source: dict[str, list[ProcessState]] = defaultdict(list)
        for lane in self.lanes.values():
            self.trees[lane.place.tree].append(lane)
            if lane.process.stored_source is not None:
                self.by_source[lane.process.stored_source].append(lane)
        self.held: set[str] = set()
        self.time_due = now
        self.unsure: list[tuple[ProcessState, int]] = []
        self.started_over: list[Node] = []
        self.widened: list[Node] = []
        self.unsent: list[tuple[str, Hint]] = []
        self.free: dict[str, FreerunProcess] = {}
        self._freerun = deployment.freerun()
        self._doubtful = set(self.trees)
        for tree in self.trees:
            self._load(tree)
        self.control(now)

    # Which trees are held

    def hold(self, trees: Collection[str]) -> None:
        """Takes trees up: what is in flight is read, everything unfinished is looked at."""
        for tree in trees:
            if tree in self._doubtful:
                self._load(tree)
            if tree not in self._doubtful:
                self._hold(tree)
        # Whoever held them may have ended before he looked what was made from these.
        for lane in self.lanes.values():
            with self._troubles.of_tree(lane.place.tree):
                self.started_over += [
                    (lane.place, at)
                    for at in lane.level.generations
                    if lane.level.holds(at) and lane.level.state(at).is_active
                ]
        units = self._store.units.unfinished()
        behind = waiting_behind(units)
        for unit in units:
            own = self.lanes.get(unit.process)
            if own is None or own.place.tree not in trees or not own.is_held:
                continue
            with self._troubles.of_tree(own.place.tree):
                self.know(own, unit.timeperiod)
                if _is_unsent(unit) and unit.id not in behind and not self.is_superseded(unit):
                    self.unsent.append((own.process.queue, Hint(unit.id, unit.attempt)))

    def _hold(self, tree: str) -> None:
        with self._troubles.of_tree(tree):
            for lane in self.trees[tree]:
                lane.hold()
            self.held.add(tree)

    def drop(self, tree: str, *, in_doubt: bool = False) -> None:
        """Lays a tree down; `in_doubt`: its rows are read before it is taken up again."""
        self.held.discard(tree)
        for lane in self.trees[tree]:
            lane.drop()
        if in_doubt:
            self._doubtful.add(tree)

    def _load(self, tree: str) -> None:
        """Reads all states of a tree; one that cannot be read stays in doubt."""
        levels = {lane.process.name: lane.level for lane in self.trees[tree]}
        with self._troubles.of_tree(tree):
            for run in self._store.jobs.load(list(levels)):
                levels[run.process].load(run)
            for level in levels.values():
                level.loaded()
            self._doubtful.discard(tree)

    # What others ask of it

    def switched_on(self) -> dict[str, WorkingProcess]:
        """The managed and free-run processes that are switched on."""
        on = {name: lane.process for name, lane in self.lanes.items() if lane.is_on}
        return {**on, **self.free}

    def is_superseded(self, unit: UnitOfWork) -> bool:
        """Whether a unit's job is finished, or was started over since the unit was made."""
        return is_superseded_in(self.timetable, unit)

    # What happened

    def take(
        self, lane: ProcessState, first: int, last: int, state: JobState, generation: int, *,
        flags: int = 0,
    ) -> None:  # fmt: skip
        """Takes a change of jobs in, and wakes whoever may have waited for it."""
        level = lane.level
        is_over = state.is_finished or state is JobState.EMBRYO
        for ordinal in range(first, last + 1) if lane.units else ():
            if is_over or level.generation(ordinal) != generation:
                lane.forget(ordinal)
        level.set(first, last, state, generation, flags=flags)
        if state is JobState.FAILED:
            for ordinal in range(first, last + 1) if lane.units else ():
                lane.cancel_units(ordinal)
        if state in (JobState.EMBRYO, JobState.FAILED):
            for ordinal in range(first, last + 1):
                lane.wake(ordinal)
        elif state.is_finished:
            self.wake_neighbours(lane, first, last)

    def wake_neighbours(self, lane: ProcessState, first: int, last: int) -> None:
        """Wakes the parents and the dependants of jobs."""
        place = lane.place
        if place.parent is not None:
            parent = self.lanes[place.parent.process.name]
            for ordinal in range(place.parent_ordinal(first), place.parent_ordinal(last) + 1):
                parent.wake(ordinal)
        members = range(first, last + 1)
        if lane.process.time_grouping > 1:
            begin, _ = lane.level.covered(first) or (first, first)
            members = range(begin, last + 1)
        for dependant in place.dependants:
            other = self.lanes[dependant.process.name]
            for ordinal in members if other.is_held else ():
                for reader in other.level.readers(ordinal):
                    other.wake(reader)
        if lane.is_strict:
            lane.wake(lane.level.frontier)

    def refuse(self, refused: Sequence[JobMove]) -> None:
        """Some jobs are not as was thought: reads how they stand."""
        for name in dict.fromkeys(move.process for move in refused):
            moves = [move for move in refused if move.process == name]
            self.learn(self.lanes[name], {at for m in moves for at in range(m.first, m.last + 1)})

    def learn(self, lane: ProcessState, surprising: set[int]) -> None:
        """Reads how a process stands, and has these jobs, and all that changed, looked at again.

        Jobs that were closed by a clock that ran ahead, and was set back, are met so.
        """
        level = lane.level
        before = bytes(level.states)
        for run in self._store.jobs.load([lane.process.name]):
            level.load(run)
        level.loaded()
        changed = (level.start + n for n, state in enumerate(level.states) if state != before[n])
        for ordinal in sorted(surprising.union(changed)):
            lane.forget(ordinal)
            self.unsure.append((lane, ordinal))
            self.wake_neighbours(lane, ordinal, ordinal)

    def know(self, lane: ProcessState, timeperiod: str) -> None:
        """Reads the units of a job that is under way."""
        ordinal = lane.level.find(timeperiod)
        if ordinal is None:
            return
        # The units of an embryo, left by a crash before its job was moved, are found again by
        # their key when they are requested.
        state = lane.level.state(ordinal)
        if state.is_active and state is not JobState.EMBRYO:
            generation = lane.level.generation(ordinal)
            units = self._store.units.of_jobs(lane.process.name, timeperiod, timeperiod)
            own = [unit_view(unit) for unit in reversed(units) if unit.generation == generation]
            lane.set_units(ordinal, own)

    # Time

    def grow(self, now: datetime) -> None:
        """Adds the periods that have begun.

        For somebody with another clock, or before this one was set back, they may have begun
        earlier: what he did to them is in the store, and so is what was written to their source.
        """
        start = self._store.facts.get(TIMETABLE_START)
        if start is not None:  # whoever extended it may not have lived to tell the journal
            self.extend(start)
        ends = {name: lane.level.end for name, lane in self.lanes.items()}
        self.timetable.grow(now)
        grown = [name for name, lane in self.lanes.items() if lane.level.end > ends[name]]
        for run in self._store.jobs.load(grown) if grown else ():
            self.lanes[run.process].level.load(run)
        for name in grown:
            lane = self.lanes[name]
            lane.level.loaded()
            self.unsure += [(lane, at) for at in range(ends[name], lane.level.end)]

    def extend(self, start: str) -> None:
        """Adds the periods from an earlier first hour on."""
        was = self.timetable.start
        if start >= was:
            return
        self.timetable.extend(start)
        self.widened += widened(self.timetable, was)
        for lane in self.lanes.values():
            lane.tick()

    def control(self, now: datetime) -> None:
        """Takes over what operators set."""
        self.time_due = now
        controls = self._store.controls.all()
        for name, lane in self.lanes.items():
            with self._troubles.of_tree(lane.place.tree):
                lane.control(controls.get(name), now)
        self.free = {
            name: process
            for name, process in self._freerun.items()
            if is_switched_on(process, controls.get(name))
        }


def _is_unsent(unit: UnitOfWork) -> bool:
    """Whether the unit may be taken and no message for it was ever confirmed."""
    is_due = unit.published_at is None and unit.not_before is None
    return is_due and unit.state is UnitState.REQUESTED
