"""docs/howto/from-synergy.md: its context is sound, and its worker works."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from synergy.config.loader import check
from synergy.config.older_context import older_lines
from synergy.model.job import JobState
from tests.deployments import DAILY, a_deployment, a_process
from tests.service.scheduler_harness import SchedulerHarness

PAGE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "from-synergy.md"
CODE = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
DAY = "2015051900"


def the_code(word: str) -> str:
    """The only Python block with this word."""
    (found,) = [text for text in CODE if word in text]
    return str(found)


@pytest.fixture
def worker() -> Any:
    names: dict[str, Any] = {}
    exec(the_code("class OrdersDaily(Worker)"), names)
    return names["OrdersDaily"](None)


def test_the_worker_adds_up_the_orders_of_each_shop(worker):
    process = a_process("OrdersDaily", DAILY, source="orders", sink="orders_daily")
    system = SchedulerHarness(a_deployment({"orders": [process]}), start=DAY)
    for number, (shop, hour, total) in enumerate([("a", "01", 5), ("b", "02", 7), ("a", "23", 4)]):
        body = {"shop": shop, "total": total}
        place = (str(number), f"20150519{hour}")
        system.store.documents.update("orders", [place], lambda _key, _old, body=body: body)
    system.schedule()
    runner = system.runner("OrdersDaily", worker.work)
    runner._unique_by = worker.unique_by
    system.work("OrdersDaily", work=worker.work)
    system.schedule()
    found = list(system.store.documents.read("orders_daily", DAY, "2015052000"))
    assert {row["shop"]: row["total"] for row in found} == {"a": 9, "b": 7}
    assert system.state("OrdersDaily", DAY) is JobState.PROCESSED


def test_the_context_is_sound(tmp_path, worker):
    (tmp_path / "settings").mkdir()
    for name in ("base", "dev"):
        (tmp_path / "settings" / f"{name}.py").write_text("")
    (tmp_path / "context.py").write_text(the_code("process_context"))
    found = check(tmp_path, {}, imports=False)
    assert found.mistakes == ()
    assert list(found.deployment.processes) == ["Scheduler", "Agent", "MX", "OrdersDaily"]


def test_the_code_of_before_is_told_from_that_of_today():
    assert older_lines(the_code("from constants import").encode())
    assert older_lines(the_code("process_context").encode()) == {}
