"""The timetable's half of the scheduler: listen, decide, apply.

`turn` reads what changed since the last one (the journal, with the moves of workers, operators, the
collector and other schedulers; the numbers of source writes; the time), decides about the jobs
concerned, writes the decisions, and returns how long to wait. A finished job wakes its parent and
its dependants within the same turn. The cost of a turn depends only on what changed.

The loop acts for the trees that it holds, and checks its lease right before each write. A move
that the store refuses means that another process was first; its entry follows in the journal. A
failure in one tree stops that tree only.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Collection
from datetime import datetime

from synergy.clock import Clock
from synergy.commands.jobs import make_moves, start_over_moves
from synergy.errors import MessagingUnavailable, StorageUnavailable
from synergy.lifecycle.situations import unit_view
from synergy.messaging.protocol import Bus
from synergy.model.actor import Actor
from synergy.model.job import JobChange
from synergy.model.journal import job_event
from synergy.model.process import Deployment
from synergy.model.unit_of_work import Hint, UnitOfWork
from synergy.names import JOURNAL_TOPIC, SCHEDULER_TOPIC
from synergy.scheduler.apply import Applied, Applier
from synergy.scheduler.circuit_breaker import CircuitBreaker
from synergy.scheduler.clock_ticks import ClockTicks
from synergy.scheduler.decider import JobDecider
from synergy.scheduler.feed import Feed
from synergy.scheduler.job_decision import JobDecision
from synergy.scheduler.known_state import KnownState
from synergy.scheduler.late_data import LateData
from synergy.scheduler.process_state import ProcessState
from synergy.storage.protocol import Store
from synergy.timetable.cascade import Node, late_cascade

log = logging.getLogger(__name__)

_REPROCESSING = Actor("scheduler", "its inputs were reprocessed")


class TimetableLoop:
    """The managed processes of one scheduler."""

    def __init__(
        self,
        store: Store,
        bus: Bus,
        clock: Clock,
        deployment: Deployment,
        start: str,
        name: str,
        breaker: CircuitBreaker,
        holds_lease: Callable[[str], bool],
    ) -> None:
        """`name` is the scheduler's name in the journal; `holds_lease` takes the name of a tree."""
        self._store = store
        self._bus = bus
        self._clock = clock
        self._holds_lease = holds_lease
        self._breaker = breaker
        seq = store.journal.last_seq()
        self.known_state = KnownState(store, clock, deployment, start, breaker)
        self.feed = Feed(store, self.known_state, breaker, name, seq)
        self._ticks = ClockTicks(self.known_state, clock)
        self._late = LateData(store, bus, clock, self.known_state)
        self._decider = JobDecider(store, self.known_state, breaker)
        self._applier = Applier(store, bus, name)

    @property
    def held(self) -> frozenset[str]:
        """The trees that this loop decides about."""
        return frozenset(self.known_state.held)

    def hold(self, trees: Collection[str]) -> None:
        """Starts deciding about trees."""
        if trees:
            self.feed.follow(self._clock.now())
            self.known_state.hold(trees)
            self._late.hold(self.known_state.held.intersection(trees))

    def drop(self, tree: str, *, must_reload: bool = False) -> None:
        """Stops deciding about a tree; `must_reload`: its rows are read before it is held again."""
        self.known_state.drop(tree, must_reload=must_reload)
        self._late.drop(tree)

    def save_positions(self) -> None:
        """Stores how far source changes were read, for the next holder of the trees."""
        self._late.save_positions(at_once=True)

    def turn(self) -> float:
        """Does what is due; returns the seconds until the next turn is due."""
        now = self._clock.now()
        self.feed.follow(now)
        is_behind = self._late.follow()
        self._ticks.turn(now)
        self._recheck()
        self._start_over_missed(now)
        failure = self._work(self._decider.decide(now), now)
        for tree in self._late.due():
            with self._breaker.of_tree(tree):
                if self._may_act(tree):
                    self._late.act({tree}, now)
        self._late.save_positions()
        if failure is not None:
            raise failure
        is_busy = self.known_state.awake or self.known_state.to_recheck or is_behind
        return 0.0 if is_busy else min(self._late.due_in(), self._ticks.idle_for(now))

    # Before the decisions

    def _recheck(self) -> None:
        """Considers the jobs whose state, or whose source, may have changed unnoticed."""
        to_recheck, self.known_state.to_recheck = self.known_state.to_recheck, []
        for state, ordinal in to_recheck:
            with self._breaker.of_tree(state.place.tree):
                state.wake(ordinal)
                self._late.recheck(state, ordinal)

    def _start_over_missed(self, now: datetime) -> None:
        """Starts over the jobs that finished just as their children were started over.

        The cascade of that start left them out, because they had no result yet. The same applies
        to jobs that finished just before they came to cover more.
        """
        known_state = self.known_state
        started, known_state.started_over = known_state.started_over, []
        wider, known_state.widened = known_state.widened, []
        again = [(place, at) for place, at in started if place.level.state(at).is_active]
        missed: defaultdict[str, list[Node]] = defaultdict(list)
        for place, at in late_cascade([*again, *wider]) if again or wider else ():
            if place.tree in known_state.held and place.level.state(at).is_finished:
                missed[place.tree].append((place, at))
        for tree, nodes in missed.items():
            with self._breaker.of_tree(tree):
                if self._may_act(tree):
                    moves = start_over_moves(late_cascade(nodes), _REPROCESSING)
                    make_moves(self._store, self._bus, moves, _REPROCESSING, now)

    def _may_act(self, tree: str) -> bool:
        """Whether the loop may act for the tree now; if not, drops the tree."""
        has_failed = self._breaker.has_failed(tree)
        if tree in self.known_state.held and (has_failed or not self._holds_lease(tree)):
            self.drop(tree, must_reload=has_failed)
        return tree in self.known_state.held

    # After the decisions

    def _work(self, batch: list[JobDecision], now: datetime) -> MessagingUnavailable | None:
        """Writes the decisions for the trees that are still held.

        Returns the error if the bus did not take all messages; it does not stop the other work.
        """
        trees = {decided.state.place.tree for decided in batch}
        held = {tree for tree in trees if self._may_act(tree)}
        batch = [decided for decided in batch if decided.state.place.tree in held]
        if not batch and not self.known_state.unsent:
            return None
        hints = self._take_hints()
        try:
            applied = self._applier.apply(batch, hints, now)
            self._record(applied)
        except StorageUnavailable:
            raise
        except MessagingUnavailable:
            for tree in self.held:
                self.drop(tree, must_reload=True)
            raise
        except Exception:  # one of the trees fails; applying them one by one shows which
            log.exception("A batch fails", extra={"event": "scheduler.batch_failed"})
            applied = self._apply_by_tree(batch, held, now)
        self.known_state.unsent += applied.unsent
        return applied.failure

    def _apply_by_tree(self, batch: list[JobDecision], held: set[str], now: datetime) -> Applied:
        """Writes each tree's decisions separately; returns the unsent messages and the error."""
        left = Applied()
        for tree in sorted(held):
            with self._breaker.of_tree(tree):
                own = [decided for decided in batch if decided.state.place.tree == tree]
                applied = self._applier.apply(own, {}, now)
                self._record(applied)
                left.unsent += applied.unsent
                left.failure = left.failure or applied.failure
        return left

    def _take_hints(self) -> dict[str, list[Hint]]:
        unsent, self.known_state.unsent = self.known_state.unsent, []
        hints: defaultdict[str, list[Hint]] = defaultdict(list)
        for queue, hint in unsent:
            hints[queue].append(hint)
        return hints

    def _record(self, applied: Applied) -> None:
        for state, ordinal, unit in applied.units:
            self._record_unit(state, ordinal, unit)
        for state, ordinal, extend, done in applied.extended:
            if done:
                extend.unit.end_id = extend.end_id
            else:
                self.known_state.read_units(state, state.level.timeperiod(ordinal))
                state.wake(ordinal)
        finished = [move for move in applied.moved if move.after.is_finished]
        for move in applied.moved:
            self.known_state.apply_change(self.known_state.processes[move.process], move)
        self._announce(finished)
        self.known_state.reread_refused(applied.refused)

    def _record_unit(self, state: ProcessState, ordinal: int, unit: UnitOfWork) -> None:
        known = [other for other in state.units.get(ordinal, []) if other.id != unit.id]
        state.set_units(ordinal, [*known[-1:], unit_view(unit)])
        if state.process.stored_source is not None:
            self._ticks.refresh_later(state, ordinal)
        if unit.state.is_finished:
            state.wake(ordinal)

    def _announce(self, finished: list[JobChange]) -> None:
        """Logs the finished jobs, and wakes the services that may wait for them."""
        for move in finished:
            _log(move)
        if not finished:
            return
        self._bus.notify(JOURNAL_TOPIC)
        places = {self.known_state.processes[move.process].place for move in finished}
        trees = {dependant.tree for place in places for dependant in place.dependants}
        if not trees <= self.known_state.held:
            self._bus.notify(SCHEDULER_TOPIC)


def _log(move: JobChange) -> None:
    name = move.qualifier.timeperiod
    first, last = name(move.first), name(move.last)
    log.info(
        "%s %s is %s",
        move.process,
        first if first == last else f"{first} to {last}",
        move.after.word,
        extra={
            "event": job_event(move.after),
            "process_name": move.process,
            "timeperiod": first,
            "unit": move.unit,
        },
    )
