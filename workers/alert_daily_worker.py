"""Alerts: days of sites that differ much from the same day a week before.

A site without a row a week before is not compared. A site without a row for the day itself fell
silent, which is an alert. If all sites are silent, the day has no source rows, and finishes without
this worker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from synergy.timeperiod import Qualifier
from synergy.worker import Nothing, Outcome, Processed, Task, Worker
from workers.statistics import Row, Stat

WATCHED = ("number_of_visits", "number_of_pageviews")
TOLERANCE = 20  # per cent; a larger change is an alert
_SILENT: Stat = dict.fromkeys(WATCHED, 0)


class AlertDailyWorker(Worker):
    """Writes a row for each site whose visits or page views changed by more than 20 %."""

    unique_by = ("domain",)

    def work(self, task: Task) -> Outcome:
        today = _stats(task.source)
        start, end = task.unit.start_timeperiod, task.unit.end_timeperiod
        before = _stats(task.source.between(a_week_before(start), a_week_before(end)))
        rows = alerts(today, before)
        if not rows:
            return Nothing()
        return Processed({"alerts": task.sink.replace(task.timeperiod, rows)})


def a_week_before(day: str) -> str:
    """The same day a week before."""
    return Qualifier.DAILY.timeperiod(Qualifier.DAILY.parse(day) - 7)


def alerts(today: Mapping[str, Stat], before: Mapping[str, Stat]) -> list[dict[str, Any]]:
    """A row for each site that changed by more than the tolerance."""
    return [
        {
            "domain": domain,
            "stat": {name: now[name] for name in WATCHED},
            "week_before": {name: then[name] for name in WATCHED},
            "change_percent": {name: change_percent(now[name], then[name]) for name in WATCHED},
        }
        for domain, then in sorted(before.items())
        for now in [today.get(domain, _SILENT)]
        if any(_is_alarming(now[name], then[name]) for name in WATCHED)
    ]


def change_percent(now: int, before: int) -> float | None:
    """The change in per cent, to one decimal; None for a change from 0."""
    if before == 0:
        return None if now else 0.0
    return round((now - before) * 100 / before, 1)


def _is_alarming(now: int, before: int) -> bool:
    return abs(now - before) * 100 > TOLERANCE * before


def _stats(rows: Iterable[Row]) -> dict[str, Stat]:
    return {row["domain"]: row["stat"] for row in rows}
