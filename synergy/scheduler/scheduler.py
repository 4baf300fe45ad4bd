"""The scheduler: one loop, under a lease.

Whoever holds the lease leads: he keeps the timetable in memory, decides, and runs the
collector. Another scheduler on the same store stands by and takes over when the lease is
free. When the store or the bus fails, memory is thrown away and built anew once they answer
again: rows are the truth.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from synergy.errors import MessagingUnavailable, StorageUnavailable
from synergy.insight.actions import SCHEDULER, TIMETABLE_START
from synergy.model.journal import JournalEntry
from synergy.runtime.leadership import RENEW, Leadership
from synergy.runtime.workplace import Daemon, Workplace
from synergy.scheduler.collector import EVERY, Collector
from synergy.scheduler.managed import Managed
from synergy.timeperiod import Qualifier

LEASE = "scheduler"
HISTORY = timedelta(hours=48)  # how far back a first start reaches by default

log = logging.getLogger(__name__)


class Scheduler(Daemon):
    """Makes time pass for the timetable."""

    def __init__(self, workplace: Workplace) -> None:
        super().__init__(workplace)
        self._who = f"scheduler {workplace.owner}"
        self._leadership = Leadership(
            workplace.store.leases, workplace.clock, LEASE, workplace.owner
        )
        self._managed: Managed | None = None
        self._collector: Collector | None = None
        self._renew_at = 0.0
        self._collect_at = 0.0

    def start(self) -> None:
        """Runs until the process shall stop; gives the lease up at the end."""
        stop = self.workplace.stop
        listener = self.workplace.bus.listener(SCHEDULER)
        stop.interrupts(listener.interrupt)
        failures = 0
        try:
            while not stop.is_set:
                try:
                    pause = self.run_once()
                    failures = 0
                except (StorageUnavailable, MessagingUnavailable) as error:
                    failures += 1
                    if failures == 1:
                        log.warning("Waiting: %s", error, extra={"event": "scheduler.waits"})
                    self._forget()
                    stop.wait(min(0.25 * 2 ** min(failures, 5), 5.0))
                    continue
                if pause > 0:
                    listener.wait(pause)
            self._leadership.resign()
        finally:
            listener.close()

    def run_once(self) -> float:
        """One turn of the loop; returns the seconds that nothing is due by itself."""
        if not self._lead():
            self._forget()
            return RENEW
        if self._managed is None:
            self._managed = self._build()
        idle = self._managed.turn()
        monotonic = self.workplace.clock.monotonic()
        is_due = self._managed.collections or monotonic >= self._collect_at
        if is_due and self._collect(self._managed):
            return 0.0  # jobs of units that it gave up have to be told
        return max(0.0, min(idle, self._renew_at - monotonic, self._collect_at - monotonic))

    @property
    def is_leading(self) -> bool:
        """Whether this scheduler holds the lease and has its memory built."""
        return self._managed is not None and self._leadership.is_held

    def _lead(self) -> bool:
        monotonic = self.workplace.clock.monotonic()
        if monotonic >= self._renew_at or not self._leadership.is_held:
            self._renew_at = monotonic + RENEW
            was_led = self._managed is not None
            if self._leadership.tick() != was_led:
                log.info(
                    "The lease is %s", "lost" if was_led else "held",
                    extra={"event": "scheduler.lease"},
                )  # fmt: skip
        return self._leadership.is_held

    def _forget(self) -> None:
        self._managed = None
        self._collector = None

    def _build(self) -> Managed:
        place = self.workplace
        now = place.clock.now()
        start = place.store.facts.set_default(TIMETABLE_START, self._first_hour(now))
        managed = Managed(
            place.store, place.bus, place.clock, place.deployment, start, self._who
        )  # fmt: skip
        self._collector = Collector(
            place.store, place.bus, place.clock, managed.switched_on, managed.is_superseded
        )
        self._collect_at = 0.0
        entry = JournalEntry(
            now, "scheduler.leads", "", "", "", "", "", 0,
            f"term {self._leadership.epoch}", self._who,
        )  # fmt: skip
        place.store.journal.append([entry])
        return managed

    def _first_hour(self, now: datetime) -> str:
        if self.workplace.start_timeperiod is not None:
            return self.workplace.start_timeperiod
        hourly = Qualifier.HOURLY
        return hourly.timeperiod(hourly.at(now - HISTORY))

    def _collect(self, managed: Managed) -> bool:
        """Runs the collector; whether it did anything, or was asked to run once more."""
        assert self._collector is not None
        asked = managed.collections.pop(0) if managed.collections else None
        flush, only = (asked.flush, asked.process) if asked is not None else (False, "")
        swept = self._collector.run_once(flush=flush, only=only)
        if swept.counts or (asked is not None and asked.by_operator):
            self._collector.note(swept, only)
            self.workplace.bus.notify("journal")
        clock = self.workplace.clock
        wait = EVERY
        if swept.next_at is not None:
            wait = min(wait, (swept.next_at - clock.now()).total_seconds())
        self._collect_at = clock.monotonic() + max(wait, 0.2)
        return bool(swept.counts or managed.collections)
