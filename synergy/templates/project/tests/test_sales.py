"""The workers on rows in memory, and the whole timetable on a clock to turn.

More of this: docs/howto/test-a-worker.md of Synergy.
"""

from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest
from synergy.testing import JobState, Simulation, UnitState, run_worker

from workers import order_import
from workers.sales import Sales

PROJECT = Path(__file__).parent.parent
TEA = {"order": 1, "item": "tea", "quantity": 2, "revenue": Decimal("7.00")}
CAKE = {"order": 2, "item": "cake", "quantity": 1, "revenue": Decimal("2.80")}
ORDERS = """order,time,item,quantity,price
1,${yesterday}T08:12:40,tea,2,3.50
2,${yesterday}T09:15:59,cake,3,2.80
3,${yesterday}T09:58:30,tea,5,3.50
"""


def test_sales_are_added_up_by_item() -> None:
    run = run_worker(Sales, "2026-11-23T09", source=[TEA, CAKE, TEA])
    assert run.state is UnitState.PROCESSED
    assert [(row["item"], row["quantity"], row["revenue"]) for row in run.rows] == [
        ("cake", 1, Decimal("2.80")),
        ("tea", 4, Decimal("14.00")),
    ]


def test_an_hour_without_orders_is_nothing() -> None:
    assert run_worker(Sales, "2026-11-23T09").state is UnitState.NOOP


def test_imported_orders_become_the_sales_of_their_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "orders.csv").write_text(ORDERS)
    monkeypatch.setattr(order_import, "PROJECT", tmp_path)
    now = datetime.fromisoformat("${yesterday}T23:00")
    with Simulation.of_project(PROJECT, start="${yesterday}", now=now) as system:
        system.trigger("OrderImport")
        system.advance(minutes=1)  # hours that were empty are done again after a quiet time
        assert system.state("SalesHourly", "${yesterday}T09") is JobState.PROCESSED
        assert system.state("SalesHourly", "${yesterday}T10") is JobState.NOOP
        system.advance(hours=2)
        assert system.state("SalesDaily", "${yesterday}") is JobState.PROCESSED
        sold = {row["item"]: row["quantity"] for row in system.rows("sales_daily")}
        assert sold == {"tea": 7, "cake": 3}
