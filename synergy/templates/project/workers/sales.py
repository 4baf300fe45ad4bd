"""Adds up orders to hours, and hours to days."""

from collections import defaultdict
from decimal import Decimal

from synergy.worker import Nothing, Outcome, Processed, Task, Worker


class Sales(Worker):
    """What was sold of each item in a period, from the rows of its orders or of its hours."""

    unique_by = ("item",)

    def work(self, task: Task) -> Outcome:
        quantity: defaultdict[str, int] = defaultdict(int)
        revenue: defaultdict[str, Decimal] = defaultdict(Decimal)
        for row in task.source:
            item = str(row["item"])
            quantity[item] += int(str(row["quantity"]))
            revenue[item] += Decimal(str(row["revenue"]))
        if not quantity:
            return Nothing()
        rows = [
            {"item": item, "quantity": quantity[item], "revenue": revenue[item]}
            for item in quantity
        ]
        task.sink.replace(task.timeperiod, rows)
        return Processed({"items": len(rows)})
