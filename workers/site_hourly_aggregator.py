"""Aggregates sessions to hours of sites."""

from __future__ import annotations

from synergy.worker import Nothing, Outcome, Processed, Task, Worker
from workers.statistics import count_sessions


class SiteHourlyAggregator(Worker):
    """Counts the sessions that began in the hour for each site."""

    unique_by = ("domain",)

    def work(self, task: Task) -> Outcome:
        stats = count_sessions(task.source, task.checkpoint)
        if not stats:
            return Nothing()
        rows = [{"domain": domain, "stat": stat} for domain, stat in stats.items()]
        task.sink.replace(task.timeperiod, rows)
        visits = sum(stat["number_of_visits"] for stat in stats.values())
        return Processed({"sessions": visits, "domains": len(rows)})
