"""Brings orders into the store, as rows of the hours in which they were placed."""

import csv
from datetime import datetime
from decimal import Decimal
from pathlib import Path

from synergy.worker import Outcome, Processed, Task, Worker

PROJECT = Path(__file__).resolve().parent.parent


class OrderImport(Worker):
    """Stores the orders of a CSV file. To store an order again changes nothing."""

    def work(self, task: Task) -> Outcome:
        orders = read_orders(PROJECT / str(task.arguments["file"]))
        places = [(number, str(order["timeperiod"])) for number, order in orders.items()]
        documents = self.workplace.store.documents
        changed = documents.update("orders", places, lambda number, _: orders[number])
        return Processed({"orders": len(orders), "changed": changed})


def read_orders(file: Path) -> dict[str, dict[str, object]]:
    """The rows of a file by their order number."""
    with file.open(newline="") as lines:
        return {line["order"]: _row(line) for line in csv.DictReader(lines)}


def _row(line: dict[str, str]) -> dict[str, object]:
    quantity = int(line["quantity"])
    return {
        "timeperiod": f"{datetime.fromisoformat(line['time']):%Y%m%d%H}",
        "item": line["item"],
        "quantity": quantity,
        "revenue": quantity * Decimal(line["price"]),
    }
