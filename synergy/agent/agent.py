"""The agent: one loop decides while this agent holds the decider's lease, another delivers runs.

Any number of agents on any boxes share the work. One of them holds the decider's lease (see
`membership`); all of them deliver launched runs. The loops share the store, the bus and the
counters; everything else passes between them as rows.

While the store or the bus is unavailable, the loops wait. After a failure of the store the decider
is rebuilt from the rows; after a failure of the bus unsent messages are sent again. An agent that
is stopped gives up deciding at once, lets its deliveries finish for a few seconds, writes their
outcomes, and releases its leases.
"""

from __future__ import annotations

import logging
from contextlib import closing, suppress

from synergy.agent.context import AgentContext
from synergy.agent.deciding.clock_guard import ClockGuard
from synergy.agent.deciding.decider import AgentDecider
from synergy.agent.delivering.deliverer import Deliverer, Sends
from synergy.agent.delivering.delivery_service import DeliveryService
from synergy.agent.membership import Membership
from synergy.commands.schedule_sync import sync_declared
from synergy.delivery.addresses import AddressRules
from synergy.delivery.late_sender import LateSender
from synergy.delivery.options import Options
from synergy.errors import LostLease, MessagingUnavailable, StorageUnavailable
from synergy.model import journal
from synergy.model.journal_event import JournalEvent
from synergy.names import AGENT_TOPIC, DELIVERIES, JOURNAL_TOPIC, agent_counters
from synergy.runtime.agent_counters import Meter
from synergy.runtime.fact_text import fact_text
from synergy.runtime.service import Retry, RetryRule, repeat
from synergy.runtime.topic_relay import TopicRelay
from synergy.runtime.workplace import Daemon, Workplace

JOBS_WAKE_SECONDS = 0.2  # at least this long between two wake-ups by finished jobs
FAILURES_TO_STEP_DOWN = 3  # after so many failures in a row another agent is to decide
STEP_DOWN_SECONDS = 60.0  # how long this agent then leaves deciding to others
COUNTS_EVERY_SECONDS = 10.0  # the time between two writes of the counters
RULE = RetryRule(waiting="agent.waits", failing="agent.failed")

log = logging.getLogger(__name__)


class Agent(Daemon):
    """Decides about schedules in the main thread, and delivers runs in a service."""

    def __init__(self, workplace: Workplace, sender: Sends | None = None) -> None:
        super().__init__(workplace)
        place = workplace
        self._name = f"agent {place.owner}"
        self._meter = Meter()
        self._members = Membership(place.store.leases, place.clock, place.owner)
        self._context = AgentContext(
            place.store, place.bus, place.clock, place.deployment, self._meter, self._name
        )
        self._guard = ClockGuard(place.store, place.clock, place.box, self._name)
        self._decider: AgentDecider | None = None
        rules = AddressRules(place.webhook_networks, place.webhook_plaintext)
        options = Options(secrets=place.webhook_secrets, rules=rules)
        self._sender: Sends = sender or LateSender(options, place.clock)
        self.deliverer = Deliverer(self._context, place.owner, self._sender, self._members)
        self._counted_at = place.clock.monotonic()

    @property
    def decides(self) -> bool:
        """Whether this agent decides."""
        return self._decider is not None and self._members.decides

    def start(self) -> None:
        """Runs until the process is asked to stop, then releases everything."""
        place, stop = self.workplace, self.workplace.stop
        retry = Retry(RULE, stop, self._failed)
        with closing(place.bus.listener(AGENT_TOPIC)) as listener:
            stop.interrupts(listener.interrupt)
            delivery = DeliveryService(place.bus, place.clock, self.deliverer, self._sender)
            jobs = TopicRelay(
                place.bus, place.clock, JOURNAL_TOPIC, listener.interrupt, JOBS_WAKE_SECONDS
            )
            repeat(lambda: place.bus.declare([DELIVERIES]), stop, stop.wait, retry)
            for service in (delivery, jobs):
                stop.interrupts(service.request_stop)
                service.start()
            repeat(self.run_once, stop, listener.wait, retry)
            self._shut_down(delivery)
            jobs.stop()

    def _failed(self, error: Exception, times: int) -> None:
        """Forgets all state, unless only the bus failed; it is rebuilt in the next turn.

        If unexpected errors recur in a row, another agent is to decide for a while.
        """
        if isinstance(error, MessagingUnavailable):
            return
        self.forget()
        if not isinstance(error, StorageUnavailable):
            self._meter.count("error_total", "deciding")
            if times % FAILURES_TO_STEP_DOWN == 0:
                with suppress(StorageUnavailable):
                    self._members.stop_deciding(STEP_DOWN_SECONDS)
                    self.workplace.bus.notify(AGENT_TOPIC)

    def run_once(self) -> float:
        """Does one turn of the deciding loop; returns the seconds until the next is due."""
        if self._members.due_in() <= 0:
            self._tick()
        self._store_counts()
        if not self._members.decides:
            self.forget()
            return self._members.due_in()
        if self._decider is None:
            self._decider = self._begin()
        try:
            pause = self._decider.turn()
        except LostLease as error:
            log.warning("Nothing was written: %s", error, extra={"event": "agent.overtaken"})
            self.forget()
            self._tick()
            pause = 0.0
        return min(pause, self._members.due_in())

    def _tick(self) -> None:
        was_member = self._members.is_member
        self._members.tick()
        if self._members.is_member and not was_member:
            self.deliverer.wake()

    def _begin(self) -> AgentDecider:
        """A new decider, built from the rows."""
        place = self.workplace
        place.store.recover()
        now = place.clock.now()
        for done in sync_declared(place.store, place.deployment, place.schedules_update, now):
            log.info("Declared schedule %s", done, extra={"event": "schedule.declared"})
        term = self._members.term
        place.store.journal.append([journal.agent_decides(term, self._name, now)])
        event = JournalEvent.AGENT_DECIDES
        log.info("This agent decides, term %d", term, extra={"event": event})
        return AgentDecider(self._context, self._members, self._guard, self.deliverer)

    def forget(self) -> None:
        """Drops all state about schedules; it is rebuilt from the rows."""
        self._decider = None

    def _store_counts(self) -> None:
        """Adds the counts since the last write to the counters in the store."""
        number, now = self._members.number, self.workplace.clock.monotonic()
        if not number or self._meter.is_empty or now - self._counted_at < COUNTS_EVERY_SECONDS:
            return
        self._counted_at = now
        facts = self.workplace.store.facts
        counts = Meter()
        counts.add(fact_text(facts, agent_counters(number)))
        counts.add(self._meter.taken())
        facts.set(agent_counters(number), counts.text())

    def _shut_down(self, delivery: DeliveryService) -> None:
        """Gives up deciding at once, and the membership after the deliveries.

        Deliveries get a limited time to end and to have their outcomes written.
        """
        place = self.workplace
        try:
            self.forget()
            self._members.stop_deciding()
            place.bus.notify(AGENT_TOPIC)
            ends_at = place.clock.monotonic() + delivery.stop_timeout_seconds
            while not delivery.stop(min(1.0, max(0.1, self._members.due_in()))):
                if self._members.due_in() <= 0:
                    self._members.renew()
                if place.clock.monotonic() >= ends_at:
                    break
            else:
                self.deliverer.flush()  # the runs that the last turn launched
            self._counted_at -= COUNTS_EVERY_SECONDS
            self._store_counts()
            self._members.resign()
            place.bus.notify(AGENT_TOPIC)
        except (StorageUnavailable, MessagingUnavailable) as error:
            log.warning("Leases were not released: %s", error, extra={"event": "agent.leaves"})
