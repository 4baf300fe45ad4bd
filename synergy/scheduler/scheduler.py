"""The scheduler: one loop, for the parts of the work whose leases it holds.

Several schedulers on the same store share the trees, and the collector, by leases (see
`lease_balancer`). Each follows the states of all trees, and decides about those it holds. When the
store fails, memory is dropped and built anew once it answers again: the rows are the truth. When
the bus fails, messages that it did not take are sent again.
"""

from __future__ import annotations

import logging
from contextlib import closing
from datetime import datetime, timedelta

from synergy.errors import MessagingUnavailable, StorageUnavailable
from synergy.model import journal
from synergy.model.journal import JournalEntry
from synergy.names import SCHEDULER_TOPIC, TIMETABLE_START
from synergy.runtime.leaders import COLLECTOR, FAMILY, part_of_tree, parts_of
from synergy.runtime.leadership import Leadership
from synergy.runtime.service import UNAVAILABLE, Retry, RetryRule, repeat
from synergy.runtime.workplace import Daemon, Workplace
from synergy.scheduler.circuit_breaker import CircuitBreaker
from synergy.scheduler.collector import EVERY, Collector
from synergy.scheduler.feed import CollectionAsked
from synergy.scheduler.lease_balancer import LeaseBalancer
from synergy.scheduler.timetable_loop import JOURNAL, TimetableLoop
from synergy.timeperiod import Qualifier

HISTORY = timedelta(hours=48)  # how far back a first start reaches by default
RULE = RetryRule("scheduler.waits", "scheduler.failed", retried=UNAVAILABLE)

log = logging.getLogger(__name__)


class Scheduler(Daemon):
    """Makes time pass for the timetable."""

    def __init__(self, workplace: Workplace) -> None:
        super().__init__(workplace)
        self._who = f"scheduler {workplace.owner}"
        leases, clock = workplace.store.leases, workplace.clock
        self._leadership = Leadership(leases, clock, FAMILY, workplace.owner)
        self._troubles = CircuitBreaker(clock)
        self._sharing = LeaseBalancer(
            self._leadership, parts_of(workplace.deployment), self._troubles.is_given_up
        )
        self._trees = {part_of_tree(tree): tree for tree in workplace.deployment.trees}
        self._managed: TimetableLoop | None = None
        self._collector: Collector | None = None
        self._collect_at = 0.0
        self._won = 0

    def start(self) -> None:
        """Runs until the process shall stop; gives the leases up at the end.

        An unforeseen failure ends the process: others take its parts over, and the supervisor
        starts it again after a pause.
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
        """One turn of the loop; returns the seconds until something is due by itself."""
        is_changed = self._share()
        managed = self._managed
        if managed is None or is_changed:
            mine = self._sharing.mine
            if not mine:
                self._forget()
                return self._sharing.due_in()
            managed = self._managed = managed or self._build()
            self._hold(managed, mine)
        elif len(managed.held) < self._won:  # one rested, or its lease had lapsed
            self._hold(managed, self._sharing.mine)
        idle, failure = self._turn(managed)
        self._lay_down(managed)
        is_collected, collects_in = self._collect(managed)
        if failure is not None:
            raise failure
        if is_collected:
            return 0.0  # the jobs of units that it gave up change
        waits = [idle, collects_in, self._sharing.due_in(), self._troubles.rest_ends_in()]
        return max(0.0, min(waits))

    def _turn(self, managed: TimetableLoop) -> tuple[float, MessagingUnavailable | None]:
        """Seconds until something is due, and the failure of messages, which stops nothing else."""
        try:
            return managed.turn(), None
        except MessagingUnavailable as error:
            return 0.0, error

    @property
    def leads(self) -> frozenset[str]:
        """The trees that this scheduler decides about."""
        return self._managed.held if self._managed is not None else frozenset()

    # What it holds

    def _share(self) -> bool:
        """Renews, takes and gives up leases, when that is due; whether it was."""
        is_released = self._managed is not None and self._managed.feed.is_released
        if self._sharing.due_in() > 0 and not is_released:
            return False
        if self._managed is not None:
            self._managed.feed.is_released = False
        surplus = self._sharing.tick()
        if surplus:
            self._give_up(surplus)
        return True

    def _give_up(self, parts: list[str]) -> None:
        """Finishes some parts, then releases them; other schedulers may be waiting for them."""
        managed = self._managed
        if managed is not None:
            managed.note()
            for part in parts:
                if part in self._trees:
                    managed.drop(self._trees[part])
        for part in parts:
            self._sharing.give_up(part)
        now = self.workplace.clock.now()
        entries = [journal.scheduler_released(part, self._who, now) for part in parts]
        self._tell(entries, parts)
        self.workplace.bus.notify(SCHEDULER_TOPIC)

    def _resign(self) -> None:
        mine = self._sharing.mine
        if mine:
            self._give_up(mine)
        self._sharing.resign()

    def _hold(self, managed: TimetableLoop, mine: list[str]) -> None:
        """Begins with the parts that were won, ends with those that were lost."""
        for tree in managed.held:
            if part_of_tree(tree) not in mine:
                managed.drop(tree)
        new = [
            self._trees[part]
            for part in mine
            if part in self._trees
            and self._trees[part] not in managed.held
            and not self._troubles.rests(part)
        ]
        managed.hold(new)
        self._lay_down(managed)
        self._won = sum(part in self._trees for part in mine)
        won = [part_of_tree(tree) for tree in new if tree in managed.held]
        if COLLECTOR not in mine:
            self._collector = None
        elif self._collector is None:
            self._collector = self._new_collector(managed)
            won.append(COLLECTOR)
        if won:
            now, term = self.workplace.clock.now(), self._sharing.term
            entries = [journal.scheduler_leads(part, term(part), self._who, now) for part in won]
            self._tell(entries, won)

    def _lay_down(self, managed: TimetableLoop) -> None:
        """Lets the parts that failed rest; their states are read again afterwards."""
        failed, self._troubles.failed = self._troubles.failed, set()
        for part in failed:
            if part in self._trees:
                managed.drop(self._trees[part], in_doubt=True)

    def _tell(self, entries: list[JournalEntry], parts: list[str]) -> None:
        """Writes the entry of each part, all of the same event, to the journal and the log."""
        self.workplace.store.journal.append(entries)
        event = entries[0].event
        log.info("%s: %s", event, ", ".join(parts), extra={"event": event})

    # Memory

    def _forget(self) -> None:
        self._managed = None
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
            self._who,
            self._troubles,
            lambda tree: self._sharing.holds(part_of_tree(tree)),
        )

    def _first_hour(self, now: datetime) -> str:
        if self.workplace.start_timeperiod is not None:
            return self.workplace.start_timeperiod
        hourly = Qualifier.HOURLY
        return hourly.timeperiod(hourly.at(now - HISTORY))

    # The collector

    def _new_collector(self, managed: TimetableLoop) -> Collector:
        self._collect_at = 0.0
        place, memory = self.workplace, managed.memory
        return Collector(
            place.store,
            place.bus,
            place.clock,
            memory.switched_on,
            memory.is_superseded,
            place.retention,
        )

    def _collect(self, managed: TimetableLoop) -> tuple[bool, float]:
        """Runs the collector if it is due; whether it did anything, and when it is due next."""
        collector, clock = self._collector, self.workplace.clock
        asked = managed.feed.collections
        if collector is None:
            asked.clear()  # the scheduler that collects has read them too
        if collector is None or self._troubles.rests(COLLECTOR):
            return False, EVERY
        did = False
        if asked or clock.monotonic() >= self._collect_at:
            with self._troubles.of(COLLECTOR):
                if self._sharing.holds(COLLECTOR):
                    did = self._run(collector, asked[0] if asked else None)
                del asked[:1]
        elif collector.pruner.sweep_due_in() <= 0:
            with self._troubles.of(COLLECTOR):
                did = self._sharing.holds(COLLECTOR) and collector.pruner.sweep(clock.now())
        due_in = min(self._collect_at - clock.monotonic(), collector.pruner.sweep_due_in())
        return did or bool(asked), due_in

    def _run(self, collector: Collector, asked: CollectionAsked | None) -> bool:
        flush, only = (asked.flush, asked.process) if asked is not None else (False, "")
        swept = collector.run_once(flush=flush, only=only)
        if swept.counts or (asked is not None and asked.by_operator):
            collector.note(swept, only)
            self.workplace.bus.notify(JOURNAL)
        clock = self.workplace.clock
        wait = EVERY
        if swept.next_at is not None:
            wait = min(wait, (swept.next_at - clock.now()).total_seconds())
        self._collect_at = clock.monotonic() + max(wait, 0.2)
        return bool(swept.counts)
