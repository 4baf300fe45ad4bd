"""Schedules: one row each, found by page, due time and event key."""

from __future__ import annotations

from dataclasses import replace

import pytest

from synergy.errors import InvalidValue
from synergy.model.journal import JournalEntry
from synergy.model.schedule import Origin
from synergy.storage.protocol import Store
from tests.contract.journal import events
from tests.contract.scheduled import ODD, a_change, a_run, a_schedule, the_schedule
from tests.contract.schedules import create, names
from tests.factories import LATER, NOW, TICK

# Creating


def test_every_field_is_kept(store: Store) -> None:
    schedule = a_schedule(
        "Zürich, 東京",
        definition={"trigger": "at 5:00", "a.b": {"$c": [1, 2.5, None, True, "é"]}, "": {}},
        version=3,
        origin=Origin.CONTEXT,
        is_enabled=True,
        reason="wegen Ärger",
        progress={"last_due": "2026-11-21T12:00:00Z", "made": 7, "met": {"0/1": {"$at": []}}},
        wake_at=LATER + TICK,
        keys=("FILE|/daten/für/uns", "TABLE|$x.y"),
        created_at=NOW + TICK,
        changed_at=NOW + 2 * TICK,
    )
    create(store, schedule)
    assert store.schedules.get([schedule.name]) == [replace(schedule, rev=1)]


def test_a_schedule_can_be_created_switched_off(store: Store) -> None:
    schedule = a_schedule(is_enabled=False, reason="not yet")
    create(store, schedule)
    assert the_schedule(store) == replace(schedule, rev=1)
    assert store.schedules.due(LATER, 10) == []


def test_a_name_is_taken_only_once(store: Store) -> None:
    create(store, a_schedule("a"), a_schedule("b"))
    again = [a_schedule("b", reason="2"), a_schedule("c"), a_schedule("c", reason="2")]
    assert store.schedules.create(again, "you") == ["b", "c"]
    assert {one.name: one.reason for one in store.schedules.get(["a", "b", "c"])} == {
        "a": "", "b": "", "c": "",
    }  # fmt: skip
    assert events(store) == ["schedule.created"] * 3
    assert [one.who for one in store.schedules.versions("b")] == ["me"]


def test_the_journal_names_the_creator(store: Store) -> None:
    create(store, a_schedule(version=4, created_at=LATER))
    (entry,) = store.journal.since(0, 10)
    assert replace(entry, seq=0) == JournalEntry(
        LATER, "schedule.created", "nightly", "", "", "", "4", 0, "", "me"
    )


@pytest.mark.parametrize("field", ["definition", "progress"])
def test_values_that_are_not_json_are_refused_before_any_write(store: Store, field: str) -> None:
    bad = a_schedule("bad", **{field: {"x": object()}})
    with pytest.raises(InvalidValue, match="'bad'"):
        store.schedules.create([a_schedule("good"), bad], "me")
    assert store.schedules.count() == 0
    assert events(store) == []


def test_empty_calls_and_unknown_names_return_nothing(store: Store) -> None:
    assert store.schedules.create([], "me") == []
    assert store.schedules.change([]) == []
    assert store.schedules.get([]) == []
    assert store.schedules.get(["unknown"]) == []
    assert store.schedules.versions("unknown") == []


def test_special_characters_in_names_are_kept(store: Store) -> None:
    create(store, *(a_schedule(name, keys=(f"TABLE|{name}",)) for name in ODD))
    assert set(names(store.schedules.get(ODD))) == set(ODD)
    for name in ODD:
        assert names(store.schedules.listening([f"TABLE|{name}"])) == [name]
        assert len(store.schedules.versions(name)) == 1
    assert store.schedules.count() == len(ODD)


# Removing


def test_a_removed_schedule_is_gone_but_not_its_runs(store: Store) -> None:
    create(store, a_schedule(keys=("TABLE|a",), wake_at=NOW))
    store.runs.create([a_run()], "agent")
    store.schedules.change([a_change(the_schedule(store), version=2)])
    assert store.schedules.remove(the_schedule(store), "obsolete", "me", LATER)
    assert store.schedules.get(["nightly"]) == []
    assert store.schedules.versions("nightly") == []
    assert store.schedules.find() == ([], None)
    assert store.schedules.listening(["TABLE|a"]) == []
    assert store.schedules.due(LATER, 10) == []
    assert store.schedules.next_wake() is None
    assert store.schedules.count() == 0
    assert len(store.runs.find("nightly")[0]) == 1
    entry = store.journal.find("nightly")[0]
    assert replace(entry, seq=0) == JournalEntry(
        LATER, "schedule.removed", "nightly", "", "", "2", "", 0, "obsolete", "me"
    )


def test_a_schedule_that_changed_is_not_removed(store: Store) -> None:
    create(store, a_schedule())
    seen = the_schedule(store)
    store.schedules.change([a_change(seen, reason="1")])
    assert not store.schedules.remove(seen, "", "me", NOW)
    assert not store.schedules.remove(a_schedule("unknown"), "", "me", NOW)
    assert store.schedules.count() == 1
    assert events(store) == ["schedule.created"]


def test_a_removed_name_can_be_used_again_without_history(store: Store) -> None:
    for turn in range(1, 4):
        create(store, a_schedule(definition={"turn": turn}, keys=(f"TABLE|{turn}",)))
        assert [one.definition for one in store.schedules.versions("nightly")] == [{"turn": turn}]
        store.schedules.change([a_change(the_schedule(store), version=2, definition={})])
        assert store.schedules.remove(the_schedule(store), "", "me", NOW)
    create(store, a_schedule())
    assert the_schedule(store).rev == 1
    assert store.schedules.listening(["TABLE|1", "TABLE|2", "TABLE|3"]) == []
    created_and_removed = ["schedule.created", "schedule.removed"]
    assert events(store) == [*created_and_removed * 3, "schedule.created"]


# Finding


def test_pages_are_ordered_by_name(store: Store) -> None:
    create(store, *(a_schedule(name) for name in ODD))
    found, cursor = store.schedules.find(5)
    while cursor is not None:
        page, cursor = store.schedules.find(5, cursor)
        assert page
        found += page
    assert names(found) == sorted(ODD)


def test_a_page_that_is_just_full_is_the_last(store: Store) -> None:
    create(store, *(a_schedule(str(n)) for n in range(4)))
    page, cursor = store.schedules.find(2)
    assert (names(page), cursor is None) == (["0", "1"], False)
    page, cursor = store.schedules.find(2, cursor)
    assert (names(page), cursor) == (["2", "3"], None)
    assert len(store.schedules.find(4)[0]) == 4
    assert store.schedules.find(4)[1] is None


def test_pages_miss_nothing_while_others_write(store: Store) -> None:
    create(store, *(a_schedule(name) for name in "bdfh"))
    page, cursor = store.schedules.find(2)
    assert names(page) == ["b", "d"]
    create(store, a_schedule("a"), a_schedule("e"))
    (there,) = store.schedules.get(["d"])
    assert store.schedules.remove(there, "", "me", NOW)  # where the page ended
    rest, cursor = store.schedules.find(10, cursor)
    assert (names(rest), cursor) == (["e", "f", "h"], None)


def test_any_name_is_a_cursor(store: Store) -> None:
    create(store, *(a_schedule(name) for name in ("a", "bc", "bd", "c")))
    assert names(store.schedules.find(2, "b")[0]) == ["bc", "bd"]
    assert names(store.schedules.find(2, "bc")[0]) == ["bd", "c"]
    assert store.schedules.find(2, "d") == ([], None)


# Waking


def test_due_schedules_come_earliest_first(store: Store) -> None:
    times = {"a": LATER, "b": NOW + TICK, "c": None, "d": NOW, "e": LATER + TICK}
    create(store, *(a_schedule(name, wake_at=at) for name, at in times.items()))
    assert names(store.schedules.due(NOW - TICK, 10)) == []
    assert names(store.schedules.due(NOW, 10)) == ["d"]
    assert names(store.schedules.due(LATER, 10)) == ["d", "b", "a"]
    assert names(store.schedules.due(LATER, 2)) == ["d", "b"]
    assert store.schedules.next_wake() == NOW


def test_the_next_wake_time_follows_every_change(store: Store) -> None:
    assert store.schedules.next_wake() is None
    create(store, a_schedule("a", wake_at=LATER), a_schedule("b"))
    assert store.schedules.next_wake() == LATER
    (b,) = store.schedules.get(["b"])
    store.schedules.change([a_change(b, wake_at=NOW + TICK)])
    assert store.schedules.next_wake() == NOW + TICK
    (b,) = store.schedules.get(["b"])
    store.schedules.change([a_change(b, wake_at=None)])
    assert store.schedules.next_wake() == LATER
    store.schedules.remove(the_schedule(store, "a"), "", "me", NOW)
    assert store.schedules.next_wake() is None


# Listening


def test_each_listening_schedule_is_found_once(store: Store) -> None:
    create(
        store,
        a_schedule("a", keys=("FILE|/x", "FILE|/y", "FILE|/x")),
        a_schedule("b", keys=("FILE|/y",)),
        a_schedule("c", keys=("FILE|/xy",)),
        a_schedule("d"),
    )
    assert sorted(names(store.schedules.listening(["FILE|/x", "FILE|/y", "FILE|/y"]))) == ["a", "b"]
    assert names(store.schedules.listening(["FILE|/x"])) == ["a"]
    assert store.schedules.listening(["FILE|/", "file|/x", "FILE"]) == []
    assert store.schedules.listening([]) == []


def test_listening_schedules_follow_every_change(store: Store) -> None:
    create(store, a_schedule(keys=("A|1", "A|2")))
    store.schedules.change([a_change(the_schedule(store), keys=("A|2", "A|3"))])
    heard = {key: len(store.schedules.listening([key])) for key in ("A|1", "A|2", "A|3")}
    assert heard == {"A|1": 0, "A|2": 1, "A|3": 1}
    assert store.schedules.listening(["A|2"]) == [the_schedule(store)]
    store.schedules.change([a_change(the_schedule(store), keys=())])
    assert store.schedules.listening(["A|1", "A|2", "A|3"]) == []


def test_many_keys_find_many_listening_schedules(store: Store, much: int) -> None:
    create(store, *(a_schedule(f"{n:03}", keys=(f"A|{n}", "ALL|")) for n in range(much)))
    wanted = [f"A|{n}" for n in range(0, much, 3)] + [f"B|{n}" for n in range(1_000)]
    found = names(store.schedules.listening(wanted))
    assert sorted(found) == [f"{n:03}" for n in range(0, much, 3)]
    assert len(store.schedules.listening(["ALL|"])) == much
    changes = [a_change(one, keys=()) for one in store.schedules.listening(["ALL|"])]
    assert store.schedules.change(changes) == []
    assert store.schedules.listening(["ALL|"]) == []
