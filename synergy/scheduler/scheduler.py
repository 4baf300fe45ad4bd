"""The scheduler: one loop, for the parts of the work whose leases it holds.

Several schedulers on the same store share the trees, and the collector, by leases (see
`lease_balancer`). Each follows the states of all trees, and decides about those it holds. When the
store fails, all state is dropped and rebuilt from the rows once the store answers again. When the
bus fails, the messages that it did not take are sent again.
"""

from __future__ import annotations

import logging
from contextlib import closing
from datetime import datetime, timedelta

from synergy.errors import MessagingUnavailable, StorageUnavailable
from synergy.model import journal
from synergy.model.journal import JournalEntry
from synergy.names import JOURNAL_TOPIC, SCHEDULER_TOPIC, TIMETABLE_START
from synergy.runtime.leadership import Leadership
from synergy.runtime.service import UNAVAILABLE, Retry, RetryRule, repeat
from synergy.runtime.shared_parts import COLLECTOR, FAMILY, part_of_tree, parts_of
from synergy.runtime.workplace import Daemon, Workplace
from synergy.scheduler.circuit_breaker import CircuitBreaker
from synergy.scheduler.collector import EVERY_SECONDS, Collector
from synergy.scheduler.feed import CollectionRequest
from synergy.scheduler.lease_balancer import LeaseBalancer
from synergy.scheduler.timetable_loop import TimetableLoop
from synergy.timeperiod import Qualifier

HISTORY = timedelta(hours=48)  # how far back the timetable begins at the first start, by default
RULE = RetryRule("scheduler.waits", "scheduler.failed", retried=UNAVAILABLE)

log = logging.getLogger(__name__)


class Scheduler(Daemon):
    """Decides about the trees, and runs the collector, as far as it holds their leases."""

    def __init__(self, workplace: Workplace) -> None:
        super().__init__(workplace)
        self._name = f"scheduler {workplace.owner}"
        leases, clock = workplace.store.leases, workplace.clock
        self._leadership = Leadership(leases, clock, FAMILY, workplace.owner)
        self._breaker = CircuitBreaker(clock)
        self._balancer = LeaseBalancer(
            self._leadership, parts_of(workplace.deployment), self._breaker.leaves_to_others
        )
        self._trees = {part_of_tree(tree): tree for tree in workplace.deployment.trees}
        self._loop: TimetableLoop | None = None
        self._collector: Collector | None = None
        self._collect_at = 0.0
        self._won = 0

    def start(self) -> None:
        """Runs until the process is asked to stop, then releases the leases.

        An unexpected error ends the process: other schedulers take over its parts, and the
        supervisor restarts it after a pause.
        """
        stop = self.workplace.stop
        with closing(self.workplace.bus.listener(SCHEDULER_TOPIC)) as listener:
            stop.interrupts(listener.interrupt)
            repeat(self.run_once, stop, listener.wait, Retry(RULE, stop, self._failed))
            self._resign()

    def _failed(self, error: Exception, _times: int) -> None:
        if isinstance(error, StorageUnavailable):
            self._forget()

    def run_once(self) -> float:
        """Does one turn of the loop; returns the seconds until the next turn is due."""
        is_changed = self._balance()
        loop = self._loop
        if loop is None or is_changed:
            mine = self._balancer.mine
            if not mine:
                self._forget()
                return self._balancer.due_in()
            loop = self._loop = loop or self._build()
            self._hold(loop, mine)
        elif len(loop.held) < self._won:  # a tree was paused, or its lease had lapsed
            self._hold(loop, self._balancer.mine)
        idle, failure = self._turn(loop)
        self._drop_failed(loop)
        is_collected, collects_in = self._collect(loop)
        if failure is not None:
            raise failure
        if is_collected:
            return 0.0  # jobs whose units the collector ended may change
        waits = [idle, collects_in, self._balancer.due_in(), self._breaker.closes_in()]
        return max(0.0, min(waits))

    def _turn(self, loop: TimetableLoop) -> tuple[float, MessagingUnavailable | None]:
        """The seconds until the next turn is due, and the error if messages were not sent."""
        try:
            return loop.turn(), None
        except MessagingUnavailable as error:
            return 0.0, error

    @property
    def leads(self) -> frozenset[str]:
        """The trees that this scheduler decides about."""
        return self._loop.held if self._loop is not None else frozenset()

    # Leases

    def _balance(self) -> bool:
        """Renews, takes and releases leases if that is due; returns whether it was."""
        is_released = self._loop is not None and self._loop.feed.is_released
        if self._balancer.due_in() > 0 and not is_released:
            return False
        if self._loop is not None:
            self._loop.feed.is_released = False
        surplus = self._balancer.tick()
        if surplus:
            self._release(surplus)
        return True

    def _release(self, parts: list[str]) -> None:
        """Drops some parts and releases their leases; other schedulers may wait for them."""
        loop = self._loop
        if loop is not None:
            loop.save_positions()
            for part in parts:
                if part in self._trees:
                    loop.drop(self._trees[part])
        for part in parts:
            self._balancer.give_up(part)
        now = self.workplace.clock.now()
        entries = [journal.scheduler_released(part, self._name, now) for part in parts]
        self._record(entries, parts)
        self.workplace.bus.notify(SCHEDULER_TOPIC)

    def _resign(self) -> None:
        mine = self._balancer.mine
        if mine:
            self._release(mine)
        self._balancer.resign()

    def _hold(self, loop: TimetableLoop, mine: list[str]) -> None:
        """Starts acting for the parts that were won, and stops acting for those that were lost."""
        for tree in loop.held:
            if part_of_tree(tree) not in mine:
                loop.drop(tree)
        new = [
            self._trees[part]
            for part in mine
            if part in self._trees
            and self._trees[part] not in loop.held
            and not self._breaker.is_open(part)
        ]
        loop.hold(new)
        self._drop_failed(loop)
        self._won = sum(part in self._trees for part in mine)
        won = [part_of_tree(tree) for tree in new if tree in loop.held]
        if COLLECTOR not in mine:
            self._collector = None
        elif self._collector is None:
            self._collector = self._new_collector(loop)
            won.append(COLLECTOR)
        if won:
            now, term = self.workplace.clock.now(), self._balancer.term
            entries = [journal.scheduler_leads(part, term(part), self._name, now) for part in won]
            self._record(entries, won)

    def _drop_failed(self, loop: TimetableLoop) -> None:
        """Drops the trees that failed; their states are read again before they are held."""
        failed, self._breaker.failed = self._breaker.failed, set()
        for part in failed:
            if part in self._trees:
                loop.drop(self._trees[part], must_reload=True)

    def _record(self, entries: list[JournalEntry], parts: list[str]) -> None:
        """Writes the entry of each part, all of the same event, to the journal and the log."""
        self.workplace.store.journal.append(entries)
        event = entries[0].event
        log.info("%s: %s", event, ", ".join(parts), extra={"event": event})

    # State

    def _forget(self) -> None:
        self._loop = None
        self._collector = None

    def _build(self) -> TimetableLoop:
        place = self.workplace
        place.store.recover()
        start = place.store.facts.set_default(TIMETABLE_START, self._first_hour(place.clock.now()))
        return TimetableLoop(
            place.store,
            place.bus,
            place.clock,
            place.deployment,
            start,
            self._name,
            self._breaker,
            lambda tree: self._balancer.holds(part_of_tree(tree)),
        )

    def _first_hour(self, now: datetime) -> str:
        if self.workplace.start_timeperiod is not None:
            return self.workplace.start_timeperiod
        hourly = Qualifier.HOURLY
        return hourly.timeperiod(hourly.at(now - HISTORY))

    # The collector

    def _new_collector(self, loop: TimetableLoop) -> Collector:
        self._collect_at = 0.0
        place, known_state = self.workplace, loop.known_state
        return Collector(
            place.store,
            place.bus,
            place.clock,
            known_state.switched_on,
            known_state.is_superseded,
            place.retention,
        )

    def _collect(self, loop: TimetableLoop) -> tuple[bool, float]:
        """Runs the collector if it is due.

        Returns whether it acted or is asked to run again, and the seconds until it is due next.
        """
        collector, clock = self._collector, self.workplace.clock
        asked = loop.feed.collections
        if collector is None:
            asked.clear()  # the scheduler that holds the collector has read them too
        if collector is None or self._breaker.is_open(COLLECTOR):
            return False, EVERY_SECONDS
        has_acted = False
        if asked or clock.monotonic() >= self._collect_at:
            with self._breaker.of(COLLECTOR):
                if self._balancer.holds(COLLECTOR):
                    has_acted = self._run(collector, asked[0] if asked else None)
                del asked[:1]
        elif collector.pruner.sweep_due_in() <= 0:
            with self._breaker.of(COLLECTOR):
                holds = self._balancer.holds(COLLECTOR)
                has_acted = holds and collector.pruner.sweep(clock.now())
        due_in = min(self._collect_at - clock.monotonic(), collector.pruner.sweep_due_in())
        return has_acted or bool(asked), due_in

    def _run(self, collector: Collector, asked: CollectionRequest | None) -> bool:
        flush, only = (asked.flush, asked.process) if asked is not None else (False, "")
        collected = collector.run_once(flush=flush, only=only)
        if collected.counts or (asked is not None and asked.by_operator):
            collector.record(collected, only)
            self.workplace.bus.notify(JOURNAL_TOPIC)
        clock = self.workplace.clock
        wait = EVERY_SECONDS
        if collected.next_at is not None:
            wait = min(wait, (collected.next_at - clock.now()).total_seconds())
        self._collect_at = clock.monotonic() + max(wait, 0.2)
        return bool(collected.counts)
