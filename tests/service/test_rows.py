"""Rows from the worker that writes them to the worker that reads them, over each engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from synergy.model.unit_of_work import UnitState
from synergy.queries import collections
from synergy.storage.mongodb import MongoStore
from synergy.storage.protocol import Store
from synergy.storage.sqlite import SqliteStore
from synergy.worker import Outcome, Processed, Task
from tests.contract.mongomock_engine import mongomock_store
from tests.deployments import DAILY, HOURLY, a_deployment, a_process
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness, close_systems

HOUR, NEXT, DAY = "2015051800", "2015051801", "2015051800"
DEPLOYMENT = a_deployment(
    {
        "t": [
            a_process("Day", DAILY, source="hour", sink="day"),
            a_process("Hour", HOURLY, source="raw", sink="hour"),
        ]
    }
)
ROWS: list[dict[str, Any]] = [
    {
        "domain": "a", "price": Decimal("1.10"),
        "at": datetime(2015, 5, 18, 0, 59, 59, 1, tzinfo=UTC),
        "id": UUID(int=5), "day": date(2015, 5, 18), "took": timedelta(seconds=1), "raw": b"\0\xff",
    },
    {"domain": "b", "n": 1, "flag": True, "x": 1.0, "zero": -0.0, "$a.b": {"$:date": "no date"}},
]  # fmt: skip


@pytest.fixture(params=["sqlite", "mongomock", "mongodb"])
def system(request: pytest.FixtureRequest) -> Iterator[SchedulerHarness]:
    """A deployment in which one hour waits for its worker."""
    store: Any
    match request.param:
        case "sqlite":
            store = SqliteStore.open(":memory:")
        case "mongomock":
            store = mongomock_store()
        case _:
            store = MongoStore.open(request.getfixturevalue("mongodb_url"))
    system = SchedulerHarness(
        DEPLOYMENT, start=HOUR, now=datetime(2015, 5, 18, 1, 30, tzinfo=UTC), store=store
    )
    system.write("raw", HOUR, 1)
    system.schedule()
    yield system
    close_systems()


def attempt(system: SchedulerHarness, rows: Any, **options: Any) -> str:
    """The reason that the hour's attempt ends with; empty if it is processed."""

    def work(task: Task) -> Outcome:
        return Processed({"rows": task.sink.replace(task.timeperiod, rows, **options)})

    system.work("Hour", work=work)
    (unit,) = system.units("Hour", HOUR)
    assert unit.state is (UnitState.INVALID if unit.reason else UnitState.PROCESSED)
    if unit.reason:
        assert list(system.store.documents.read("hour", "", "")) == []
    return unit.reason


def test_a_dependent_worker_reads_what_was_written(system: SchedulerHarness) -> None:
    assert attempt(system, ROWS) == ""
    read: list[dict[str, Any]] = []
    system.clock.advance(3600 * 24)

    def copy(task: Task) -> Outcome:
        read.extend(row for row in task.source if row["timeperiod"] == HOUR)
        return Processed({"rows": task.sink.replace(task.timeperiod, task.source)})

    for _ in range(3):
        system.schedule()
        system.work("Hour")
        system.work("Day", work=copy)
    assert read == [{**row, "timeperiod": HOUR} for row in ROWS]
    assert [type(value) for value in read[0].values()] == [
        type(value) for _, value in sorted({**ROWS[0], "timeperiod": ""}.items())
    ]


def test_unchanged_rows_are_not_written_again(system: SchedulerHarness) -> None:
    assert attempt(system, ROWS) == ""
    before = system.store.documents.bounds("hour", HOUR, NEXT)
    system.reprocess("Hour", (HOUR, HOUR), OPERATOR, system.clock.now())
    system.schedule()
    system.work("Hour", work=lambda task: _replaced(task, ROWS))
    assert system.generation("Hour", HOUR) == 2
    assert system.store.documents.bounds("hour", HOUR, NEXT) == before


def _replaced(task: Task, rows: Any) -> Outcome:
    return Processed({"rows": task.sink.replace(task.timeperiod, rows)})


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (
            {"domain": "b", "stat": {"mean": float("nan")}},
            "InvalidValue: row 2 (domain='b'): field stat.mean is nan: give a number or None, or "
            'call replace with nan="null"',
        ),
        ({"domain": "b", "x": [float("-inf")]}, "row 2 (domain='b'): field x[0] is -inf: give"),
        ({"n": 5}, "InvalidValue: row 2 has no field 'domain', and rows are unique by domain:"),
        ({"domain": "a"}, "row 2 (domain='a') would replace row 1"),
        (
            {"domain": "b", "at": datetime(2015, 5, 18)},  # noqa: DTZ001 - that is the case
            "row 2 (domain='b'): field at is datetime.datetime(2015, 5, 18, 0, 0), a datetime "
            "without a zone: give one with its zone",
        ),
        ({"domain": "b", "n": 1 << 64}, "field n is a whole number beyond 64 bits: give it as"),
        ({"domain": "b", "n": {1: 2}}, "field n has the key 1: keys have to be text"),
        ({"domain": "\ud800"}, "field domain is '\\ud800', which holds half of a character"),
        ("a text", "row 2 is a str: give a mapping of field names to values"),
    ],
)
def test_a_row_that_cannot_be_kept_fails_the_attempt_and_says_why(
    system: SchedulerHarness, row: object, reason: str
) -> None:
    assert reason in attempt(system, [{"domain": "a"}, row])


def test_nan_becomes_null_where_the_sink_allows_it(system: SchedulerHarness) -> None:
    assert attempt(system, [{"domain": "a", "x": float("nan"), "y": [1.5]}], nan="null") == ""
    assert list(system.store.documents.read("hour", "", "")) == [
        {"domain": "a", "x": None, "y": [1.5], "timeperiod": HOUR}
    ]


def test_a_report_shows_values_as_text(system: SchedulerHarness) -> None:
    assert attempt(system, ROWS) == ""
    first, _ = collections.rows(system.store.documents, DEPLOYMENT, "hour")
    assert first == {
        "domain": "a", "at": "2015-05-18T00:59:59.000001+00:00", "price": "1.10",
        "id": str(UUID(int=5)), "day": "2015-05-18", "took": "0:00:01", "raw": "AP8=",
        "timeperiod": HOUR,
    }  # fmt: skip
    assert collections.flat(first) == first


def test_a_copy_of_the_store_gives_the_same_rows(system: SchedulerHarness) -> None:
    assert attempt(system, ROWS) == ""
    here: Store = system.store
    with closing(SqliteStore.open(":memory:")) as there:
        for kind in ("marks", "documents"):
            start = {"documents": ("", "", ""), "marks": ("", "")}[kind]
            there.transfer.write(kind, list(here.transfer.read(kind, start)))
        assert list(there.documents.read("hour", "", "")) == list(
            here.documents.read("hour", "", "")
        )
