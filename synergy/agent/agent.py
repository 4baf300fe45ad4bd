"""The agent: one loop that decides, if it is this one's turn, and one that delivers.

Any number of agents on any boxes share the work. One holds the lease of the decider (see
`membership`); all of them carry launched runs to where they go. The loops share the store, the
bus and the numbers that are counted, nothing else: what one wants of the other is a row.

Whatever is not there, store or bus, is waited for; what was in memory of the decider is built
anew from the rows then, and what was not told is told again. Asked to stop, an agent gives up
deciding at once, lets what it sends come to its end for a few seconds, writes what came of it,
and gives its leases up.
"""

from __future__ import annotations

import logging
import threading
from contextlib import closing, suppress

from synergy.agent.context import AgentContext
from synergy.agent.deciding.clock_guard import ClockGuard
from synergy.agent.deciding.decider import AgentDecider
from synergy.agent.deciding.launcher import DELIVERIES
from synergy.agent.delivering.deliverer import Deliverer, Sends
from synergy.agent.membership import Membership
from synergy.agent.retry_loop import RetryLoop
from synergy.commands.schedule_sync import sync_declared
from synergy.delivery.sender import Options, Sender
from synergy.errors import LostLease, MessagingUnavailable, StorageUnavailable
from synergy.messaging.protocol import Waiter
from synergy.model.journal import JournalEntry
from synergy.names import AGENT_TOPIC, agent_counters
from synergy.runtime.agent_counters import Meter
from synergy.runtime.workplace import Daemon, Workplace

JOBS = "journal"  # the topic of schedulers that finish jobs
JOBS_EVERY = 0.2  # seconds between two times that this wakes us
LONGEST_SLEEP = 600.0  # seconds
PATIENCE = 3  # turns that may fail in a row before somebody else shall decide
AVOIDED = 60.0  # seconds for which deciding is left to others then
WIND_UP = 5.0  # seconds for what is being sent when the agent shall stop
LAST_WRITES = 3.0  # seconds after that for writing what came of it
COUNTS_EVERY = 10.0  # seconds between two writes of what was counted

log = logging.getLogger(__name__)


class Agent(Daemon):
    """Carries out schedules, and delivers."""

    def __init__(self, workplace: Workplace, sender: Sends | None = None) -> None:
        super().__init__(workplace)
        place = workplace
        self._who = f"agent {place.owner}"
        self._meter = Meter()
        self._members = Membership(place.store.leases, place.clock, place.owner)
        self._kit = AgentContext(
            place.store, place.bus, place.clock, place.deployment, self._meter, self._who
        )
        self._guard = ClockGuard(place.store, place.clock, place.box, self._who)
        self._decider: AgentDecider | None = None
        options = Options(secrets=place.webhook_secrets, allowed_networks=place.webhook_networks)
        self._sender: Sends = sender or Sender(options, place.clock)
        self.deliverer = Deliverer(self._kit, place.owner, self._sender, self._members)
        self._counted_at = place.clock.monotonic()

    @property
    def decides(self) -> bool:
        """Whether this agent is the one that decides."""
        return self._decider is not None and self._members.decides

    def start(self) -> None:
        """Runs until the process shall stop; gives everything up at the end."""
        stop = self.workplace.stop
        listener = self.workplace.bus.listener(AGENT_TOPIC)
        stop.interrupts(listener.interrupt)
        tries = RetryLoop("agent", stop, self._failed)
        delivering = threading.Thread(target=self._deliver, name="delivering", daemon=True)
        jobs = self.workplace.bus.listener(JOBS)
        stop.interrupts(jobs.interrupt)
        listening = threading.Thread(target=self._listen, args=[jobs, listener], daemon=True)
        try:
            while not stop.is_set and tries.of(self._prepare) == 0:
                pass
            delivering.start()
            listening.start()
            while not stop.is_set:
                pause = tries.of(self.run_once)
                if pause > 0:
                    listener.wait(pause)
            self._wind_up(delivering)
            listening.join()
        finally:
            listener.close()

    def _listen(self, jobs: Waiter, waiter: Waiter) -> None:
        """Wakes the deciding loop when jobs are finished, but not all the time."""
        stop = self.workplace.stop
        with closing(jobs):
            while not stop.is_set:
                if jobs.wait(LONGEST_SLEEP):
                    waiter.interrupt()
                    stop.wait(JOBS_EVERY)

    def _failed(self, error: Exception, times: int) -> None:
        """Another agent may be able to decide what this one cannot."""
        if isinstance(error, MessagingUnavailable):
            return
        self.forget()
        if not isinstance(error, StorageUnavailable):
            self._meter.count("error_total", "deciding")
            if times % PATIENCE == 0:
                with suppress(StorageUnavailable):
                    self._members.stop_deciding(AVOIDED)
                    self.workplace.bus.notify(AGENT_TOPIC)

    def _prepare(self) -> float:
        """What messages need; more than 0 once it is there."""
        self.workplace.bus.declare([DELIVERIES])
        return 1.0

    def run_once(self) -> float:
        """One turn of the deciding loop; returns the seconds that nothing is due by itself."""
        if self._members.due_in() <= 0:
            self._tick()
        self._tell_counts()
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
        """Takes up deciding, from what the rows say."""
        place = self.workplace
        place.store.recover()
        now = place.clock.now()
        for done in sync_declared(place.store, place.deployment, place.schedules_update, now):
            log.info("Declared schedule %s", done, extra={"event": "schedule.declared"})
        told = f"term {self._members.term}"
        place.store.journal.append(
            [JournalEntry(now, "agent.decides", "", "", "", "", "", 0, told, self._who)]
        )
        log.info("This agent decides, %s", told, extra={"event": "agent.decides"})
        return AgentDecider(self._kit, self._members, self._guard, self.deliverer)

    def forget(self) -> None:
        """Throws away what is in mind of schedules: rows are the truth."""
        self._decider = None

    def _tell_counts(self) -> None:
        """Adds what was counted since the last time to what the store has."""
        number, now = self._members.number, self.workplace.clock.monotonic()
        if not number or self._meter.is_empty or now - self._counted_at < COUNTS_EVERY:
            return
        self._counted_at = now
        facts = self.workplace.store.facts
        counts = Meter()
        counts.add(facts.get(agent_counters(number)) or "")
        counts.add(self._meter.taken())
        facts.set(agent_counters(number), counts.text())

    # Delivering

    def _deliver(self) -> None:
        """The other loop, in a thread of its own."""
        place = self.workplace
        tries = RetryLoop("delivering", place.stop)
        while not place.stop.is_set:
            tries.of(lambda: self._consume(tries))
        self._sender.close(WIND_UP)
        tries.of(self.deliverer.give_back)

    def _consume(self, tries: RetryLoop) -> None:
        """Turns until the agent shall stop."""
        place = self.workplace
        with closing(place.bus.consumer(DELIVERIES)) as consumer:
            place.stop.interrupts(consumer.interrupt)
            self.deliverer.wake = consumer.interrupt
            while not place.stop.is_set:
                pause = tries.of(lambda: self.deliverer.turn(consumer))
                if pause > 0:
                    consumer.wait(pause)
                self.deliverer.gather()

    def _wind_up(self, delivering: threading.Thread) -> None:
        """Lets another agent decide at once; keeps the claims until the last is written."""
        place = self.workplace
        try:
            self.forget()
            self._members.stop_deciding()
            place.bus.notify(AGENT_TOPIC)
            ends_at = place.clock.monotonic() + WIND_UP + LAST_WRITES
            while delivering.is_alive() and place.clock.monotonic() < ends_at:
                delivering.join(min(1.0, max(0.1, self._members.due_in())))
                if self._members.due_in() <= 0:
                    self._members.renew()
            if not delivering.is_alive():
                self.deliverer.give_back()  # what the last turn gave it
            self._counted_at -= COUNTS_EVERY
            self._tell_counts()
            self._members.resign()
            place.bus.notify(AGENT_TOPIC)
        except (StorageUnavailable, MessagingUnavailable) as error:
            log.warning("Leases are left behind: %s", error, extra={"event": "agent.leaves"})
