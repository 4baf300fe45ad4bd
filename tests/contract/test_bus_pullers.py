"""Pullers take from many queues in turn: they are woken together, and hold no message meanwhile."""

from __future__ import annotations

from contextlib import closing, suppress

from synergy.messaging.message import UnitMessage
from synergy.messaging.protocol import Bus, Puller
from synergy.names import POOL_TOPIC
from synergy.storage.protocol import Store
from tests.contract.concurrency import open_bus
from tests.contract.test_bus_messages import (
    ONE,
    THREE,
    TWO,
    WAIT_SECONDS,
    Deliver,
    publish,
    take,
    take_once,
)


def pulled(store: Store, puller: Puller, limit: int) -> list[object]:
    with store.batch() as batch:
        return [delivery.message for delivery in puller.take(limit, batch)]


def test_a_pooled_queue_wakes_the_pools_after_the_commit(store: Store, bus: Bus) -> None:
    with closing(bus.listener(POOL_TOPIC)) as pool:
        publish(store, bus, ONE, queue="other")
        assert not pool.wait(0), "the queue is not pooled"
        with suppress(ZeroDivisionError), store.batch() as batch:
            bus.publish("pooled", [ONE], batch)
            assert not pool.wait(0)
            raise ZeroDivisionError
        assert not pool.wait(0), "nothing was published"
        publish(store, bus, ONE, queue="pooled")
        assert pool.wait(WAIT_SECONDS)


def test_a_pool_is_woken_by_another_process(store: Store, bus: Bus, place: str) -> None:
    if place == "stored:":
        return  # a store in memory has no other process
    with closing(bus.listener(POOL_TOPIC)) as pool:
        with closing(open_bus(place, store, ["pooled"])) as other:
            publish(store, other, ONE, queue="pooled")
        assert pool.wait(WAIT_SECONDS)


def test_replayed_messages_wake_the_pools(store: Store, bus: Bus) -> None:
    publish(store, bus, ONE, queue="pooled")
    puller = bus.puller("pooled")
    with store.batch() as batch:
        (found,) = puller.take(1, batch)
        puller.reject(found, "later", batch)
    with closing(bus.listener(POOL_TOPIC)) as pool:
        assert bus.replay() == {"pooled": 1}
        assert pool.wait(WAIT_SECONDS)
    assert pulled(store, puller, 1) == [ONE]


def test_a_puller_takes_what_waits_oldest_first_and_no_more_than_asked(
    store: Store, bus: Bus
) -> None:
    publish(store, bus, ONE, TWO, THREE)
    publish(store, bus, UnitMessage("o", 1), queue="other")
    puller, other = bus.puller("q"), bus.puller("other")
    assert pulled(store, puller, 2) == [ONE, TWO]
    assert pulled(store, other, 64) == [UnitMessage("o", 1)]
    assert pulled(store, puller, 64) == [THREE]
    assert pulled(store, puller, 64) == []
    assert bus.depths() == {}


def test_a_puller_leaves_what_it_did_not_take_for_others(store: Store, bus: Bus) -> None:
    publish(store, bus, ONE, TWO)
    first, second = bus.puller("q"), bus.puller("q")
    assert pulled(store, first, 1) == [ONE]
    assert pulled(store, second, 64) == [TWO]


def test_a_consumer_and_a_puller_share_a_queue(store: Store, bus: Bus) -> None:
    publish(store, bus, ONE, TWO)
    assert pulled(store, bus.puller("q"), 1) == [ONE]
    with closing(bus.consumer("q")) as consumer:
        assert take(store, consumer, 1) == [TWO]
        assert take_once(store, consumer, 1) == []


def test_messages_of_a_batch_that_fails_come_again(store: Store, bus: Bus) -> None:
    publish(store, bus, ONE, TWO)
    puller = bus.puller("q")
    with suppress(ZeroDivisionError), store.batch() as batch:
        assert len(puller.take(2, batch)) == 2
        raise ZeroDivisionError
    found: list[object] = []
    while len(found) < 2:  # a broker may still be putting them back
        found += pulled(store, puller, 2)
    assert found == [ONE, TWO]


def test_taken_messages_do_not_come_again_after_the_end(store: Store, bus: Bus, place: str) -> None:
    publish(store, bus, ONE, TWO)
    assert pulled(store, bus.puller("q"), 1) == [ONE]
    bus.close()
    with closing(open_bus(place, store)) as other:
        assert pulled(store, other.puller("q"), 64) == [TWO]


def test_a_puller_puts_what_it_cannot_read_into_quarantine(
    store: Store, bus: Bus, deliver: Deliver
) -> None:
    for _ in range(3):
        deliver(b"\xff")
    publish(store, bus, ONE)
    assert pulled(store, bus.puller("q"), 1) == [ONE]
    assert len(bus.dead()) == 3


def test_a_queue_that_nobody_declared_is_empty(store: Store, bus: Bus) -> None:
    puller = bus.puller("undeclared")
    assert pulled(store, puller, 1) == []
    publish(store, bus, ONE, queue="undeclared")
    assert pulled(store, puller, 1) == [ONE]
