"""Documents come back as they were stored, and updates merge them."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import orjson
import pytest

from synergy.errors import InvalidValue
from synergy.storage.mongodb import collection_rows as mongodb_rows
from synergy.storage.protocol import Store
from synergy.storage.sqlite import SqliteStore
from tests.contract.documents import SESSIONS, put, replace_hour
from tests.factories import HOUR, NEXT_HOUR, TYPED


def test_documents_are_read_by_timeperiod_then_key_within_a_half_open_range(store: Store) -> None:
    put(store, ("b", NEXT_HOUR), ("b", HOUR), ("a", NEXT_HOUR), ("c", "2026112112"))
    read = store.documents.read
    assert [body["key"] for body in read(SESSIONS, HOUR, "2026112112")] == ["b", "a", "b"]
    assert [body["key"] for body in read(SESSIONS, NEXT_HOUR, "")] == ["a", "b", "c"]
    assert list(read(SESSIONS, NEXT_HOUR, NEXT_HOUR)) == []
    assert list(read("unknown", "", "")) == []


def test_a_body_comes_back_as_it_was(store: Store) -> None:
    body = {"text": "Zürich 東京 \U0001f600", "n": -(2**53), "x": 0.1, "deep": [{"a": None}, True]}
    store.documents.update(SESSIONS, [("k", HOUR)], lambda _key, _present: body)
    assert list(store.documents.read(SESSIONS, "", "")) == [body]


ODD = {
    "$": {"$": 1}, "$set": {"a": {"$gt": None}}, "a.b": {"": [{}]}, "nul \0": "nul \0", "_id": 5,
    "body": 1, "key": 2, "version": 3, "mark": {"$:date": "x"}, "$date": {"$date": "2026-11-22"},
    "deep": {"$:": {"$:": {"$:decimal": Decimal("0.10")}}},
}  # fmt: skip


@pytest.mark.parametrize("body", [TYPED, ODD, {"deep": [TYPED, {"odd": ODD}]}])
def test_types_and_names_come_back_as_they_were(store: Store, body: dict[str, Any]) -> None:
    replace_hour(store, 1, ("k", body))
    store.documents.update("merged", [("k", HOUR)], lambda _key, _present: body)
    seen: list[Mapping[str, object] | None] = []

    def same(_key: str, present: Mapping[str, object] | None) -> Mapping[str, object]:
        seen.append(present)
        return present or {}

    assert store.documents.update("merged", [("k", HOUR)], same) == 0
    for read in (*store.documents.read(SESSIONS, "", ""), *store.documents.read("merged", "", "")):
        assert repr(sorted(read.items())) == repr(sorted(_sorted(body).items()))
    assert seen == [body]


def _sorted(value: Any) -> Any:
    """The value with the names of all mappings sorted, as stores return them."""
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("key", ["", "nul \0", "a|b", "$a.b", "x" * (64 << 10), "\n~\x7f東"])
def test_any_text_can_be_a_key(store: Store, key: str) -> None:
    replace_hour(store, 1, (key, {"n": 1}), ("other", {"n": 2}))
    store.documents.update("merged", [(key, HOUR)], lambda *_: {"n": 3})
    for start in ("", HOUR):
        rows = store.documents.read(SESSIONS, start, NEXT_HOUR)
        assert sorted(str(row["n"]) for row in rows) == ["1", "2"]
        assert list(store.documents.read("merged", start, "")) == [{"n": 3}]


def test_rows_that_older_versions_wrote_are_read_without_conversion(store: Store) -> None:
    """Their dates are text, and their mappings are not marked."""
    texts = ('{"at":"2026-11-22T10:00:00+00:00","v":{"$date":"x"}}', '{"$:new":{"$:":5}}')
    marks = [{"collection": "old", "timeperiod": HOUR, "low": 1, "high": 2, "rows": 2}]
    store.transfer.write("marks", marks)
    row = {"collection": "old", "timeperiod": HOUR}
    rows = [{**row, "key": str(n), "body": text} for n, text in enumerate(texts)]
    store.transfer.write("documents", rows)
    assert list(store.documents.read("old", "", "")) == [orjson.loads(text) for text in texts]


def test_nan_is_refused_and_nothing_is_written(store: Store) -> None:
    with pytest.raises(InvalidValue, match=r"'a' cannot be stored: field x\[0\] is nan"):
        put(store, ("a", HOUR), x=[float("nan")])
    assert store.documents.collections() == {}


def test_documents_of_several_pages_are_read_during_other_writes(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mongodb_rows, "AT_ONCE", 200)  # MongoDB's page: a tenth of SQLite's
    count = 4_500 if isinstance(store, SqliteStore) else 450
    put(store, *((f"{n:05}", HOUR) for n in range(count)))
    found = store.documents.read(SESSIONS, HOUR, NEXT_HOUR)
    first = next(found)
    put(store, ("00000", NEXT_HOUR), ("elsewhere", "2026112200"))
    assert [first["key"], *(body["key"] for body in found)] == [f"{n:05}" for n in range(count)]


def test_an_update_is_given_the_present_body(store: Store) -> None:
    def count(_key: str, present: Mapping[str, object] | None) -> dict[str, object]:
        return {"n": int(str(present["n"])) + 1 if present else 1}

    keys = [("a", HOUR), ("b", HOUR)]
    assert store.documents.update(SESSIONS, keys, count) == 2
    assert store.documents.update(SESSIONS, keys[:1], count) == 1
    assert list(store.documents.read(SESSIONS, "", "")) == [{"n": 2}, {"n": 1}]


def test_a_key_that_comes_twice_is_merged_twice(store: Store) -> None:
    def count(_key: str, present: Mapping[str, object] | None) -> dict[str, object]:
        return {"n": int(str(present["n"])) + 1 if present else 1}

    assert store.documents.update(SESSIONS, [("a", HOUR), ("a", HOUR)], count) == 2
    assert list(store.documents.read(SESSIONS, "", "")) == [{"n": 2}]
    found = store.documents.bounds(SESSIONS, HOUR, NEXT_HOUR)
    assert found is not None
    assert found.rows == 1


def test_an_update_without_a_change_is_no_write(store: Store) -> None:
    put(store, ("a", HOUR), x=1, y=2)
    before = store.documents.bounds(SESSIONS, HOUR, NEXT_HOUR)
    assert (
        store.documents.update(SESSIONS, [("a", HOUR)], lambda *_: {"y": 2, "x": 1, "key": "a"})
        == 0
    )
    assert store.documents.bounds(SESSIONS, HOUR, NEXT_HOUR) == before
    assert store.documents.update(SESSIONS, [], lambda *_: {}) == 0


def test_values_that_json_cannot_hold_are_refused_and_nothing_is_written(store: Store) -> None:
    with pytest.raises(InvalidValue, match="'b' cannot be stored"):
        store.documents.update(
            SESSIONS, [("a", HOUR), ("b", HOUR)], lambda key, _: {"x": {1} if key == "b" else 1}
        )
    assert store.documents.collections() == {}


def test_a_failing_merge_leaves_everything_as_it_was(store: Store) -> None:
    put(store, ("a", HOUR), x=1)

    def fail(key: str, _present: object) -> dict[str, object]:
        if key == "b":
            raise ZeroDivisionError
        return {"x": 2}

    with pytest.raises(ZeroDivisionError):
        store.documents.update(SESSIONS, [("a", HOUR), ("b", HOUR)], fail)
    assert list(store.documents.read(SESSIONS, "", "")) == [{"key": "a", "x": 1}]
