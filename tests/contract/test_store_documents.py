"""Documents: each change numbered, in the order in which it becomes visible."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synergy.errors import InvalidValue
from synergy.model.unit_of_work import UnitOfWork
from synergy.storage.mongodb import rows as mongodb_rows
from synergy.storage.protocol import Bounds, SourceChange, Store
from synergy.storage.sqlite import SqliteStore
from tests.contract.concurrency import in_processes, open_store
from tests.contract.engines import QUICK
from tests.factories import HOUR, NEXT_HOUR, NOW, TYPED, a_conclusion, a_hint, a_sink_write, a_unit

SESSIONS = "single_session"


def put(store: Store, *places: tuple[str, str], **body: Any) -> int:
    """Writes documents (key, timeperiod) with this body."""
    return store.documents.update(SESSIONS, places, lambda key, _: {"key": key, **body})


def replace_hour(store: Store, end_id: int, *rows: tuple[str, dict[str, Any]]) -> None:
    """Makes the rows of an hour exactly these, by way of a unit."""
    unit: UnitOfWork = a_unit(end_id=end_id)
    store.units.create([unit], "scheduler")
    store.units.claim([a_hint(unit)], "worker", NOW)
    write = a_sink_write(*rows, collection=SESSIONS)
    assert store.units.conclude([a_conclusion(unit, "worker", writes=(write,))], NOW) == []


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
    """With the names of all mappings in order, as they are read."""
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("key", ["", "nul \0", "a|b", "$a.b", "x" * (64 << 10), "\n~\x7f東"])
def test_rows_are_kept_under_any_key(store: Store, key: str) -> None:
    replace_hour(store, 1, (key, {"n": 1}), ("other", {"n": 2}))
    store.documents.update("merged", [(key, HOUR)], lambda *_: {"n": 3})
    assert sorted(str(row["n"]) for row in store.documents.read(SESSIONS, "", "")) == ["1", "2"]
    assert list(store.documents.read("merged", "", "")) == [{"n": 3}]


def test_rows_of_older_versions_are_read_as_they_were(store: Store) -> None:
    """They held dates as text, and mappings that nobody marked."""
    texts = ('{"at":"2026-11-22T10:00:00+00:00","v":{"$date":"x"}}', '{"$:new":{"$:":5}}')
    marks = [{"collection": "old", "timeperiod": HOUR, "low": 1, "high": 2, "rows": 2}]
    store.transfer.write("marks", marks)
    row = {"collection": "old", "timeperiod": HOUR}
    rows = [{**row, "key": str(n), "body": text} for n, text in enumerate(texts)]
    store.transfer.write("documents", rows)
    assert list(store.documents.read("old", "", "")) == [orjson.loads(text) for text in texts]


def test_what_is_no_number_is_refused_and_nothing_written(store: Store) -> None:
    with pytest.raises(InvalidValue, match=r"'a' cannot be stored: field x\[0\] is nan"):
        put(store, ("a", HOUR), x=[float("nan")])
    assert store.documents.collections() == {}


def test_reading_goes_on_past_a_page_while_others_write(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mongodb_rows, "AT_ONCE", 200)  # MongoDB's page: a tenth of SQLite's
    count = 4_500 if isinstance(store, SqliteStore) else 450
    put(store, *((f"{n:05}", HOUR) for n in range(count)))
    found = store.documents.read(SESSIONS, HOUR, NEXT_HOUR)
    first = next(found)
    put(store, ("00000", NEXT_HOUR), ("elsewhere", "2026112200"))
    assert [first["key"], *(body["key"] for body in found)] == [f"{n:05}" for n in range(count)]


def test_an_update_is_given_what_is_there(store: Store) -> None:
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


def test_writing_what_is_there_already_is_no_write(store: Store) -> None:
    put(store, ("a", HOUR), x=1, y=2)
    before = store.documents.bounds(SESSIONS, HOUR, NEXT_HOUR)
    assert (
        store.documents.update(SESSIONS, [("a", HOUR)], lambda *_: {"y": 2, "x": 1, "key": "a"})
        == 0
    )
    assert store.documents.bounds(SESSIONS, HOUR, NEXT_HOUR) == before
    assert store.documents.update(SESSIONS, [], lambda *_: {}) == 0


def test_what_json_cannot_hold_is_refused_and_nothing_written(store: Store) -> None:
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


# Bounds


def test_bounds_say_what_a_range_holds(store: Store) -> None:
    assert store.documents.bounds(SESSIONS, "", "") is None
    put(store, ("a", HOUR), ("b", HOUR))
    put(store, ("a", NEXT_HOUR))
    assert store.documents.bounds(SESSIONS, HOUR, NEXT_HOUR) == Bounds(1, 2, 2)
    assert store.documents.bounds(SESSIONS, HOUR, "") == Bounds(1, 3, 3)
    assert store.documents.bounds(SESSIONS, "2026112112", "") is None
    assert store.documents.bounds("other", "", "") is None
    assert store.documents.bounds_by_timeperiod(SESSIONS, HOUR, "2026112112") == {
        HOUR: Bounds(1, 2, 2),
        NEXT_HOUR: Bounds(3, 3, 1),
    }


def test_a_change_raises_the_upper_bound_and_no_other(store: Store) -> None:
    put(store, ("a", HOUR), ("b", HOUR), ("a", NEXT_HOUR))
    put(store, ("a", HOUR), x=2)
    assert store.documents.bounds(SESSIONS, HOUR, NEXT_HOUR) == Bounds(1, 4, 2)
    assert store.documents.bounds(SESSIONS, NEXT_HOUR, "") == Bounds(3, 3, 1)


def test_a_row_taken_away_raises_the_upper_bound_too(store: Store) -> None:
    replace_hour(store, 1, ("a", {"n": 1}), ("b", {"n": 1}))
    replace_hour(store, 2)
    assert store.documents.bounds(SESSIONS, HOUR, NEXT_HOUR) == Bounds(1, 4, 0)
    assert store.documents.collections() == {SESSIONS: 0}


# Changes


def test_only_the_newest_change_of_a_timeperiod_is_told(store: Store) -> None:
    put(store, ("a", HOUR), ("a", NEXT_HOUR))
    put(store, ("b", HOUR))
    store.documents.update("other", [("k", HOUR)], lambda *_: {})
    changes = [
        SourceChange(SESSIONS, NEXT_HOUR, 2),
        SourceChange(SESSIONS, HOUR, 3),
        SourceChange("other", HOUR, 4),
    ]
    assert store.documents.changed_since(0, 10) == changes
    assert store.documents.changed_since(2, 10) == changes[1:]
    assert store.documents.changed_since(0, 1) == changes[:1]
    assert store.documents.changed_since(4, 10) == []


def test_collections_are_counted(store: Store) -> None:
    put(store, ("a", HOUR), ("b", HOUR))
    store.documents.update("other", [("k", HOUR)], lambda *_: {})
    assert store.documents.collections() == {SESSIONS: 2, "other": 1}


HOURS = ["2026112110", "2026112111"]
ROWS = st.dictionaries(st.sampled_from("abc"), st.integers(0, 2), max_size=3)


@pytest.mark.parametrize("place", QUICK)
@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.booleans(), ROWS), max_size=12))
def test_any_writes_leave_what_a_dictionary_would(
    place: str, steps: list[tuple[bool, dict[str, int]]]
) -> None:
    store = open_store(place)
    model: dict[str, int] = {}
    high = 0
    for end_id, (replaces, rows) in enumerate(steps):
        after = dict(rows) if replaces else {**model, **rows}
        if replaces:
            replace_hour(store, end_id, *((key, {"n": n}) for key, n in rows.items()))
        else:
            store.documents.update(
                SESSIONS, [(key, HOUR) for key in rows], lambda key, _, rows=rows: {"n": rows[key]}
            )
        high += sum(model.get(key) != after.get(key) for key in model.keys() | after.keys())
        model = after
        bounds = store.documents.bounds(SESSIONS, HOUR, NEXT_HOUR)
        assert bounds == (Bounds(1, high, len(model)) if high else None)
    found = [body["n"] for body in store.documents.read(SESSIONS, "", "")]
    assert found == [model[key] for key in sorted(model)]
    store.close()


# At once


def _add(store: Store, who: str, count: int) -> None:
    def note(_key: str, present: Mapping[str, Any] | None) -> dict[str, Any]:
        return {"by": [*(present["by"] if present else []), who]}

    for number in range(count):
        store.documents.update(SESSIONS, [("shared", HOUR), (f"{who}-{number}", NEXT_HOUR)], note)


def test_updates_of_many_processes_are_all_kept(shared: Store, address: str, much: int) -> None:
    names = ("one", "two", "three")
    count = much // len(names)
    in_processes(address, _add, [(name, count) for name in names])
    (body,) = shared.documents.read(SESSIONS, HOUR, NEXT_HOUR)
    assert Counter(body["by"]) == dict.fromkeys(names, count)
    assert shared.documents.collections() == {SESSIONS: 1 + 3 * count}
    found = shared.documents.bounds(SESSIONS, "", "")
    assert found is not None
    assert found.high == 6 * count


def test_who_has_seen_a_number_has_missed_none_below(
    shared: Store, address: str, much: int
) -> None:
    """What changed since n, asked again and again, adds up to everything."""
    seen: dict[tuple[str, str], int] = {}
    done = threading.Event()

    def follow() -> None:
        seq, last = 0, False
        while not last:
            last = done.is_set()
            for change in shared.documents.changed_since(seq, 1_000):
                assert change.seq > seq
                seen[change.collection, change.timeperiod] = seq = change.seq

    follower = threading.Thread(target=follow)
    follower.start()
    in_processes(address, _add, [("one", much // 4), ("two", much // 4)])
    done.set()
    follower.join()
    marks = shared.documents.bounds_by_timeperiod(SESSIONS, "", "")
    assert seen == {(SESSIONS, period): bounds.high for period, bounds in marks.items()}
