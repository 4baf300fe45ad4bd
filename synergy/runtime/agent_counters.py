"""Counters and durations of agents, which outlive the agents' processes.

Each agent counts in memory and at intervals adds its counts to the store, under the number of its
member's lease; the next agent with that number continues from there. Metrics are the sum over all
numbers. The counts since the last write are lost when an agent is killed, so they are for metrics
only; runs and journal are exact.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import defaultdict

import orjson

from synergy.names import agent_counters
from synergy.runtime.fact_text import fact_text, json_object
from synergy.runtime.shared_parts import AGENTS
from synergy.storage.protocol import StoreView

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Upper bounds of the buckets that durations are counted in, seconds."""

COUNTERS = {
    "job_leased_total": "Runs that agents tried to claim.",
    "job_executed_total": "Attempts to send a run.",
    "job_completed_total": "Runs that agents ended.",
    "schedule_leased_total": "Schedules read because they were due, or concerned by an event.",
    "schedule_executed_total": "Decisions about schedules.",
    "schedule_job_started_total": "Runs that schedules made.",
    "error_total": "Unexpected errors, by place.",
}
DURATIONS = {
    "job_leased_duration_seconds": "Claiming a group of runs.",
    "job_executed_duration_seconds": "An attempt to send a run.",
    "job_executed_delay_seconds": (
        "From a run's due time, or the taking of its event, to the beginning of an attempt."
    ),
    "job_completed_duration_seconds": "From the launch of a run to its end.",
    "schedule_leased_duration_seconds": "Reading a group of schedules.",
    "schedule_executed_delay_seconds": "From the due time of a schedule to the decision about it.",
    "schedule_job_started_duration_seconds": "Writing the decisions about a group of schedules.",
}

Series = tuple[str, str]  # the name of a metric, and an outcome


class Meter:
    """The counts of one agent; may be used by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._totals: defaultdict[Series, int] = defaultdict(int)
        self._buckets: dict[Series, list[int]] = {}
        self._sums: defaultdict[Series, float] = defaultdict(float)

    def count(self, name: str, outcome: str, number: int = 1) -> None:
        """Adds to a counter."""
        if name not in COUNTERS:
            raise KeyError(name)
        with self._lock:
            self._totals[name, outcome] += number

    def observe(self, name: str, outcome: str, seconds: float) -> None:
        """Adds one duration."""
        if name not in DURATIONS:
            raise KeyError(name)
        with self._lock:
            self._bucket((name, outcome))[bisect_left(BOUNDS, seconds)] += 1
            self._sums[name, outcome] += max(0.0, seconds)

    def add(self, written: str) -> None:
        """Adds the counts in a text of `text`; does nothing for any other text."""
        totals, durations = _parts(written)
        with self._lock:
            for (name, outcome), number in totals:
                self._totals[name, outcome] += number
            for (name, outcome), (buckets, seconds) in durations:
                own = self._bucket((name, outcome))
                own[:] = [a + b for a, b in zip(own, buckets, strict=True)]
                self._sums[name, outcome] += seconds

    def taken(self) -> str:
        """The same as `text`; counting then starts from zero."""
        with self._lock:
            text = self._text()
            self._totals.clear()
            self._buckets.clear()
            self._sums.clear()
        return text

    def text(self) -> str:
        """All counts, for a fact of the store."""
        with self._lock:
            return self._text()

    @property
    def is_empty(self) -> bool:
        """Whether nothing was counted."""
        return not (self._totals or self._buckets)

    def total(self, name: str, outcome: str | None = None) -> int:
        """The value of a counter, with this outcome or with all."""
        with self._lock:
            return sum(
                number
                for (metric, with_), number in self._totals.items()
                if metric == name and outcome in (None, with_)
            )

    def totals(self) -> dict[Series, int]:
        """The values of all counters."""
        with self._lock:
            return dict(self._totals)

    def durations(self) -> dict[Series, tuple[list[int], float]]:
        """The buckets (one more than `BOUNDS`) and the sum in seconds of all durations."""
        with self._lock:
            return {
                series: (list(own), self._sums[series]) for series, own in self._buckets.items()
            }

    def _text(self) -> str:
        totals: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for (name, outcome), number in self._totals.items():
            totals[name][outcome] = number
        durations: defaultdict[str, dict[str, object]] = defaultdict(dict)
        for (name, outcome), buckets in self._buckets.items():
            durations[name][outcome] = [buckets, self._sums[name, outcome]]
        return orjson.dumps({"totals": totals, "durations": durations}).decode()

    def _bucket(self, series: Series) -> list[int]:
        return self._buckets.setdefault(series, [0] * (len(BOUNDS) + 1))


def collected(store: StoreView) -> Meter:
    """The sum of the counts of all agents."""
    meter = Meter()
    for lease in store.leases.all(AGENTS):  # released leases too: their rows are kept
        number = int(lease.name.removeprefix(AGENTS))
        meter.add(fact_text(store.facts, agent_counters(number)))
    return meter


def run_counts(pending: int, launched: int) -> str:
    """The text of the fact `RUN_COUNTS`."""
    return orjson.dumps({"pending": pending, "launched": launched}).decode()


def _parts(
    written: str,
) -> tuple[list[tuple[Series, int]], list[tuple[Series, tuple[list[int], float]]]]:
    data = json_object(written)
    totals = [
        ((name, outcome), int(number))
        for name, by_outcome in data.get("totals", {}).items()
        for outcome, number in by_outcome.items()
    ]
    durations = [
        ((name, outcome), (list(buckets), float(seconds)))
        for name, by_outcome in data.get("durations", {}).items()
        for outcome, (buckets, seconds) in by_outcome.items()
        if len(buckets) == len(BOUNDS) + 1
    ]
    return totals, durations
