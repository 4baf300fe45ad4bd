"""The state of a scheduler: the states of all jobs, and the work in flight of the trees it holds.

All of it is a cache of rows. The states of every tree are followed, because jobs wait for jobs
of other trees; units and candidates are kept only for the trees that this scheduler holds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime

from synergy.clock import Clock
from synergy.commands.timetable import widened
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
    """The timetable with the state of each process (`lanes`).

    `unsure` are the jobs whose state, or whose source, may have changed unnoticed: they are to be
    considered again. `started_over` are the jobs that were started over, and `widened` those that
    cover more than before, since the jobs made from them were last checked. `unsent` are units, by
    queue, that are not published yet. `time_due` is the next time at which the clock alone changes
    something. `free` are the free-run processes that are switched on: only the collector handles
    their units.
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
        self.awake: dict[ProcessState, None] = {}  # in the order of waking
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
        """Starts deciding about trees: reads the work in flight and wakes what is unfinished."""
        for tree in trees:
            if tree in self._doubtful:
                self._load(tree)
            if tree not in self._doubtful:
                self._hold(tree)
        # The previous holder may have ended before it checked the jobs made from these.
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
        """Stops deciding about a tree; `in_doubt`: its rows are read before it is held again."""
        self.held.discard(tree)
        for lane in self.trees[tree]:
            lane.drop()
        if in_doubt:
            self._doubtful.add(tree)

    def _load(self, tree: str) -> None:
        """Reads all states of a tree; a tree that cannot be read stays in doubt."""
        levels = {lane.process.name: lane.level for lane in self.trees[tree]}
        with self._troubles.of_tree(tree):
            for run in self._store.jobs.load(list(levels)):
                levels[run.process].load(run)
            for level in levels.values():
                level.loaded()
            self._doubtful.discard(tree)

    # Questions

    def switched_on(self) -> dict[str, WorkingProcess]:
        """The managed and free-run processes that are switched on."""
        on = {name: lane.process for name, lane in self.lanes.items() if lane.is_on}
        return {**on, **self.free}

    def is_superseded(self, unit: UnitOfWork) -> bool:
        """Whether a unit's job is finished, or was started over since the unit was made."""
        return is_superseded_in(self.timetable, unit)

    # Events

    def take(
        self, lane: ProcessState, first: int, last: int, state: JobState, generation: int, *,
        flags: int = 0,
    ) -> None:  # fmt: skip
        """Takes over a change of jobs, and wakes the jobs that may have waited for it."""
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
        """Reads the jobs again whose moves the store refused."""
        for name in dict.fromkeys(move.process for move in refused):
            moves = [move for move in refused if move.process == name]
            self.learn(self.lanes[name], {at for m in moves for at in range(m.first, m.last + 1)})

    def learn(self, lane: ProcessState, surprising: set[int]) -> None:
        """Reads the jobs of a process; these, and all that changed, are considered again.

        This also finds the jobs that were closed by a clock that ran ahead and was set back.
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

        By another machine's clock, or before this one was set back, they may have begun earlier:
        their states, and the writes to their source, are read from the store.
        """
        start = self._store.facts.get(TIMETABLE_START)
        if start is not None:  # an extension may have crashed before it reached the journal
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
        """Takes over the operators' settings."""
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
