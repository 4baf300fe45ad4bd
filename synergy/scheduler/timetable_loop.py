"""The timetable's half of the scheduler: listen, decide, apply.

`turn` takes in what happened since the last one (the journal, which tells what workers,
operators, the collector and other schedulers did; the numbers of source writes; the time),
decides about the jobs that this concerns, writes the decisions, and tells how long nothing
will happen by itself. A finished job wakes its parent and its dependants within the same turn.
Nothing is polled: what a turn costs follows what changed.

It acts for the trees that it holds, and asks right before each act whether it still may. A
move that the store refuses means that somebody else was first, and his entry comes with the
journal. What goes wrong with one tree lays down that tree alone.
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
from synergy.model.job import JobMove
from synergy.model.process import Deployment
from synergy.model.unit_of_work import Hint, UnitOfWork
from synergy.names import SCHEDULER_TOPIC
from synergy.scheduler.apply import Applied, Applier, JobDecision
from synergy.scheduler.circuit_breaker import CircuitBreaker
from synergy.scheduler.clock_ticks import ClockTicks
from synergy.scheduler.decider import JobDecider
from synergy.scheduler.feed import Feed
from synergy.scheduler.known_state import KnownState
from synergy.scheduler.late_data import LateData
from synergy.scheduler.process_state import ProcessState
from synergy.storage.protocol import Store
from synergy.timetable.cascade import Node, late_cascade

log = logging.getLogger(__name__)

JOURNAL = "journal"  # the topic that wakes whoever waits for jobs to be finished
_AGAIN = Actor("scheduler", "what it is made from was started over")


class TimetableLoop:
    """The managed processes of one scheduler."""

    def __init__(
        self,
        store: Store,
        bus: Bus,
        clock: Clock,
        deployment: Deployment,
        start: str,
        who: str,
        troubles: CircuitBreaker,
        may: Callable[[str], bool],
    ) -> None:
        """`may` tells whether a tree is its to act for at this moment."""
        self._store = store
        self._bus = bus
        self._clock = clock
        self._may = may
        self._troubles = troubles
        seq = store.journal.last_seq()
        self.memory = KnownState(store, clock, deployment, start, troubles)
        self.feed = Feed(store, self.memory, troubles, who, seq)
        self._passing = ClockTicks(self.memory, clock)
        self._late = LateData(store, bus, clock, self.memory)
        self._decider = JobDecider(store, self.memory, troubles)
        self._applier = Applier(store, bus, who)

    @property
    def held(self) -> frozenset[str]:
        """The trees that it decides about."""
        return frozenset(self.memory.held)

    def hold(self, trees: Collection[str]) -> None:
        """Takes trees up, as they are by now."""
        if trees:
            self.feed.follow(self._clock.now())
            self.memory.hold(trees)
            self._late.hold(self.memory.held.intersection(trees))

    def drop(self, tree: str, *, in_doubt: bool = False) -> None:
        """Lays a tree down; `in_doubt`: something went wrong with what is known of it."""
        self.memory.drop(tree, in_doubt=in_doubt)
        self._late.drop(tree)

    def note(self) -> None:
        """Keeps how far it has come, for whoever goes on."""
        self._late.note(at_once=True)

    def turn(self) -> float:
        """Does what is due; returns the seconds until something is due by itself."""
        now = self._clock.now()
        self.feed.follow(now)
        is_behind = self._late.follow()
        self._passing.turn(now)
        self._look_again()
        self._start_over_what_was_missed(now)
        failure = self._work(self._decider.decide(now), now)
        for tree in self._late.due():
            with self._troubles.of_tree(tree):
                if self._still_held(tree):
                    self._late.act({tree}, now)
        self._late.note()
        if failure is not None:
            raise failure
        is_busy = self.memory.awake or self.memory.unsure or is_behind
        return 0.0 if is_busy else min(self._late.due_in(), self._passing.idle_for(now))

    # Before it decides

    def _look_again(self) -> None:
        """Has jobs looked at of which it is not known what happened to them, or to their source."""
        unsure, self.memory.unsure = self.memory.unsure, []
        for lane, ordinal in unsure:
            with self._troubles.of_tree(lane.place.tree):
                lane.wake(ordinal)
                self._late.look_again(lane, ordinal)

    def _start_over_what_was_missed(self, now: datetime) -> None:
        """Starts over what was finished in the very moment when its children were started over.

        Whoever did that passed it through, because it had no result yet. The same goes for
        what was finished just before it came to cover more.
        """
        memory = self.memory
        started, memory.started_over = memory.started_over, []
        wider, memory.widened = memory.widened, []
        again = [(place, at) for place, at in started if place.level.state(at).is_active]
        missed: defaultdict[str, list[Node]] = defaultdict(list)
        for place, at in late_cascade([*again, *wider]) if again or wider else ():
            if place.tree in memory.held and place.level.state(at).is_finished:
                missed[place.tree].append((place, at))
        for tree, nodes in missed.items():
            with self._troubles.of_tree(tree):
                if self._still_held(tree):
                    moves = start_over_moves(late_cascade(nodes), _AGAIN)
                    make_moves(self._store, self._bus, moves, _AGAIN, now)

    def _still_held(self, tree: str) -> bool:
        """Whether it may act for the tree, right now; if not, lays it down."""
        in_trouble = self._troubles.is_in_trouble(tree)
        if tree in self.memory.held and (in_trouble or not self._may(tree)):
            self.drop(tree, in_doubt=in_trouble)
        return tree in self.memory.held

    # What it decided

    def _work(self, batch: list[JobDecision], now: datetime) -> MessagingUnavailable | None:
        """Writes what was decided for the trees that are still held.

        Returns why the bus did not take all of it: one queue that is stuck stops nothing else.
        """
        trees = {decided.lane.place.tree for decided in batch}
        held = {tree for tree in trees if self._still_held(tree)}
        batch = [decided for decided in batch if decided.lane.place.tree in held]
        if not batch and not self.memory.unsent:
            return None
        hints = self._take_hints()
        try:
            applied = self._applier.apply(batch, hints, now)
            self._take_in(applied)
        except StorageUnavailable:
            raise
        except MessagingUnavailable:
            for tree in self.held:
                self.drop(tree, in_doubt=True)
            raise
        except Exception:  # one of the trees: found out below which
            log.exception("A batch fails", extra={"event": "scheduler.batch_failed"})
            applied = self._apply_apart(batch, held, now)
        self.memory.unsent += applied.unsent
        return applied.failure

    def _apply_apart(self, batch: list[JobDecision], held: set[str], now: datetime) -> Applied:
        """Each tree on its own; returns what the bus did not take."""
        left = Applied()
        for tree in sorted(held):
            with self._troubles.of_tree(tree):
                own = [decided for decided in batch if decided.lane.place.tree == tree]
                applied = self._applier.apply(own, {}, now)
                self._take_in(applied)
                left.unsent += applied.unsent
                left.failure = left.failure or applied.failure
        return left

    def _take_hints(self) -> dict[str, list[Hint]]:
        unsent, self.memory.unsent = self.memory.unsent, []
        hints: defaultdict[str, list[Hint]] = defaultdict(list)
        for queue, hint in unsent:
            hints[queue].append(hint)
        return hints

    def _take_in(self, applied: Applied) -> None:
        for lane, ordinal, unit in applied.units:
            self._take_unit(lane, ordinal, unit)
        for lane, ordinal, extend, done in applied.extended:
            if done:
                extend.unit.end_id = extend.end_id
            else:
                self.memory.know(lane, lane.level.timeperiod(ordinal))
                lane.wake(ordinal)
        finished = [move for move in applied.moved if move.after.is_finished]
        for move in applied.moved:
            lane = self.memory.lanes[move.process]
            self.memory.take(
                lane, move.first, move.last, move.after, move.generation,
                flags=move.flags,
            )  # fmt: skip
        self._tell(finished)
        self.memory.refuse(applied.refused)

    def _take_unit(self, lane: ProcessState, ordinal: int, unit: UnitOfWork) -> None:
        known = [other for other in lane.units.get(ordinal, []) if other.id != unit.id]
        lane.set_units(ordinal, [*known[-1:], unit_view(unit)])
        if lane.process.stored_source is not None:
            self._passing.refresh_later(lane, ordinal)
        if unit.state.is_finished:
            lane.wake(ordinal)

    def _tell(self, finished: list[JobMove]) -> None:
        """Logs that jobs are finished, and wakes who may wait for that elsewhere.

        How they got there is in the journal.
        """
        for move in finished:
            _log(move)
        if not finished:
            return
        self._bus.notify(JOURNAL)
        places = {self.memory.lanes[move.process].place for move in finished}
        trees = {dependant.tree for place in places for dependant in place.dependants}
        if not trees <= self.memory.held:
            self._bus.notify(SCHEDULER_TOPIC)


def _log(move: JobMove) -> None:
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
