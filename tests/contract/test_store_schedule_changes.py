"""Schedules are changed by writers that saw the newest revision; each version is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from synergy.errors import InvalidValue
from synergy.model.journal import JournalEntry
from synergy.model.schedule import Origin, Schedule, ScheduleVersion
from synergy.storage.protocol import Store
from tests.contract.concurrency import in_processes, in_threads
from tests.contract.journal import events
from tests.contract.scheduled import a_change, a_schedule, the_schedule
from tests.contract.schedules import create
from tests.factories import LATER, NOW, TICK

# Changing


def test_a_change_writes_all_fields_but_name_and_creation(store: Store) -> None:
    create(store, a_schedule())
    wanted = Schedule(
        name="nightly",
        definition={"trigger": "at 6:00"},
        version=2,
        origin=Origin.CONTEXT,
        is_enabled=False,
        reason="broken",
        progress={"made": 1},
        wake_at=LATER,
        keys=("TABLE|a",),
        created_at=NOW,
        changed_at=LATER,
        rev=1,
    )
    assert store.schedules.change([a_change(wanted)]) == []
    assert the_schedule(store) == replace(wanted, rev=2)


def test_a_change_of_an_outdated_row_is_refused(store: Store) -> None:
    create(store, a_schedule(keys=("TABLE|a",)))
    old = the_schedule(store)
    assert store.schedules.change([a_change(old, reason="1")]) == []
    late = a_change(
        old, event="schedule.changed", reason="2", version=2, keys=("TABLE|b",), wake_at=NOW
    )
    assert store.schedules.change([late]) == [late]
    assert the_schedule(store) == replace(old, reason="1", rev=2)
    assert len(store.schedules.versions("nightly")) == 1
    assert store.schedules.listening(["TABLE|b"]) == []
    assert store.schedules.due(NOW, 10) == []
    assert events(store) == ["schedule.created"]


def test_a_refused_change_does_not_affect_the_others(store: Store) -> None:
    create(store, *(a_schedule(name) for name in "abc"))
    found = {one.name: one for one in store.schedules.get(["a", "b", "c"])}
    changes = [
        a_change(found["a"], reason="1"),
        a_change(replace(found["b"], rev=0), reason="1"),
        a_change(a_schedule("unknown", rev=1), reason="1"),
        a_change(found["c"], reason="1"),
        a_change(found["c"], reason="2"),
    ]
    assert store.schedules.change(changes) == [changes[1], changes[2], changes[4]]
    after = {one.name: (one.reason, one.rev) for one in store.schedules.get(["a", "b", "c"])}
    assert after == {"a": ("1", 2), "b": ("", 1), "c": ("1", 2)}


def test_a_change_of_a_removed_schedule_does_not_reach_its_successor(store: Store) -> None:
    create(store, a_schedule())
    old = the_schedule(store)
    assert store.schedules.remove(old, "", "me", NOW)
    create(store, a_schedule(created_at=LATER))
    change = a_change(old, reason="too late")
    assert store.schedules.change([change]) == [change]
    assert not store.schedules.remove(old, "", "me", NOW)
    assert the_schedule(store).reason == ""


def test_a_change_with_an_event_name_is_journaled(store: Store) -> None:
    create(store, a_schedule())
    first = the_schedule(store)
    edit = a_change(first, event="schedule.changed", who="you", version=2, changed_at=LATER)
    store.schedules.change([edit])
    store.schedules.change([a_change(the_schedule(store), progress={"made": 1})])
    off = a_change(the_schedule(store), event="schedule.disabled", who="me", is_enabled=False)
    store.schedules.change([off])
    entries = store.journal.since(1, 10)
    assert [replace(entry, seq=0) for entry in entries] == [
        JournalEntry(LATER, "schedule.changed", "nightly", "", "", "1", "2", 0, "so it is", "you"),
        JournalEntry(LATER, "schedule.disabled", "nightly", "", "", "2", "2", 0, "so it is", "me"),
    ]


@pytest.mark.parametrize("field", ["definition", "progress"])
def test_a_value_that_is_not_json_refuses_all_changes_of_the_call(store: Store, field: str) -> None:
    create(store, a_schedule("a"), a_schedule("b"))
    a, b = sorted(store.schedules.get(["a", "b"]), key=lambda one: one.name)
    wrong: dict[str, Any] = {field: {"x": object()}}
    changes = [a_change(a, reason="1"), a_change(b, version=2, **wrong)]
    with pytest.raises(InvalidValue, match="'b'"):
        store.schedules.change(changes)
    assert the_schedule(store, "a") == a


def test_one_of_several_threads_changes_a_row(store: Store) -> None:
    """Each thread retries until its increment is accepted; none is lost or counted twice."""
    create(store, a_schedule(progress={"n": 0}))

    def add(_: int) -> int:
        lost = 0
        while True:
            seen = the_schedule(store)
            number: Any = seen.progress["n"]
            if not store.schedules.change([a_change(seen, progress={"n": number + 1})]):
                return lost
            lost += 1

    in_threads(6, lambda n: [add(n) for _ in range(5)])
    assert the_schedule(store).progress == {"n": 30}
    assert the_schedule(store).rev == 31


def _create(store: Store, who: str) -> list[str]:
    return store.schedules.create([a_schedule(str(n)) for n in range(20)], who)


def test_processes_that_create_the_same_name_create_it_once(shared: Store, address: str) -> None:
    taken = in_processes(address, _create, [("a",), ("b",), ("c",)])
    assert sum(20 - len(names) for names in taken) == 20
    assert shared.schedules.count() == 20
    assert events(shared) == ["schedule.created"] * 20


# Versions


def test_all_versions_are_kept_newest_first(store: Store) -> None:
    create(store, a_schedule(definition={"n": 1}))
    for version, at in ((2, LATER), (5, LATER + TICK)):
        edit = a_change(
            the_schedule(store), event="schedule.changed", who=f"editor {version}",
            version=version, definition={"n": version}, changed_at=at,
        )  # fmt: skip
        assert store.schedules.change([edit]) == []
        assert the_schedule(store).definition == {"n": version}
    assert store.schedules.versions("nightly") == [
        ScheduleVersion("nightly", 5, {"n": 5}, LATER + TICK, "editor 5"),
        ScheduleVersion("nightly", 2, {"n": 2}, LATER, "editor 2"),
        ScheduleVersion("nightly", 1, {"n": 1}, NOW, "me"),
    ]


def test_a_schedule_may_start_with_a_version_above_one(store: Store) -> None:
    """Happens if the name was used before. A further version may have the same definition."""
    store.schedules.create([a_schedule(version=3)], "operator")
    (first,) = store.schedules.get(["nightly"])
    assert store.schedules.change([a_change(first, event="schedule.enabled", version=4)]) == []
    (second,) = store.schedules.get(["nightly"])
    assert (first.version, second.version) == (3, 4)
    assert first.definition == second.definition
    assert [one.version for one in store.schedules.versions("nightly")] == [4, 3]


def test_a_change_without_an_edit_keeps_the_definition(store: Store) -> None:
    create(store, a_schedule(definition={"n": 1}))
    change = a_change(the_schedule(store), definition={"n": 2}, progress={"made": 1})
    assert store.schedules.change([change]) == []
    assert the_schedule(store).definition == {"n": 1}
    assert len(store.schedules.versions("nightly")) == 1


def test_a_refused_edit_adds_no_version(store: Store) -> None:
    create(store, a_schedule())
    seen = the_schedule(store)
    mine, yours = (a_change(seen, version=2, definition={"by": who}, who=who) for who in "ab")
    assert store.schedules.change([mine]) == []
    assert store.schedules.change([yours]) == [yours]
    newest, *_ = store.schedules.versions("nightly")
    assert (newest.version, newest.definition, newest.who) == (2, {"by": "a"}, "a")
    third = a_change(the_schedule(store), version=3, definition={}, who="c")
    assert store.schedules.change([third]) == []
    assert [one.who for one in store.schedules.versions("nightly")] == ["c", "a", "me"]
