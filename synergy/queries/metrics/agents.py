"""Metrics of agents, and the numbers of schedules, runs and dead messages."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from synergy.names import RUN_COUNTS
from synergy.queries.metrics.families import cumulative, full_name, gauge
from synergy.runtime.agent_counters import BOUNDS, COUNTERS, DURATIONS, collected
from synergy.runtime.fact_text import fact_object
from synergy.storage.protocol import QuarantineContents, StoreView


class AgentMetrics(Collector):
    """The counters of all agents, from the store, and the numbers of schedules and runs."""

    def __init__(self, store: StoreView) -> None:
        self._store = store

    def collect(self) -> Iterator[Metric]:
        yield from _counted(self._store)
        yield from _current(self._store)


def _counted(store: StoreView) -> Iterator[Metric]:
    meter = collected(store)
    totals, durations = sorted(meter.totals().items()), sorted(meter.durations().items())
    for name, description in COUNTERS.items():
        counter = CounterMetricFamily(full_name(name), description, labels=["outcome"])
        for (metric, outcome), number in totals:
            if metric == name:
                counter.add_metric([outcome], number)
        yield counter
    for name, description in DURATIONS.items():
        histogram = HistogramMetricFamily(full_name(name), description, labels=["outcome"])
        for (metric, outcome), (buckets, seconds) in durations:
            if metric == name:
                histogram.add_metric([outcome], list(cumulative(BOUNDS, buckets)), seconds)
        yield histogram


def _current(store: StoreView) -> Iterator[Metric]:
    states = fact_object(store.facts, RUN_COUNTS)
    yield gauge("schedules", "Schedules that there are.", [({}, store.schedules.count())])
    yield gauge(
        "runs_unfinished",
        "Runs that are pending or launched.",
        (({"state": state}, number) for state, number in states.items()),
    )
    yield from _quarantine(store.messages.quarantine())


def _quarantine(held: QuarantineContents) -> Iterator[Metric]:
    yield gauge("dead_messages", "Messages in quarantine.", [({}, held.messages)])
    yield gauge(
        "dead_messages_bytes",
        "Bytes of the messages in quarantine, and of the reasons.",
        [({}, held.bytes)],
    )
    dropped = CounterMetricFamily(
        full_name("dead_messages_dropped_total"),
        "Messages that were dropped from quarantine because it was full.",
    )
    dropped.add_metric([], held.dropped)
    yield dropped
