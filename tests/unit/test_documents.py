"""Reading rows of collections by range and owner."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from synergy.errors import InvalidValue, NotFound
from synergy.model.process import Deployment, ManagedProcess
from synergy.model.time_range import TimeRange
from synergy.queries.collections import flat, periods_of, periods_within, rows, table
from synergy.timeperiod import Qualifier
from workers.commands.report import reported

DEPLOYMENT = Deployment(
    {
        "Days": ManagedProcess(
            name="Days", classname="x.Y.start", token="x", present_on_boxes=(".*",),
            qualifier=Qualifier.DAILY, source="site_hourly", sink="site_daily",
        )
    },
    {},
)  # fmt: skip


class FakeCollection:
    """A collection of rows by timeperiod."""

    def __init__(self, *found: dict[str, Any]) -> None:
        self._rows = found

    def collections(self) -> dict[str, int]:
        return {"kept": len(self._rows)}

    def read(self, _collection: str, start: str, end: str) -> Iterator[dict[str, Any]]:
        for row in self._rows:
            if start <= row["timeperiod"] and (not end or row["timeperiod"] < end):
                yield row


def periods(collection: FakeCollection, start: str, end: str) -> list[str]:
    found = rows(collection, DEPLOYMENT, "kept", (start, end))  # type: ignore[arg-type]
    return [row["timeperiod"] for row in found]


def at(*timeperiods: str) -> FakeCollection:
    return FakeCollection(*({"timeperiod": timeperiod} for timeperiod in timeperiods))


def test_ranges_are_half_open() -> None:
    days = at("2015051700", "2015051800", "2015051900")
    assert periods(days, "2015051700", "2015051900") == ["2015051700", "2015051800"]


@pytest.mark.parametrize("first", ["2015000000", "2015010000", "2015010100"])
def test_range_bounds_apply_to_rows_of_every_qualifier(first: str) -> None:
    for begin in ("2015000000", "2015010000", "2015010100"):
        assert periods(at(begin), first, "") == [begin]
        assert periods(at(begin), "", first) == []


def test_a_row_belongs_to_a_range_by_the_start_of_its_period() -> None:
    assert periods(at("2015050000"), "2015051700", "") == []
    assert periods(at("2015050000"), "2015050000", "2015051700") == ["2015050000"]


def test_an_empty_range_is_refused() -> None:
    with pytest.raises(InvalidValue, match="is empty"):
        periods(at(), "2015051700", "2015051700")


def test_invalid_timeperiods_are_refused() -> None:
    with pytest.raises(InvalidValue, match="not a timeperiod"):
        periods(at(), "yesterday", "")


def test_an_unknown_collection_is_refused_with_the_known_ones() -> None:
    with pytest.raises(NotFound, match="there are kept, site_daily, site_hourly"):
        rows(at(), DEPLOYMENT, "site_dayly")  # type: ignore[arg-type]


def test_a_declared_collection_may_be_empty() -> None:
    assert list(rows(at(), DEPLOYMENT, "site_daily")) == []  # type: ignore[arg-type]


def test_rows_of_one_owner_are_read_without_internal_fields() -> None:
    collection = FakeCollection(
        {"timeperiod": "2015051700", "domain": "a", "_pieces": {}},
        {"timeperiod": "2015051700", "domain": "b"},
        {"timeperiod": "2015051700", "client_id": "a"},
    )
    found = rows(collection, DEPLOYMENT, "kept")  # type: ignore[arg-type]
    assert list(reported(found, "a")) == [
        {"timeperiod": "2015051700", "domain": "a"},
        {"timeperiod": "2015051700", "client_id": "a"},
    ]


def test_flat_rows_hold_single_values_only() -> None:
    row = {
        "domain": "a",
        "stat": {"number_of_visits": 2, "os": {"Linux": 2}},
        "week_before": {"number_of_visits": 1},
        "timeperiod": "2015051700",
    }
    assert flat(row) == {
        "timeperiod": "2015051700", "domain": "a", "visits": 2, "week_before visits": 1,
    }  # fmt: skip
    assert next(iter(flat(row))) == "timeperiod"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2015-05-17..2015-05-19", ["2015051700", "2015051712", "2015051800"]),
        ("2015-05-17", ["2015051700", "2015051712"]),
        ("2015051700", ["2015051700"]),
        ("2015-05-17T12", ["2015051712"]),
        ("2015050000", ["2015050000", "2015051700", "2015051712", "2015051800"]),
        ("2015", ["2015050000", "2015051700", "2015051712", "2015051800"]),
    ],
)
def test_a_range_is_written_as_in_other_commands(text: str, expected: list[str]) -> None:
    kept = at("2015050000", "2015051700", "2015051712", "2015051800")
    assert periods(kept, *periods_of(text)) == expected


@pytest.mark.parametrize("text", ["..2015", "2015..", "yesterday", "20150517"])
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue):
        periods(at(), *periods_of(text))


def test_a_range_of_time_has_the_hours_that_begin_in_it() -> None:
    begin, end = datetime(2015, 5, 17, 11, 0, 1, tzinfo=UTC), datetime(2015, 5, 17, 13, tzinfo=UTC)
    assert periods_within(TimeRange(begin, end)) == ("2015051712", "2015051713")
    assert periods_within(TimeRange(begin, None)) == ("2015051712", "")


def test_a_table_has_all_columns() -> None:
    assert table([{"a": 1}, {"b": {"c": 2}}]) == (["a", "c"], [[1, None], [None, 2]])
