"""Events are stored once each, numbered so that followers miss none."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta

import pytest

from synergy.errors import InvalidValue
from synergy.model.schedule import Event
from synergy.storage.protocol import Store
from tests.contract.concurrency import in_processes, in_threads, open_store
from tests.contract.scheduled import ODD, an_event
from tests.factories import LATER, NOW, TICK


def append(store: Store, *ids: str) -> list[tuple[int, bool]]:
    return [(event.seq, new) for event, new in store.events.append([an_event(id_) for id_ in ids])]


def ids(events: list[Event]) -> list[str]:
    return [event.id for event in events]


def test_an_event_comes_back_as_it_was_with_a_number(store: Store) -> None:
    event = an_event(
        "0190-é",
        type="TIME BASED",
        resource="/daten/für uns/東京 🏃",
        timestamp=NOW - timedelta(days=400) + TICK,
        at=NOW + 2 * TICK,
        who="rest",
        body={"eventType": "X", "a.b": {"$c": [1, 2.5, None, True]}, "": {}},
    )
    assert store.events.append([event]) == [(replace(event, seq=1), True)]
    assert store.events.since(0, 10) == [replace(event, seq=1)]


def test_numbers_have_no_gaps_whatever_is_repeated(store: Store) -> None:
    assert append(store, "a", "b") == [(1, True), (2, True)]
    assert append(store, "b", "c", "a", "d") == [(2, False), (3, True), (1, False), (4, True)]
    assert append(store, "d") == [(4, False)]
    assert append(store) == []
    assert append(store, "e") == [(5, True)]
    assert [event.seq for event in store.events.since(0, 10)] == [1, 2, 3, 4, 5]


def test_an_id_that_comes_twice_in_one_call_is_one_event(store: Store) -> None:
    first, again = an_event("a"), an_event("a", resource="/other")
    stored = replace(first, seq=1)
    assert store.events.append([first, again, an_event("b")]) == [
        (stored, True), (stored, False), (an_event("b", seq=2), True),
    ]  # fmt: skip


def test_appending_a_known_id_returns_the_stored_event(store: Store) -> None:
    append(store, "a")
    again = an_event("a", resource="/other", at=LATER, who="you", body={"x": 1})
    assert store.events.append([again]) == [(an_event("a", seq=1), False)]
    assert store.events.since(0, 10) == [an_event("a", seq=1)]


def test_ids_with_special_characters_are_kept(store: Store) -> None:
    append(store, *ODD)
    assert [new for _, new in append(store, *ODD)] == [False] * len(ODD)
    assert ids(store.events.since(0, 100)) == list(ODD)


def test_the_feed_continues_after_the_last_number_read(store: Store) -> None:
    assert store.events.last_seq() == 0
    append(store, *"abcde")
    first = store.events.since(0, 3)
    assert ids(first) == ["a", "b", "c"]
    assert ids(store.events.since(first[-1].seq, 3)) == ["d", "e"]
    assert store.events.since(5, 3) == []
    assert store.events.last_seq() == 5


def test_pages_start_with_the_newest_event(store: Store) -> None:
    append(store, *"abcde")
    page, cursor = store.events.find(2)
    assert ids(page) == ["e", "d"]
    append(store, "f")
    page, cursor = store.events.find(2, cursor)
    assert ids(page) == ["c", "b"]
    page, cursor = store.events.find(2, cursor)
    assert (ids(page), cursor) == (["a"], None)
    assert store.events.find(6)[1] is None


def test_an_invalid_cursor_is_refused(store: Store) -> None:
    with pytest.raises(InvalidValue, match="cursor"):
        store.events.find(cursor="x")


def test_values_that_are_not_json_are_refused_before_any_write(store: Store) -> None:
    bad = an_event("bad", body={"x": object()})
    with pytest.raises(InvalidValue, match="'bad'"):
        store.events.append([an_event("good"), bad])
    assert store.events.last_seq() == 0


def test_pruning_deletes_the_oldest_events_but_never_the_newest(store: Store) -> None:
    times = {"a": NOW - 2 * TICK, "b": NOW - TICK, "c": NOW, "d": NOW}
    store.events.append([an_event(id_, at=at) for id_, at in times.items()])
    assert store.events.prune(NOW - 2 * TICK, 10) == 0
    assert store.events.prune(NOW, 1) == 1
    assert ids(store.events.since(0, 10)) == ["b", "c", "d"]
    assert store.events.prune(NOW, 10) == 1
    assert store.events.prune(LATER, 10) == 1
    assert store.events.prune(LATER, 10) == 0
    assert ids(store.events.since(0, 10)) == ["d"]
    assert append(store, "e", "a") == [(5, True), (6, True)]
    assert store.events.last_seq() == 6


def test_pruning_stops_at_the_first_recent_event(store: Store) -> None:
    """Clocks differ: a later event may have an earlier time."""
    times = {"a": NOW - TICK, "b": NOW, "c": NOW - TICK, "d": NOW}
    store.events.append([an_event(id_, at=at) for id_, at in times.items()])
    assert store.events.prune(NOW, 10) == 1
    assert ids(store.events.since(0, 10)) == ["b", "c", "d"]


def test_pruning_goes_by_the_time_an_event_was_received(store: Store) -> None:
    old = NOW - timedelta(days=1)
    store.events.append([an_event("a", timestamp=old), an_event("b", timestamp=old)])
    assert store.events.prune(NOW, 10) == 0


def _append(store: Store, name: str) -> list[bool]:
    """Appends events of its own, and events that every writer appends."""
    found = []
    for n in range(10):
        some = [an_event(f"{name}-{n}"), an_event(f"all-{n}", who=name)]
        found += [new for _, new in store.events.append(some)]
    return found


def test_an_event_appended_by_many_threads_at_once_is_new_to_one(store: Store) -> None:
    new = in_threads(4, lambda n: _append(store, str(n)))
    assert sum(map(sum, new)) == 4 * 10 + 10
    found = store.events.since(0, 1_000)
    assert [event.seq for event in found] == list(range(1, 51))
    assert len(set(ids(found))) == 50
    for n, own in enumerate(new):
        mine = {event.id for event in found if event.who == str(n)}
        assert mine == {f"all-{k}" for k in range(10) if own[2 * k + 1]}


def test_a_follower_misses_no_event_of_other_processes(shared: Store, address: str) -> None:
    seen: list[int] = []
    done = threading.Event()

    def follow() -> None:
        with_own = open_store(address)
        while True:
            is_last = done.wait(0.01)
            found = with_own.events.since(seen[-1] if seen else 0, 7)
            seen.extend(event.seq for event in found)
            if is_last and not found:
                break
        with_own.close()

    follower = threading.Thread(target=follow)
    follower.start()
    try:
        in_processes(address, _append, [("a",), ("b",), ("c",)])
    finally:
        done.set()
        follower.join()
    assert seen == list(range(1, 41))
