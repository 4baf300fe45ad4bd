"""Quarantine is bounded by number and by size: when it is full, the oldest messages are dropped."""

from __future__ import annotations

from synergy.storage.protocol import QuarantineContents, QuarantineLimits, Store
from tests.contract.concurrency import in_processes, in_threads
from tests.factories import NOW

THREE = QuarantineLimits(messages=3, bytes=1000)
SMALL = QuarantineLimits(messages=100, bytes=20)


def bury(store: Store, *bodies: bytes, limits: QuarantineLimits = THREE) -> list[int]:
    """Returns how many messages each addition drops; the reason has three bytes."""
    return [store.messages.bury("q", body, "odd", NOW, limits) for body in bodies]


def kept(store: Store) -> list[bytes]:
    return [message.body for message in reversed(store.messages.buried())]


def test_the_contents_are_counted(store: Store) -> None:
    assert store.messages.quarantine() == QuarantineContents(0, 0, 0)
    store.messages.bury("q", b"12345", "\xe4", NOW)
    store.messages.bury("p", b"", "", NOW)
    assert store.messages.quarantine() == QuarantineContents(2, 7, 0)


def test_the_oldest_are_dropped_beyond_the_number(store: Store) -> None:
    assert bury(store, b"1", b"2", b"3", b"4", b"5") == [0, 0, 0, 1, 1]
    assert kept(store) == [b"3", b"4", b"5"]
    assert store.messages.quarantine() == QuarantineContents(3, 12, 2)


def test_the_oldest_are_dropped_beyond_the_size(store: Store) -> None:
    assert bury(store, b"12", b"34", b"56", b"78", limits=SMALL) == [0, 0, 0, 0]
    assert bury(store, b"long message", limits=SMALL) == [3]
    assert kept(store) == [b"78", b"long message"]
    assert store.messages.quarantine() == QuarantineContents(2, 20, 3)


def test_what_was_replayed_or_purged_makes_room(store: Store) -> None:
    bury(store, b"1", b"2", b"3")
    newest, middle, _ = store.messages.buried()
    store.messages.replay([middle.seq])
    store.messages.purge_buried([newest.seq])
    assert store.messages.quarantine() == QuarantineContents(1, 4, 0)
    assert bury(store, b"4", b"5", b"6") == [0, 0, 1]
    assert kept(store) == [b"4", b"5", b"6"]
    store.messages.replay()
    assert store.messages.quarantine() == QuarantineContents(0, 0, 1)
    bury(store, b"7")
    store.messages.purge_buried()
    assert store.messages.quarantine() == QuarantineContents(0, 0, 1)


def test_a_quarantine_that_is_much_too_large_is_cut_at_once(store: Store) -> None:
    bury(store, *[b"%d" % n for n in range(30)], limits=QuarantineLimits(100, 1000))
    assert bury(store, b"last") == [28]
    assert kept(store) == [b"28", b"29", b"last"]


def _bury_some(store: Store, start: int, count: int) -> int:
    return sum(bury(store, *[b"%d" % n for n in range(start, start + count)]))


def test_threads_keep_the_limits_together(store: Store) -> None:
    dropped = in_threads(4, lambda n: _bury_some(store, n * 10, 8))
    assert sum(dropped) == 4 * 8 - 3
    assert store.messages.quarantine().messages == len(kept(store)) == 3
    assert store.messages.quarantine().dropped == 4 * 8 - 3


def test_processes_keep_the_limits_together(shared: Store, address: str) -> None:
    dropped = in_processes(address, _bury_some, [(0, 10), (50, 10)])
    assert sum(dropped) == 20 - 3
    assert shared.messages.quarantine().messages == len(kept(shared)) == 3
    assert shared.messages.quarantine().dropped == 20 - 3
