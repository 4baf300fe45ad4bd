"""What all aggregators of finer rows share: a row of theirs is the sum of the finer ones."""

from __future__ import annotations

from typing import ClassVar

from synergy.worker import Nothing, Outcome, Processed, Task, Worker
from workers.statistics import Row, add_up_by


class AddingUp(Worker):
    """Sums the rows of the source for each owner, the value of the field `owner`."""

    owner: ClassVar[str]

    def whose(self, task: Task, row: Row) -> str:
        """Who owns a row of the source."""
        return str(row[self.owner])

    def work(self, task: Task) -> Outcome:
        stats = add_up_by(lambda row: self.whose(task, row), task.source)
        if not stats:
            return Nothing()
        rows = [{self.owner: owner, "stat": stat} for owner, stat in stats.items()]
        return Processed({f"{self.owner}s": task.sink.replace(task.timeperiod, rows)})


class AddingUpSites(AddingUp):
    """Sums the rows of each site."""

    owner = "domain"
    unique_by = ("domain",)


class AddingUpClients(AddingUp):
    """Sums the rows of each client."""

    owner = "client_id"
    unique_by = ("client_id",)
