"""What a scheduler knows: the states of all jobs, and the work in flight of the trees it holds.

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
from synergy.lifecycle.superseded_units import is_superseded_in, waiting_behind
from synergy.model.job import JobChange, JobState
from synergy.model.process import Deployment, FreerunProcess, WorkingProcess
from synergy.model.switches import is_switched_on
from synergy.model.unit_of_work import Hint, UnitOfWork, UnitState
from synergy.names import TIMETABLE_START
from synergy.scheduler.circuit_breaker import CircuitBreaker
from synergy.scheduler.job_moves import jobs_of
from synergy.scheduler.process_state import ProcessState
from synergy.storage.protocol import Store
from synergy.timetable.cascade import Node
from synergy.timetable.change import Change
from synergy.timetable.timetable import Timetable


class KnownState:
    """The timetable with the state of each process (`processes`).

    `to_recheck` are the jobs whose state, or whose source, may have changed unnoticed.
    `started_over` are the jobs that were started over since the jobs made from them were last
    checked; `widened` are the jobs that cover more since then. `unsent` are the units, with their
    queues, that are not published yet. `time_due` is the next time at which the clock alone changes
    something. `freerun` are the free-run processes that are switched on; the collector handles
    their units.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        deployment: Deployment,
        start: str,
        breaker: CircuitBreaker,
    ) -> None:
        self._store = store
        self._breaker = breaker
        now = clock.now()
        self.timetable = Timetable(deployment, start, now)
        self.awake: dict[ProcessState, None] = {}  # in the order of waking
        self.processes = {
            name: ProcessState(place, now, self.awake)
            for name, place in self.timetable.places.items()
        }
        self.trees: dict[str, list[ProcessState]] = defaultdict(list)
        self.by_source: dict[str, list[ProcessState]] = defaultdict(list)
        for state in self.processes.values():
            self.trees[state.place.tree].append(state)
            if state.process.stored_source is not None:
                self.by_source[state.process.stored_source].append(state)
        self.held: set[str] = set()
        self.time_due = now
        self.to_recheck: list[tuple[ProcessState, int]] = []
        self.started_over: list[Node] = []
        self.widened: list[Node] = []
        self.unsent: list[tuple[str, Hint]] = []
        self.freerun: dict[str, FreerunProcess] = {}
        self._declared_freerun = deployment.freerun()
        self._to_load = set(self.trees)
        for tree in self.trees:
            self._load(tree)
        self.apply_controls(now)

    # Which trees are held

    def hold(self, trees: Collection[str]) -> None:
        """Starts deciding about trees: reads the work in flight and wakes unfinished jobs."""
        for tree in trees:
            if tree in self._to_load:
                self._load(tree)
            if tree not in self._to_load:
                self._hold(tree)
        # The last holder may have ended before it checked the jobs made from started-over jobs.
        for state in self.processes.values():
            with self._breaker.of_tree(state.place.tree):
                self.started_over += [
                    (state.place, at)
                    for at in state.level.generations
                    if state.level.holds(at) and state.level.state(at).is_active
                ]
        units = self._store.units.unfinished()
        behind = waiting_behind(units)
        for unit in units:
            own = self.processes.get(unit.process)
            if own is None or own.place.tree not in trees or not own.is_held:
                continue
            with self._breaker.of_tree(own.place.tree):
                self.read_units(own, unit.timeperiod)
                if _is_unsent(unit) and unit.id not in behind and not self.is_superseded(unit):
                    self.unsent.append((own.process.queue, Hint(unit.id, unit.attempt)))

    def _hold(self, tree: str) -> None:
        with self._breaker.of_tree(tree):
            for state in self.trees[tree]:
                state.hold()
            self.held.add(tree)

    def drop(self, tree: str, *, must_reload: bool = False) -> None:
        """Stops deciding about a tree; `must_reload`: its rows are read before it is held again."""
        self.held.discard(tree)
        for state in self.trees[tree]:
            state.drop()
        if must_reload:
            self._to_load.add(tree)

    def _load(self, tree: str) -> None:
        """Reads all states of a tree; a tree that cannot be read is read again later."""
        levels = {state.process.name: state.level for state in self.trees[tree]}
        with self._breaker.of_tree(tree):
            for span in self._store.jobs.load(list(levels)):
                levels[span.process].load(span)
            for level in levels.values():
                level.loaded()
            self._to_load.discard(tree)

    # Questions

    def switched_on(self) -> dict[str, WorkingProcess]:
        """The managed and free-run processes that are switched on."""
        on = {name: state.process for name, state in self.processes.items() if state.is_on}
        return {**on, **self.freerun}

    def is_superseded(self, unit: UnitOfWork) -> bool:
        """Whether a unit's job is finished, or was started over since the unit was made."""
        return is_superseded_in(self.timetable, unit)

    # Events

    def apply_change(self, state: ProcessState, change: Change | JobChange) -> None:
        """Applies a change of jobs, and wakes the jobs that may have waited for it."""
        level, first, last, after = state.level, change.first, change.last, change.after
        is_over = after.is_finished or after is JobState.EMBRYO
        for ordinal in range(first, last + 1) if state.units else ():
            if is_over or level.generation(ordinal) != change.generation:
                state.forget(ordinal)
        level.set(first, last, after, change.generation, flags=change.flags)
        if after is JobState.FAILED:
            for ordinal in range(first, last + 1) if state.units else ():
                state.cancel_units(ordinal)
        if after in (JobState.EMBRYO, JobState.FAILED):
            for ordinal in range(first, last + 1):
                state.wake(ordinal)
        elif after.is_finished:
            self.wake_neighbours(state, first, last)

    def wake_neighbours(self, state: ProcessState, first: int, last: int) -> None:
        """Wakes the parents and the dependants of jobs."""
        place = state.place
        if place.parent is not None:
            parent = self.processes[place.parent.process.name]
            for ordinal in range(place.parent_ordinal(first), place.parent_ordinal(last) + 1):
                parent.wake(ordinal)
        members = range(first, last + 1)
        if state.process.time_grouping > 1:
            begin, _ = state.level.covered(first) or (first, first)
            members = range(begin, last + 1)
        for dependant in place.dependants:
            other = self.processes[dependant.process.name]
            for ordinal in members if other.is_held else ():
                for reader in other.level.readers(ordinal):
                    other.wake(reader)
        if state.is_strict:
            state.wake(state.level.frontier)

    def reread_refused(self, refused: Sequence[JobChange]) -> None:
        """Reads the jobs again whose moves the store refused."""
        by_process: defaultdict[str, set[int]] = defaultdict(set)
        for process, ordinal in jobs_of(refused):
            by_process[process].add(ordinal)
        for process, ordinals in by_process.items():
            self.reread(self.processes[process], ordinals)

    def reread(self, state: ProcessState, unexpected: set[int]) -> None:
        """Reads the jobs of a process; unexpected and changed ones are considered again.

        This also finds jobs that were closed while a clock was ahead, before it was set back.
        """
        level = state.level
        before = bytes(level.states)
        level.forget_unreadable()
        for span in self._store.jobs.load([state.process.name]):
            level.load(span)
        level.loaded()
        changed = (level.start + n for n, after in enumerate(level.states) if after != before[n])
        for ordinal in sorted(unexpected.union(changed)):
            state.forget(ordinal)
            self.to_recheck.append((state, ordinal))
            self.wake_neighbours(state, ordinal, ordinal)

    def read_units(self, state: ProcessState, timeperiod: str) -> None:
        """Reads the units of a job that is in progress or failed; does nothing for any other."""
        ordinal = state.level.find(timeperiod)
        if ordinal is None:
            return
        # Units of an embryo were left by a crash before the job was moved; they are found by their
        # key when they are requested again.
        job_state = state.level.state(ordinal)
        if job_state.is_active and job_state is not JobState.EMBRYO:
            generation = state.level.generation(ordinal)
            units = self._store.units.of_jobs(state.process.name, timeperiod, timeperiod)
            own = [unit_view(unit) for unit in reversed(units) if unit.generation == generation]
            state.set_units(ordinal, own)

    # Time

    def grow(self, now: datetime) -> None:
        """Adds the periods that have begun.

        They may have begun earlier by another machine's clock, or before this clock was set back:
        their states, and the writes to their source, are read from the store.
        """
        start = self._store.facts.get(TIMETABLE_START)
        if start is not None:  # an extension may have crashed before it reached the journal
            self.extend(start)
        ends = {name: state.level.end for name, state in self.processes.items()}
        self.timetable.grow(now)
        grown = [name for name, state in self.processes.items() if state.level.end > ends[name]]
        for span in self._store.jobs.load(grown) if grown else ():
            self.processes[span.process].level.load(span)
        for name in grown:
            state = self.processes[name]
            state.level.loaded()
            self.to_recheck += [(state, at) for at in range(ends[name], state.level.end)]

    def extend(self, start: str) -> None:
        """Adds the periods from an earlier first hour on."""
        was = self.timetable.start
        if start >= was:
            return
        self.timetable.extend(start)
        self.widened += widened(self.timetable, was)
        for state in self.processes.values():
            state.tick()

    def apply_controls(self, now: datetime) -> None:
        """Reads and applies the operators' settings."""
        self.time_due = now
        controls = self._store.controls.all()
        for name, state in self.processes.items():
            with self._breaker.of_tree(state.place.tree):
                state.apply_control(controls.get(name), now)
        self.freerun = {
            name: process
            for name, process in self._declared_freerun.items()
            if is_switched_on(process, controls.get(name))
        }


def _is_unsent(unit: UnitOfWork) -> bool:
    """Whether the unit may be claimed and no message for it was ever confirmed."""
    is_due = unit.published_at is None and unit.not_before is None
    return is_due and unit.state is UnitState.REQUESTED
