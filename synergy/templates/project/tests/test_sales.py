"""The workers, without a store."""

from decimal import Decimal
from pathlib import Path

from workers.order_import import read_orders

FILE = """\
order,time,item,quantity,price
1,2026-11-23T08:59:59,tea,2,3.50
2,2026-11-23T09:00:00,cake,1,2.80
1,2026-11-23T08:59:59,tea,3,3.50
"""


def test_an_order_belongs_to_its_hour_and_its_last_line_counts(tmp_path: Path) -> None:
    file = tmp_path / "orders.csv"
    file.write_text(FILE)
    orders = read_orders(file)
    assert [order["timeperiod"] for order in orders.values()] == ["2026112308", "2026112309"]
    assert orders["1"]["revenue"] == Decimal("10.50")
