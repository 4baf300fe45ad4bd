"""Changes of documents are numbered, also across several writers."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synergy.storage.protocol import Bounds, SourceChange, Store
from tests.contract.concurrency import in_processes, open_store
from tests.contract.documents import SESSIONS, put, replace_hour
from tests.contract.engines import QUICK
from tests.factories import HOUR, NEXT_HOUR

# Bounds


def test_bounds_are_the_lowest_and_highest_number_and_the_row_count_of_a_range(
    store: Store,
) -> None:
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


def test_a_change_raises_only_the_upper_bound_of_its_timeperiod(store: Store) -> None:
    put(store, ("a", HOUR), ("b", HOUR), ("a", NEXT_HOUR))
    put(store, ("a", HOUR), x=2)
    assert store.documents.bounds(SESSIONS, HOUR, NEXT_HOUR) == Bounds(1, 4, 2)
    assert store.documents.bounds(SESSIONS, NEXT_HOUR, "") == Bounds(3, 3, 1)


def test_a_removed_row_raises_the_upper_bound(store: Store) -> None:
    replace_hour(store, 1, ("a", {"n": 1}), ("b", {"n": 1}))
    replace_hour(store, 2)
    assert store.documents.bounds(SESSIONS, HOUR, NEXT_HOUR) == Bounds(1, 4, 0)
    assert store.documents.collections() == {SESSIONS: 0}


# Changes


def test_only_the_newest_change_of_a_timeperiod_is_listed(store: Store) -> None:
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


ROWS = st.dictionaries(st.sampled_from("abc"), st.integers(0, 2), max_size=3)


@pytest.mark.parametrize("place", QUICK)
@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.booleans(), ROWS), max_size=12))
def test_any_writes_have_the_same_result_as_on_a_dictionary(
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


# Concurrent writers


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


def test_once_a_number_is_visible_all_lower_numbers_are(
    shared: Store, address: str, much: int
) -> None:
    """Repeated reads of the changes since the last number add up to all changes."""
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
