"""Base classes of the aggregators: a row of a coarser period is the sum of the finer rows."""

from __future__ import annotations

from typing import ClassVar

from synergy.worker import Nothing, Outcome, Processed, Task, Worker
from workers.statistics import Row, add_up_by


class Aggregator(Worker):
    """Adds up the rows of the source by owner; `owner_field` names the field that holds it."""

    owner_field: ClassVar[str]

    def owner_of(self, task: Task, row: Row) -> str:
        """The owner of a row of the source."""
        return str(row[self.owner_field])

    def work(self, task: Task) -> Outcome:
        stats = add_up_by(lambda row: self.owner_of(task, row), task.source)
        if not stats:
            return Nothing()
        rows = [{self.owner_field: owner, "stat": stat} for owner, stat in stats.items()]
        return Processed({f"{self.owner_field}s": task.sink.replace(task.timeperiod, rows)})


class SiteAggregator(Aggregator):
    """Adds up the rows of each site."""

    owner_field = "domain"
    unique_by = ("domain",)


class ClientAggregator(Aggregator):
    """Adds up the rows of each client."""

    owner_field = "client_id"
    unique_by = ("client_id",)
