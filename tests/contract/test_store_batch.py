"""Batches on every engine; see `test_store_transactions` for the engines with transactions."""

from __future__ import annotations

from contextlib import suppress

import pytest

from synergy.errors import StorageUnavailable
from synergy.storage.protocol import Batch, Store
from tests.contract.concurrency import in_threads


def test_a_batch_reads_its_own_writes(store: Store) -> None:
    with store.batch():
        store.facts.set("a", "1")
        assert store.facts.get("a") == "1"
    assert store.facts.get("a") == "1"


def test_actions_after_a_commit_run_in_order(store: Store) -> None:
    calls = []
    with store.batch() as batch:
        batch.after_commit(lambda: calls.append(("first", store.facts.get("a"))))
        store.facts.set("a", "1")
        batch.after_commit(lambda: calls.append(("second", store.facts.get("a"))))
        assert calls == []
    assert calls == [("first", "1"), ("second", "1")]


def test_an_action_that_raises_keeps_no_other_from_being_called(store: Store) -> None:
    calls = []

    def write(batch: Batch) -> None:
        store.facts.set("a", "1")
        batch.after_commit(lambda: calls.append("first"))
        batch.after_commit(lambda: 1 // 0)
        batch.after_commit(lambda: calls.append("last"))

    with pytest.raises(ZeroDivisionError), store.batch() as batch:
        write(batch)
    assert calls == ["first", "last"]
    assert store.facts.get("a") == "1"


def test_actions_after_a_commit_may_write_in_their_own_batch(store: Store) -> None:
    calls = []

    def write() -> None:
        with store.batch() as batch:
            store.facts.set("b", "1")
            batch.after_commit(lambda: calls.append(1))
        assert calls == [1]

    with store.batch() as batch:
        store.facts.set("a", "1")
        batch.after_commit(write)
    assert (store.facts.get("a"), store.facts.get("b")) == ("1", "1")


def test_actions_after_a_failure_run_only_when_the_batch_fails(store: Store) -> None:
    calls = []

    def watch(batch: Batch, name: str) -> None:
        batch.after_commit(lambda: calls.append(f"{name} is durable"))
        batch.after_failure(lambda: calls.append(f"{name} failed"))

    with suppress(ZeroDivisionError), store.batch() as batch:
        watch(batch, "one")
        with store.batch() as inner:
            watch(inner, "its part")
        raise ZeroDivisionError
    assert calls == ["one failed", "its part failed"]
    with store.batch() as batch:
        watch(batch, "another")
    with suppress(StorageUnavailable), store.batch() as batch:
        watch(batch, "a third")
        with suppress(ZeroDivisionError), store.batch():
            raise ZeroDivisionError
    assert calls[2:] == ["another is durable", "a third failed"]


def test_actions_of_an_inner_batch_run_after_the_outer_commit(store: Store) -> None:
    calls = []
    with store.batch() as batch:
        with store.batch() as inner:
            inner.after_commit(lambda: calls.append("inner"))
        batch.after_commit(lambda: calls.append("outer"))
        assert calls == []
    assert calls == ["inner", "outer"]


def test_a_batch_with_a_failed_inner_batch_fails_and_writes_nothing_more(
    store: Store,
) -> None:
    calls = []

    def write_after_a_failure() -> None:
        with store.batch() as batch:
            batch.after_commit(lambda: calls.append(1))
            with suppress(ZeroDivisionError), store.batch():
                raise ZeroDivisionError
            store.facts.set("a", "1")

    with pytest.raises(StorageUnavailable, match="batch failed"):
        write_after_a_failure()
    assert (store.facts.get("a"), calls) == (None, [])


def test_each_thread_has_its_own_batch(store: Store) -> None:
    def act(number: int) -> list[int]:
        calls: list[int] = []
        for step in range(20):
            with suppress(ZeroDivisionError), store.batch() as batch:
                batch.after_commit(lambda: calls.append(step))  # noqa: B023 - runs in this turn
                if step % 2:
                    raise ZeroDivisionError
        return calls

    assert in_threads(4, act) == [list(range(0, 20, 2))] * 4


def test_actions_after_a_commit_are_dropped_with_a_failed_batch(store: Store) -> None:
    calls = []
    with suppress(ZeroDivisionError), store.batch() as batch:
        batch.after_commit(lambda: calls.append(1))
        raise ZeroDivisionError
    with store.batch():
        store.facts.set("a", "1")
    assert calls == []


def test_a_refused_call_within_a_batch_does_not_fail_the_batch(store: Store) -> None:
    with store.batch():
        assert store.leases.take(None, "lease", "a") is not None
        assert store.leases.take(None, "lease", "b") is None
        store.facts.set("a", "1")
    assert store.facts.get("a") == "1"


def test_a_closed_store_raises_an_error(store: Store) -> None:
    store.close()
    with pytest.raises(StorageUnavailable, match="closed"):
        store.facts.get("a")
    with pytest.raises(StorageUnavailable, match="closed"), store.batch():
        pytest.fail("the batch began")
