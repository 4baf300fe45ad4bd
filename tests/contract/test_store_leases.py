"""Leases: compare-and-set on holder, epoch and seq."""

from __future__ import annotations

from dataclasses import replace

from synergy.model.lease import Lease
from synergy.storage.protocol import Store
from tests.contract.concurrency import in_processes, in_threads


def test_a_lease_that_was_never_taken_does_not_exist(store: Store) -> None:
    assert store.leases.read("scheduler") is None


def test_the_first_taker_holds_the_lease(store: Store) -> None:
    lease = store.leases.take(None, "scheduler", "a")
    assert lease == Lease("scheduler", "a", 1, 0)
    assert store.leases.read("scheduler") == lease
    assert store.leases.take(None, "scheduler", "b") is None
    assert store.leases.take(None, "other", "b") == Lease("other", "b", 1, 0)


def test_a_lease_is_renewed_once_from_each_seq(store: Store) -> None:
    lease = store.leases.take(None, "scheduler", "a")
    assert lease is not None
    renewed = store.leases.renew(lease)
    assert renewed == replace(lease, seq=1)
    assert store.leases.renew(lease) is None
    assert store.leases.read("scheduler") == renewed


def test_several_leases_are_renewed_independently_in_one_call(store: Store) -> None:
    leases = [store.leases.take(None, name, "a") for name in ("x/1", "x/2", "x/3")]
    held = [lease for lease in leases if lease is not None]
    assert store.leases.take(held[1], "x/2", "b") is not None
    assert store.leases.renew_all(held) == [replace(held[0], seq=1), replace(held[2], seq=1)]
    assert store.leases.renew_all([]) == []
    assert store.leases.read("x/3") == replace(held[2], seq=1)


def test_leases_are_found_by_the_prefix_of_their_names(store: Store) -> None:
    for name in ("scheduler/b", "scheduler/a_", "scheduler/a%", "schedulers", "Scheduler/c"):
        store.leases.take(None, name, "a")
    found = store.leases.all("scheduler/")
    assert [lease.name for lease in found] == ["scheduler/a%", "scheduler/a_", "scheduler/b"]
    assert found[0] == store.leases.read("scheduler/a%")
    assert store.leases.all("nobody") == []


def test_a_takeover_fails_if_the_lease_changed_since_it_was_read(store: Store) -> None:
    seen = store.leases.take(None, "scheduler", "a")
    assert seen is not None
    renewed = store.leases.renew(seen)
    assert renewed is not None
    assert store.leases.take(seen, "scheduler", "b") is None
    assert store.leases.take(renewed, "scheduler", "b") == Lease("scheduler", "b", 2, 0)
    assert store.leases.renew(renewed) is None
    assert not store.leases.release(renewed)


def test_a_released_lease_can_be_taken_but_not_renewed(store: Store) -> None:
    lease = store.leases.take(None, "scheduler", "a")
    assert lease is not None
    assert store.leases.release(lease)
    released = store.leases.read("scheduler")
    assert released == replace(lease, released=True)
    assert store.leases.renew(lease) is None
    assert store.leases.take(lease, "scheduler", "b") is None
    assert store.leases.take(released, "scheduler", "b") == Lease("scheduler", "b", 2, 0)


def test_a_release_needs_the_same_holder_and_epoch_but_not_the_latest_seq(store: Store) -> None:
    lease = store.leases.take(None, "scheduler", "a")
    assert lease is not None
    store.leases.renew(lease)
    assert not store.leases.release(replace(lease, epoch=2))
    assert not store.leases.release(replace(lease, holder="b"))
    assert store.leases.release(lease)


def test_one_of_many_threads_takes_the_lease(store: Store) -> None:
    won = in_threads(6, lambda n: store.leases.take(None, "scheduler", f"h{n}"))
    assert len([lease for lease in won if lease]) == 1


def _snatch(store: Store, holder: str) -> list[int]:
    """Takes the lease repeatedly, from its current holder; returns the epochs won."""
    won = []
    for _ in range(100):
        lease = store.leases.take(store.leases.read("scheduler"), "scheduler", holder)
        if lease:
            won.append(lease.epoch)
    return won


def test_no_epoch_is_given_to_two_processes(shared: Store, address: str) -> None:
    won = in_processes(address, _snatch, [("a",), ("b",), ("c",)])
    epochs = sorted(epoch for some in won for epoch in some)
    assert epochs == list(range(1, len(epochs) + 1))
    final = shared.leases.read("scheduler")
    assert final is not None
    assert final.epoch == epochs[-1]
