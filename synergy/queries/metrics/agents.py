"""What agents counted, and how many schedules, runs and dead messages there are."""

from __future__ import annotations

from collections.abc import Iterator

from synergy.names import RUN_COUNTS
from synergy.queries.metrics.exposition import gauge, heading, histogram, sample
from synergy.runtime.agent_counters import BOUNDS, COUNTERS, DURATIONS, collected, loaded
from synergy.storage.protocol import StoreView

GAUGES = {
    "schedules": "Schedules that there are.",
    "runs_unfinished": "Runs that are pending or launched.",
    "dead_messages": "Messages in quarantine; at most 1,000 are counted.",
}


def lines(store: StoreView) -> Iterator[str]:
    """All metrics of agents in Prometheus' text form."""
    yield from _counted(store)
    yield from _gauges(store)


def _counted(store: StoreView) -> Iterator[str]:
    meter = collected(store)
    totals, durations = sorted(meter.totals().items()), sorted(meter.durations().items())
    for name, meaning in COUNTERS.items():
        yield from heading(name, meaning, "counter")
        for (metric, outcome), number in totals:
            if metric == name:
                yield sample(name, {"outcome": outcome}, number)
    for name, meaning in DURATIONS.items():
        yield from heading(name, meaning, "histogram")
        for (metric, outcome), (buckets, seconds) in durations:
            if metric == name:
                yield from histogram(name, {"outcome": outcome}, BOUNDS, buckets, seconds)


def _gauges(store: StoreView) -> Iterator[str]:
    states = loaded(store.facts.get(RUN_COUNTS) or "")
    dead = len(store.messages.buried(1000))
    yield from gauge("schedules", GAUGES["schedules"], [({}, store.schedules.count())])
    yield from gauge(
        "runs_unfinished",
        GAUGES["runs_unfinished"],
        (({"state": state}, number) for state, number in states.items()),
    )
    yield from gauge("dead_messages", GAUGES["dead_messages"], [({}, dead)])
