"""Rows for a sink: all are stored, or the first invalid one is named."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synergy.errors import InvalidValue
from synergy.storage.collection_rows import LONGEST_KEY, decoded
from synergy.worker.outcome import checked
from synergy.worker.rows import as_documents

DAY = "2026112200"


def bodies(*rows: Any, unique_by: tuple[str, ...] = ("domain",), **options: Any) -> list[Any]:
    found = as_documents(DAY, rows, unique_by, **options)
    return [decoded(document.body) for document in found]  # type: ignore[arg-type]


def keys(*rows: Any, unique_by: tuple[str, ...]) -> list[str]:
    return [document.key for document in as_documents(DAY, rows, unique_by)]


def refusal(*rows: Any, unique_by: tuple[str, ...] = ("domain",), **options: Any) -> str:
    with pytest.raises(InvalidValue) as refused:
        as_documents(DAY, rows, unique_by, **options)
    return str(refused.value)


def test_the_timeperiod_of_a_row_is_overwritten() -> None:
    assert bodies({"domain": "a", "timeperiod": "2026112201"}) == [
        {"domain": "a", "timeperiod": DAY}
    ]
    assert keys({"n": 1}, unique_by=("timeperiod",)) == [DAY]


def test_a_generator_may_reuse_its_mapping_for_the_next_row() -> None:
    def reusing() -> Iterator[dict[str, Any]]:
        row: dict[str, Any] = {"stat": {}}
        for domain in "ab":
            row["domain"] = row["stat"]["of"] = domain
            yield row

    found = as_documents(DAY, reusing(), ("domain",))
    assert [decoded(one.body)["stat"] for one in found] == [{"of": "a"}, {"of": "b"}]  # type: ignore[arg-type]


def test_a_missing_unique_field_is_reported_with_the_row_and_its_fields() -> None:
    message = refusal({"domain": "a", "os": "x"}, {"domain": "b"}, unique_by=("domain", "os"))
    assert message == (
        "row 2 (domain='b') has no field 'os', and rows are unique by domain, os: give it to "
        "every row, or name other fields in unique_by of the worker"
    )
    assert refusal({}).startswith("row 1 has no field 'domain'")


def test_a_row_that_would_replace_another_is_refused() -> None:
    assert refusal({"domain": "a", "n": 1}, {"domain": "b"}, {"domain": "a", "n": 2}) == (
        "row 3 (domain='a') would replace row 1, which has the same domain: give one "
        "row for each, or name more fields in unique_by of the worker"
    )
    assert "would replace row 1" in refusal({"id": 1}, {"id": "1"}, unique_by=("id",))
    assert "the same key" in refusal({}, {}, unique_by=())


def test_a_wrong_value_is_named_by_row_and_field() -> None:
    message = refusal({"domain": "a"}, {"domain": "b", "stat": {"means": [1.0, float("nan")]}})
    assert message == (
        "row 2 (domain='b'): field stat.means[1] is nan: give a number or None, or call replace "
        'with nan="null"'
    )
    assert refusal({"domain": {"a": 1}}).startswith(
        "row 1 (domain={'a': 1}): field domain is a dict: a field of unique_by"
    )
    assert refusal({"domain": float("inf")}).startswith("row 1 (domain=inf): field domain is inf")
    long = refusal({"domain": "x" * 1_000_000, "n": {1}})
    assert len(long) < 300


def test_nan_becomes_null_where_the_sink_allows_it() -> None:
    row = {"domain": "a", "mean": float("nan"), "max": Decimal("Infinity"), "n": 1.5}
    assert bodies(row, nan="null") == [
        {"domain": "a", "mean": None, "max": None, "n": 1.5, "timeperiod": DAY}
    ]
    assert refusal(row, nan="keep") == 'nan=\'keep\': it is "refuse" (the default) or "null"'


@pytest.mark.parametrize("row", ["domain", ["domain"], None, 5])
def test_a_row_must_be_a_mapping(row: object) -> None:
    assert refusal({"domain": "a"}, row).startswith(
        f"row 2 is a{'n' * (row == 5)} {type(row).__name__}: give a map"
    )


def test_unique_by_must_not_be_a_text() -> None:
    assert refusal({"domain": "a"}, unique_by="domain") == (  # type: ignore[arg-type]
        "unique_by is the text 'domain': write ('domain',)"
    )


def test_errors_of_a_generator_are_raised() -> None:
    def failing() -> Iterator[dict[str, str]]:
        yield {"domain": "a"}
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        as_documents(DAY, failing(), ("domain",))


def test_keys_are_texts_of_the_values() -> None:
    for value, key in (
        ("a|b\\", "a|b\\"), (5, "5"), (None, "None"), (True, "True"), (Decimal("1.10"), "1.10"),
        (date(2026, 1, 2), "2026-01-02"), (UUID(int=1), str(UUID(int=1))),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00+00:00"),
        (timedelta(1), "1 day, 0:00:00"),
    ):  # fmt: skip
        assert keys({"k": value}, unique_by=("k",)) == [key]
    assert "the row's k has 65537 characters, more than 65536" in refusal(
        {"k": "x" * (LONGEST_KEY + 1)}, unique_by=("k",)
    )
    assert keys({"k": "x" * LONGEST_KEY}, unique_by=("k",)) == ["x" * LONGEST_KEY]


@given(st.lists(st.tuples(st.text("ab|\\", max_size=3), st.text("ab|\\", max_size=3)), unique=True))
def test_rows_that_differ_in_a_unique_text_are_all_kept(pairs: list[tuple[str, str]]) -> None:
    rows = [{"a": a, "b": b} for a, b in pairs]
    assert len(bodies(*rows, unique_by=("a", "b"))) == len(rows)
    assert len(set(keys(*rows, unique_by=("a", "b")))) == len(rows)


class Whole:
    """A whole number like those of numpy."""

    def __index__(self) -> int:
        return 7


def test_counts_are_whole_numbers_of_any_type() -> None:
    assert checked({"a": 1, "b": Whole()}) == {"a": 1, "b": 7}  # type: ignore[dict-item]
    for counts in ({"a": 1.5}, {"a": 1 << 63}, {"a": None}):
        with pytest.raises(TypeError, match="the count 'a' is not a whole number within 63 bits"):
            checked(counts)  # type: ignore[arg-type]
    for name in (5, "\udc80", "a\0"):
        with pytest.raises(TypeError, match="not plain text"):
            checked({name: 1})  # type: ignore[dict-item]
