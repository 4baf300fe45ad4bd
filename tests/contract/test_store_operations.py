"""Operations are accepted once, changed by writers that saw the newest revision, and pruned."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from synergy.errors import InvalidValue
from synergy.model.journal import JournalEntry
from synergy.model.operation import Operation, OperationState
from synergy.storage.protocol import Store
from tests.contract.concurrency import in_processes, in_threads
from tests.contract.journal import events
from tests.contract.operated import an_operation
from tests.contract.scheduled import ODD
from tests.factories import LATER, NOW, TICK

RUNNING, DONE, FAILED = OperationState.RUNNING, OperationState.DONE, OperationState.FAILED


def accept(store: Store, *ids: str) -> list[Operation]:
    return [store.operations.accept(an_operation(id_)) for id_ in ids]


def finish(store: Store, operation: Operation, **fields: Any) -> Operation:
    ended = {"state": DONE, "finished_at": LATER, **fields}
    changed = store.operations.change(replace(operation, **ended))
    assert changed is not None
    return changed


def ids(operations: Any) -> list[str]:
    return [operation.id for operation in operations]


def test_every_field_is_kept(store: Store) -> None:
    operation = an_operation(
        "o-é",
        kind="replay",
        process="",
        request={"jobs": [["P.$", "2015051700"]], "$n": 2.5, "none": None, "x": "東京" * 10_000},
        who="Jürgen (mx)",
        why="wegen Ärger",
        created_at=NOW + TICK,
        state=RUNNING,
        total=1 << 40,
        done=2,
        touched=3,
        detail="läuft",
        owner="host/boot/1/2/abc",
        finished_at=NOW + 2 * TICK,
    )
    assert store.operations.accept(operation) == replace(operation, rev=1)
    assert store.operations.get("o-é") == replace(operation, rev=1)


def test_accepting_an_operation_twice_returns_the_stored_one(store: Store) -> None:
    (first,) = accept(store, "o-1")
    moved = store.operations.change(replace(first, state=RUNNING, done=5))
    assert store.operations.accept(an_operation(why="again")) == moved
    assert store.operations.find() == ([moved], None)
    assert events(store) == ["operation.accepted"]


def test_an_unknown_id_is_not_found(store: Store) -> None:
    assert store.operations.get("o-1") is None
    assert store.operations.change(an_operation(rev=1)) is None
    assert store.operations.find() == ([], None)
    assert list(store.operations.unfinished()) == []
    assert events(store) == []


def test_a_request_that_json_cannot_hold_is_refused(store: Store) -> None:
    with pytest.raises(InvalidValue, match="o-1"):
        store.operations.accept(an_operation(request={"x": object()}))
    assert store.operations.find() == ([], None)


def test_a_change_raises_rev_and_keeps_the_fields_of_the_request(store: Store) -> None:
    (first,) = accept(store, "o-1")
    other = replace(
        first, state=RUNNING, total=9, done=4, touched=2, detail="d", owner="me",
        kind="skip", process="P", request={}, who="eve", why="?", created_at=LATER,
    )  # fmt: skip
    assert store.operations.change(other) is not None
    asked = {
        name: getattr(first, name)
        for name in ("kind", "process", "request", "who", "why", "created_at")
    }
    assert store.operations.get("o-1") == replace(other, **asked, rev=2)


def test_a_change_of_an_outdated_operation_is_refused(store: Store) -> None:
    (first,) = accept(store, "o-1")
    taken = store.operations.change(replace(first, state=RUNNING, owner="one"))
    assert store.operations.change(replace(first, state=RUNNING, owner="other")) is None
    assert taken is not None
    assert store.operations.change(replace(taken, rev=7)) is None
    assert store.operations.get("o-1") == taken
    assert taken.owner == "one"


def test_the_journal_records_the_acceptance_and_the_end_of_an_operation(store: Store) -> None:
    good, bad = accept(store, "good", "bad")
    good = store.operations.change(replace(good, state=RUNNING)) or good
    finish(store, good, detail="2 jobs")
    finish(store, bad, state=FAILED, detail="they keep changing")
    found = [replace(entry, seq=0) for entry in store.journal.since(0, 10)]

    def entry(at: Any, event: str, before: str, after: str, why: str, id_: str) -> JournalEntry:
        return JournalEntry(at, event, "SiteHourly", "", "", before, after, 0, why, "jo (mx)", id_)

    assert found == [
        entry(NOW, "operation.accepted", "", "accepted", "late data", "good"),
        entry(NOW, "operation.accepted", "", "accepted", "late data", "bad"),
        entry(LATER, "operation.done", "running", "done", "late data", "good"),
        entry(LATER, "operation.failed", "accepted", "failed", "they keep changing", "bad"),
    ]


def test_a_change_after_the_end_is_not_journaled(store: Store) -> None:
    (first,) = accept(store, "o-1")
    ended = finish(store, first)
    assert store.operations.change(replace(ended, detail="seen")) is not None
    assert events(store) == ["operation.accepted", "operation.done"]


def test_unfinished_operations_come_oldest_first(store: Store) -> None:
    one, two, three, four = accept(store, "d", "c", "b", "a")
    finish(store, two)
    finish(store, three, state=FAILED)
    store.operations.change(replace(one, state=RUNNING))
    assert ids(store.operations.unfinished()) == ["d", "a"]
    assert four.id == "a"


def test_pages_begin_with_the_newest_and_follow_one_another(store: Store) -> None:
    accept(store, *"abcde")
    page, cursor = store.operations.find(2)
    assert ids(page) == ["e", "d"]
    accept(store, "f")
    page, cursor = store.operations.find(2, cursor)
    assert ids(page) == ["c", "b"]
    assert ids(store.operations.find(2, cursor)[0]) == ["a"]
    assert store.operations.find(2, cursor)[1] is None
    assert store.operations.find(6)[1] is None


@pytest.mark.parametrize("cursor", ["", "x", "-1", "１", "1.5"])
def test_a_malformed_cursor_is_refused(store: Store, cursor: str) -> None:
    with pytest.raises(InvalidValue, match="cursor"):
        store.operations.find(2, cursor)


def test_finished_operations_are_deleted_in_the_order_of_their_end(store: Store) -> None:
    operations = accept(store, *"abcde")
    for minutes, operation in zip((3, 1, 2, 9), operations, strict=False):
        finish(store, operation, finished_at=NOW + timedelta(minutes=minutes))
    assert store.operations.prune(NOW + timedelta(minutes=3), 1) == 1
    assert {*ids(store.operations.find()[0])} == {*"acde"}
    assert store.operations.prune(NOW + timedelta(minutes=3), 10) == 1
    assert {*ids(store.operations.find()[0])} == {*"ade"}
    assert store.operations.prune(NOW + timedelta(days=1), 10) == 2
    assert ids(store.operations.find()[0]) == ["e"]
    assert store.operations.prune(NOW + timedelta(days=1), 10) == 0


@pytest.mark.parametrize("word", ODD)
def test_special_characters_in_operations_are_kept(store: Store, word: str) -> None:
    store.operations.accept(an_operation(word, who=word, why=word, process=word))
    found = store.operations.get(word)
    assert found is not None
    assert (found.id, found.who, found.why, found.process) == (word,) * 4


def _take(store: Store, owner: str) -> bool:
    (seen,) = store.operations.unfinished()
    return store.operations.change(replace(seen, rev=1, state=RUNNING, owner=owner)) is not None


def test_one_of_several_threads_takes_an_operation(store: Store) -> None:
    accept(store, "o-1")
    assert sorted(in_threads(8, lambda n: _take(store, str(n)))) == [False] * 7 + [True]


def test_one_of_several_processes_takes_an_operation(shared: Store, address: str) -> None:
    accept(shared, "o-1")
    taken = in_processes(address, _take, [(str(n),) for n in range(4)])
    assert sorted(taken) == [False] * 3 + [True]
    (found,) = shared.operations.unfinished()
    assert found.owner == str(taken.index(True))
