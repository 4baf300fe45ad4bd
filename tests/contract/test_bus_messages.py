"""The bus: messages exist exactly when the batch that published them does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import chain
from pathlib import Path

import pytest

from synergy.messaging.message import EventsMessage, UnitMessage
from synergy.messaging.protocol import Bus, Consumer
from synergy.messaging.stored import StoredBus
from synergy.storage.protocol import Store
from tests.contract.crowd import in_processes, in_threads

ONE, TWO, THREE = (UnitMessage("u", n) for n in (1, 2, 3))


@pytest.fixture
def consumer(bus: Bus) -> Iterator[Consumer]:
    with closing(bus.consumer("q")) as consumer:
        yield consumer


def take(store: Store, consumer: Consumer, limit: int = 10) -> list[object]:
    with store.batch() as batch:
        return [delivery.message for delivery in consumer.take(limit, batch)]


def publish(store: Store, bus: Bus, *messages: UnitMessage | EventsMessage) -> None:
    with store.batch() as batch:
        bus.publish("q", messages, batch)


def test_messages_arrive_in_order_as_they_were(store: Store, bus: Bus, consumer: Consumer) -> None:
    events = EventsMessage([{"site": "ä", "at": 1}])
    publish(store, bus, ONE, events)
    publish(store, bus, TWO)
    assert bus.depths() == {"q": 3}
    assert take(store, consumer, 2) == [ONE, events]
    assert take(store, consumer, 2) == [TWO]
    assert take(store, consumer, 2) == []


def test_what_cannot_be_decoded_is_put_into_quarantine(
    store: Store, bus: Bus, consumer: Consumer
) -> None:
    publish(store, bus, ONE)
    store.messages.put("q", [b"\xff", b'{"v": 9}'])
    publish(store, bus, TWO)
    assert take(store, consumer) == [ONE, TWO]
    newest, oldest = bus.dead()
    assert (newest.queue, newest.body) == ("q", b'{"v": 9}')
    assert "version 9" in newest.reason
    assert oldest.body == b"\xff"
    assert bus.depths() == {}


def test_nobody_is_woken_by_a_batch_that_failed(store: Store, bus: Bus, consumer: Consumer) -> None:
    with suppress(ZeroDivisionError), store.batch() as batch:
        bus.publish("q", [ONE], batch)
        raise ZeroDivisionError
    assert not consumer.wait(0)


def test_what_was_taken_comes_back_if_the_batch_fails(
    store: Store, bus: Bus, consumer: Consumer
) -> None:
    publish(store, bus, ONE, TWO)
    with suppress(ZeroDivisionError), store.batch() as batch:
        assert len(consumer.take(1, batch)) == 1
        raise ZeroDivisionError
    assert take(store, consumer) == [ONE, TWO]


def test_what_cannot_be_decoded_hides_nothing_behind_it(
    store: Store, bus: Bus, consumer: Consumer
) -> None:
    store.messages.put("q", [b"\xff"] * 5)
    publish(store, bus, ONE, TWO)
    assert take(store, consumer, 1) == [ONE]
    assert take(store, consumer, 1) == [TWO]


def test_what_is_rejected_is_put_into_quarantine_with_the_reason(
    store: Store, bus: Bus, consumer: Consumer
) -> None:
    publish(store, bus, ONE, TWO)
    with store.batch() as batch:
        first, _ = consumer.take(10, batch)
        consumer.reject(first, "no such thing", batch)
    (dead,) = bus.dead()
    assert (dead.body, dead.reason) == (first.body, "no such thing")
    assert take(store, consumer) == []


def test_quarantine_is_replayed_or_purged(store: Store, bus: Bus, consumer: Consumer) -> None:
    publish(store, bus, ONE, TWO, THREE)
    with store.batch() as batch:
        for delivery in consumer.take(10, batch):
            consumer.reject(delivery, "later", batch)
    while consumer.wait(0):
        pass
    newest = bus.dead(limit=1)[0]
    assert bus.replay([newest.seq]) == {"q": 1}
    assert consumer.wait(0), "a replayed message wakes its consumer"
    assert take(store, consumer) == [THREE]
    assert bus.replay() == {"q": 2}
    assert take(store, consumer) == [ONE, TWO]
    with store.batch() as batch:
        bus.publish("q", [ONE], batch)
    assert bus.purge("q") == 1
    assert bus.purge_dead() == 0


def test_each_message_goes_to_one_of_several_consumers(store: Store, bus: Bus) -> None:
    messages = [UnitMessage("u", n) for n in range(200)]
    publish(store, bus, *messages)

    def consume(_number: int) -> list[object]:
        taken: list[object] = []
        with closing(bus.consumer("q")) as consumer:
            while found := take(store, consumer, 7):
                taken.extend(found)
        return taken

    taken = in_threads(3, consume)
    assert sorted(chain(*taken), key=lambda m: m.attempt) == messages


def _answer(store: Store, home: str, inbox: str, outbox: str, first: bool) -> int:
    """Plays a message to and fro; how often a wait ended without being woken."""
    missed = 0
    with closing(StoredBus(store, Path(home))) as bus, closing(bus.consumer(inbox)) as consumer:
        for number in range(100):
            if first or number:
                with store.batch() as batch:
                    bus.publish(outbox, [ONE], batch)
            while not take(store, consumer):
                missed += not consumer.wait(20)
        if not first:
            with store.batch() as batch:
                bus.publish(outbox, [ONE], batch)
    return missed


def test_no_ring_is_lost_between_processes(shared: Store, address: str, tmp_path: Path) -> None:
    """A wait that nobody ends would show as a miss, and take twenty seconds."""
    home = str(tmp_path)
    sides = [(home, "ping", "pong", True), (home, "pong", "ping", False)]
    assert in_processes(address, _answer, sides) == [0, 0]
    assert shared.messages.depths() == {}
