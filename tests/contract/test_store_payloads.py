"""Payloads: long bodies, each stored under a name derived from its content."""

from __future__ import annotations

import random

import pytest

from synergy.errors import InvalidValue
from synergy.storage.mongodb import payloads
from synergy.storage.protocol import Store
from tests.contract.concurrency import in_processes, in_threads

LONGEST = 16_777_215


def content(size: int, seed: int = 0) -> bytes:
    return random.Random(seed).randbytes(size)


@pytest.fixture
def long(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """A payload that MongoDB stores in two parts, yet small enough for the test server."""
    monkeypatch.setattr(payloads, "PART", 1_000)
    return content(1_500)


@pytest.mark.parametrize("size", [0, 1, 70_000, LONGEST])
def test_a_payload_comes_back_byte_for_byte(store: Store, size: int) -> None:
    given = content(size)
    name = store.payloads.put(given)
    assert store.payloads.get(name) == given


@pytest.mark.parametrize("size", [999, 1_000, 1_001, 2_000])
def test_payloads_around_the_size_of_a_part_come_back_whole(
    store: Store, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payloads, "PART", 1_000)
    given = content(size)
    assert store.payloads.get(store.payloads.put(given)) == given


def test_payloads_are_not_interpreted(store: Store) -> None:
    for given in (bytes(range(256)), b"\0", "Zürich 東京".encode(), b'{"$a": 1}'):
        assert store.payloads.get(store.payloads.put(given)) == given


def test_a_payload_that_is_too_long_is_refused(store: Store) -> None:
    with pytest.raises(InvalidValue, match="16,777,215"):
        store.payloads.put(bytes(LONGEST + 1))
    assert store.payloads.prune([]) == 0


def test_equal_content_has_the_same_name(store: Store) -> None:
    one, other = store.payloads.put(b"one"), store.payloads.put(b"other")
    assert one != other
    assert store.payloads.put(b"one") == one
    assert store.payloads.prune([]) == 2


def test_an_unknown_payload_is_not_found(store: Store) -> None:
    store.payloads.put(b"one")
    assert store.payloads.get("unknown") is None
    assert store.payloads.get("") is None


def test_pruning_deletes_all_payloads_but_the_named_ones(store: Store, long: bytes) -> None:
    names = [store.payloads.put(given) for given in (b"a", b"b", long, b"c")]
    assert store.payloads.prune([names[1], names[2], "unknown", names[1]]) == 2
    kept = [store.payloads.get(name) for name in names]
    assert kept == [None, b"b", long, None]
    assert store.payloads.prune([names[1]]) == 1
    assert store.payloads.get(names[2]) is None
    assert store.payloads.prune([names[1]]) == 0


def test_a_deleted_payload_can_be_put_again(store: Store, long: bytes) -> None:
    name = store.payloads.put(long)
    assert store.payloads.prune([]) == 1
    assert store.payloads.put(long) == name
    assert store.payloads.get(name) == long


def test_equal_payloads_of_several_writers_are_stored_once(store: Store, long: bytes) -> None:
    names = in_threads(3, lambda _: store.payloads.put(long))
    assert len(set(names)) == 1
    assert store.payloads.get(names[0]) == long
    assert store.payloads.prune([]) == 1


def _put(store: Store, seed: int) -> list[str]:
    return [store.payloads.put(content(1_000, n)) for n in range(seed, seed + 10)]


def test_payloads_are_shared_between_processes(shared: Store, address: str) -> None:
    first, second = in_processes(address, _put, [(0,), (5,)])
    assert first[5:] == second[:5]
    for n, name in enumerate(first):
        assert shared.payloads.get(name) == content(1_000, n)
    assert shared.payloads.prune([]) == 15
