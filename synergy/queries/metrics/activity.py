"""Activity: counts of journal entries, read incrementally."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from synergy.clock import Clock
from synergy.model.process import Deployment
from synergy.queries.metrics.throughput import MINUTES, Minutes, Throughput
from synergy.queries.metrics.work import WorkMetrics
from synergy.queries.single_flight import SingleFlight
from synergy.storage.protocol import StoreView

PAGE = 5000  # entries read at a time
PAGES = 4  # new pages that an update reads at most; the next update continues


class Activity(Collector):
    """Counts journal entries; may be used by several threads.

    Each call first reads the entries since the call before. Metrics count from the first call on;
    the throughput also covers the hour before it, of which at most `PAGES` pages are read.
    """

    def __init__(self, store: StoreView, deployment: Deployment, clock: Clock) -> None:
        self._store = store
        self._managed = deployment.managed()
        self._clock = clock
        self._flight = SingleFlight()
        self._seq: int | None = None
        self._since = clock.now()
        self._minutes = Minutes()
        self._work = WorkMetrics(deployment.processes)

    def throughput(self) -> Throughput:
        """The finished units and jobs of each minute of the last hour."""
        with self._flight.turn():
            self._update()
            return self._minutes.shown(self._clock.now(), self._since)

    def collect(self) -> Iterable[Metric]:
        """The metrics of work, counted since the first call."""
        with self._flight.turn():
            self._update()
            return list(self._work.registry.collect())

    def _update(self) -> None:
        seq = self._begin() if self._seq is None else self._seq
        for _ in range(PAGES):
            entries = self._store.journal.since(seq, PAGE)
            for entry in entries:
                self._minutes.add(entry, self._managed.get(entry.process))
                self._work.add(entry)
            seq = self._seq = entries[-1].seq if entries else seq
            if len(entries) < PAGE:
                return

    def _begin(self) -> int:
        """Counts the last hour by minutes; returns the number of the entry to continue after."""
        seq = self._store.journal.last_seq()
        units = self._store.units.unfinished()
        begin, before = self._clock.now() - timedelta(minutes=MINUTES), seq + 1
        self._minutes = Minutes()
        for _ in range(PAGES):
            entries = self._store.journal.find(None, PAGE, before)
            for entry in entries:
                self._minutes.add(entry, self._managed.get(entry.process))
            if len(entries) < PAGE or entries[-1].at < begin:
                self._since = begin
                break
            before, self._since = entries[-1].seq, entries[-1].at
        self._work.begin(units)
        self._seq = seq
        return seq
