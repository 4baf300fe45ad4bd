"""Metrics of work, from the journal: counts, durations and latencies.

The entries about a unit follow one another; each distance between two of them is a duration:

    requested --dispatch latency--> claimed --duration--> ended --wake-up latency--> job finished

A scheduler that finishes a job requests the units that waited for it in the same turn. Wake-up and
dispatch latency together are therefore the time from the end of a unit to the beginning of the next
one that depends on it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from prometheus_client import CollectorRegistry, Counter, Histogram

from synergy.model.job import FINISHED
from synergy.model.journal import JournalEntry, job_event, unit_event
from synergy.model.journal_event import JournalEvent, Noun
from synergy.model.unit_of_work import UnitOfWork, UnitState
from synergy.queries.metrics.families import NAMESPACE

LATENCIES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
DURATIONS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 14400.0)
REMEMBERED = 100_000  # units for whose next entry the last one is kept
LOST = "lost"  # the outcome of an attempt whose unit was handed out again

_ENDED = frozenset(
    unit_event(state) for state in UnitState if state.is_finished or state is UnitState.INVALID
)
_FINISHED_JOBS = frozenset(job_event(state) for state in FINISHED)


class WorkMetrics:
    """Counts journal entries, to be given in their order; the counts are in `registry`."""

    def __init__(self, processes: Collection[str]) -> None:
        """`processes` are the declared ones: entries of others have an empty process label."""
        self._processes = processes
        self._requested: dict[str, datetime] = {}
        self._claimed: dict[str, datetime] = {}
        self._ended: dict[str, datetime] = {}
        self.registry = CollectorRegistry()
        self._entries = Counter(
            "journal_entries_total", "Entries of the journal, by what happened.",
            ["event", "process"], NAMESPACE, registry=self.registry,
        )  # fmt: skip
        self._duration = Histogram(
            "unit_duration_seconds", "From the claim of a unit to the end of that attempt.",
            ["process", "outcome"], NAMESPACE, buckets=DURATIONS, registry=self.registry,
        )  # fmt: skip
        self._dispatch = Histogram(
            "dispatch_latency_seconds", "From the request of a unit to its claim by a worker.",
            ["process"], NAMESPACE, buckets=LATENCIES, registry=self.registry,
        )  # fmt: skip
        self._wakeup = Histogram(
            "wakeup_latency_seconds", "From the end of a unit to that of the job it finished.",
            ["process"], NAMESPACE, buckets=LATENCIES, registry=self.registry,
        )  # fmt: skip
        self._collected = Counter(
            "collector_actions_total", "What the collector did with units and old rows.",
            ["action"], NAMESPACE, registry=self.registry,
        )  # fmt: skip

    def begin(self, units: Iterable[UnitOfWork]) -> None:
        """Adds units that were under way before the first entry."""
        for unit in units:
            if unit.state is UnitState.IN_PROGRESS and unit.started_at is not None:
                _remember(self._claimed, unit.id, unit.started_at)
            elif unit.state is UnitState.REQUESTED and unit.attempt == 1:
                _remember(self._requested, unit.id, unit.created_at)

    def add(self, entry: JournalEntry) -> None:
        process = entry.process if entry.process in self._processes else ""
        self._entries.labels(entry.event, process).inc()
        if entry.event == JournalEvent.COLLECTION_RAN:
            for action, number in entry.collector_counts.by_action().items():
                self._collected.labels(action).inc(number)
        elif entry.unit is not None and entry.noun == Noun.UNIT:
            self._add_unit(entry, entry.unit, process)
        elif entry.unit is not None and entry.event in _FINISHED_JOBS:
            ended = self._ended.pop(entry.unit, None)
            if ended is not None:
                _observe(self._wakeup.labels(process), ended, entry.at)

    def _add_unit(self, entry: JournalEntry, unit: str, process: str) -> None:
        at = entry.at
        if entry.event == JournalEvent.UNIT_REQUESTED:
            self._end_attempt(unit, at, process, LOST)
            _remember(self._requested, unit, at)
        elif entry.event == JournalEvent.UNIT_IN_PROGRESS:
            requested = self._requested.pop(unit, None)
            if requested is not None:
                _observe(self._dispatch.labels(process), requested, at)
            _remember(self._claimed, unit, at)
        elif entry.event in _ENDED:
            self._end_attempt(unit, at, process, entry.after)
            self._requested.pop(unit, None)
            _remember(self._ended, unit, at)

    def _end_attempt(self, unit: str, at: datetime, process: str, outcome: str) -> None:
        claimed = self._claimed.pop(unit, None)
        if claimed is not None:
            _observe(self._duration.labels(process, outcome), claimed, at)


def _observe(histogram: Histogram, begin: datetime, end: datetime) -> None:
    """Adds a duration; 0 for a negative one, which clocks of two boxes may give."""
    histogram.observe(max(0.0, (end - begin).total_seconds()))


def _remember(known: dict[str, datetime], unit: str, at: datetime) -> None:
    known[unit] = at
    if len(known) > REMEMBERED:
        del known[next(iter(known))]
