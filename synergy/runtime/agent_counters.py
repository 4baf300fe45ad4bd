"""Counters and durations of agents, which outlive the processes that counted.

Each agent counts in memory and now and then puts its counts into the store, under the number of
its member's lease; who gets the number next goes on from there. Whoever wants the metrics sums
what all of them have. What was counted since an agent last wrote is lost when it is killed:
metrics are for looking at, runs and journal for knowing.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import defaultdict
from typing import Any

import orjson

from synergy.names import agent_counters
from synergy.runtime.leaders import AGENTS
from synergy.storage.protocol import StoreView

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Upper bounds of the buckets that durations are counted in, seconds."""

COUNTERS = {
    "job_leased_total": "Runs that agents tried to take in hand.",
    "job_executed_total": "Attempts to send a run.",
    "job_completed_total": "Runs that agents brought to an end.",
    "schedule_leased_total": "Schedules that were due, or concerned by an event, and taken up.",
    "schedule_executed_total": "Decisions about schedules.",
    "schedule_job_started_total": "Runs that schedules made.",
    "error_total": "Things that went wrong, by where.",
}
DURATIONS = {
    "job_leased_duration_seconds": "Taking a group of runs in hand.",
    "job_executed_duration_seconds": "An attempt to send a run.",
    "job_executed_delay_seconds": "From when an attempt was due to its beginning.",
    "job_completed_duration_seconds": "From the launch of a run to its end.",
    "schedule_leased_duration_seconds": "Reading a group of schedules.",
    "schedule_executed_delay_seconds": "From when a schedule was due to the decision about it.",
    "schedule_job_started_duration_seconds": "Writing the decisions about a group of schedules.",
}

Series = tuple[str, str]  # the name of a metric, and an outcome


class Meter:
    """What one agent counts; may be used by several threads."""

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
        """Adds what `text` wrote; nothing for what it did not write."""
        totals, durations = _parts(written)
        with self._lock:
            for (name, outcome), number in totals:
                self._totals[name, outcome] += number
            for (name, outcome), (buckets, seconds) in durations:
                own = self._bucket((name, outcome))
                own[:] = [a + b for a, b in zip(own, buckets, strict=True)]
                self._sums[name, outcome] += seconds

    def taken(self) -> str:
        """As `text`; they are counted from zero again."""
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
    """The sum of what all agents wrote."""
    meter = Meter()
    for lease in store.leases.all(AGENTS):  # they stay, whoever holds them
        meter.add(store.facts.get(agent_counters(int(lease.name.removeprefix(AGENTS)))) or "")
    return meter


def standing(pending: int, launched: int) -> str:
    """The text of the fact `RUN_COUNTS`."""
    return orjson.dumps({"pending": pending, "launched": launched}).decode()


def loaded(text: str) -> dict[str, Any]:
    """The object that a fact holds; empty for anything else."""
    try:
        data = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return data if isinstance(data, dict) else {}


def _parts(
    written: str,
) -> tuple[list[tuple[Series, int]], list[tuple[Series, tuple[list[int], float]]]]:
    data = loaded(written)
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
