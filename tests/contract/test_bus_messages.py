"""The bus: messages leave when the batch that published them is durable, and only then."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress

import pytest

from synergy.messaging.message import EventsMessage, Message, UnitMessage
from synergy.messaging.protocol import Bus, Consumer
from synergy.messaging.quarantine import LONGEST_KEPT
from synergy.messaging.stored import StoredBus
from synergy.storage.protocol import Store
from tests.contract.concurrency import in_processes, in_threads, open_bus
from tests.contract.engines import RABBITMQ, STORED, WITHOUT_TRANSACTIONS

ONE, TWO, THREE = (UnitMessage("u", n) for n in (1, 2, 3))
WAIT_SECONDS = 30.0  # a bound: no passing test waits that long

Deliver = Callable[[bytes], None]


@pytest.fixture
def consumer(bus: Bus) -> Iterator[Consumer]:
    with closing(bus.consumer("q")) as consumer:
        yield consumer


def take_once(store: Store, consumer: Consumer, limit: int) -> list[Message]:
    with store.batch() as batch:
        return [delivery.message for delivery in consumer.take(limit, batch)]


def take(store: Store, consumer: Consumer, count: int) -> list[Message]:
    """Takes the next messages; fails if fewer than `count` arrive."""
    found = take_once(store, consumer, count)
    while len(found) < count:
        consumer.wait(WAIT_SECONDS)
        some = take_once(store, consumer, count - len(found))
        assert some or consumer.wait(WAIT_SECONDS), f"{found}, and nothing more comes"
        found += some
    return found


def take_together(store: Store, consumer: Consumer, count: int) -> list[Message]:
    """Takes `count` messages by a single call, once that many have arrived."""
    while True:
        with suppress(ZeroDivisionError), store.batch() as batch:
            found = consumer.take(count, batch)
            if len(found) < count:
                raise ZeroDivisionError
            return [delivery.message for delivery in found]
        assert consumer.wait(WAIT_SECONDS), f"{found}, and nothing more comes"


def is_empty(store: Store, bus: Bus, consumer: Consumer) -> bool:
    """Whether no message waits or is on its way."""
    found = take_once(store, consumer, 10)
    while not found and consumer.wait(
        0.05
    ):  # the wake-up may be for a message that was taken already
        found = take_once(store, consumer, 10)
    return not found and not bus.depths()


def publish(store: Store, bus: Bus, *messages: Message, queue: str = "q") -> None:
    with store.batch() as batch:
        bus.publish(queue, messages, batch)


def test_messages_arrive_unchanged_in_order(store: Store, bus: Bus, consumer: Consumer) -> None:
    events = EventsMessage([{"site": "ä", "at": 1}])
    publish(store, bus, ONE, events)
    publish(store, bus, TWO)
    assert bus.depths() == {"q": 3}
    assert take(store, consumer, 2) == [ONE, events]
    assert take(store, consumer, 1) == [TWO]
    assert is_empty(store, bus, consumer)


def test_a_take_gives_no_more_than_was_asked_for(
    store: Store, bus: Bus, consumer: Consumer
) -> None:
    publish(store, bus, ONE, TWO, THREE)
    assert take(store, consumer, 1) == [ONE]
    with store.batch() as batch:
        assert consumer.take(0, batch) == []
    assert take(store, consumer, 2) == [TWO, THREE]


def test_an_idle_consumer_is_woken_by_earlier_and_later_messages(
    store: Store, bus: Bus, consumer: Consumer
) -> None:
    assert take_once(store, consumer, 5) == []
    publish(store, bus, ONE)
    assert consumer.wait(WAIT_SECONDS)
    assert take(store, consumer, 1) == [ONE]
    publish(store, bus, TWO)
    assert consumer.wait(WAIT_SECONDS)
    assert take(store, consumer, 1) == [TWO]


def test_messages_for_several_queues_leave_together(
    store: Store, bus: Bus, consumer: Consumer
) -> None:
    with store.batch() as batch:
        bus.publish("q", [ONE], batch)
        bus.publish("other", [TWO], batch)
        bus.publish("q", [THREE], batch)
    assert bus.depths() == {"q": 2, "other": 1}
    assert bus.depths(["other", "no such queue"]) == {"other": 1}
    assert take(store, consumer, 2) == [ONE, THREE]


def test_messages_are_confirmed_once_they_are_durable(store: Store, bus: Bus) -> None:
    confirmed = []
    with suppress(ZeroDivisionError), store.batch() as batch:
        bus.publish("q", [ONE], batch, lambda: confirmed.append("lost"))
        confirmed.clear()  # stands for a write that the failed batch undoes
        raise ZeroDivisionError
    assert confirmed == []
    with store.batch() as batch:
        bus.publish("q", [ONE], batch, lambda: confirmed.append("one"))
        bus.publish("other", [TWO], batch, lambda: confirmed.append("two"))
        bus.publish("other", [], batch, lambda: confirmed.append("nothing"))
    assert confirmed == ["one", "two"]


def test_a_write_upon_confirmation_is_durable(store: Store, bus: Bus) -> None:
    with store.batch() as batch:
        bus.publish("q", [ONE], batch, lambda: store.facts.set("confirmed", "yes"))
    assert store.facts.get("confirmed") == "yes"


def test_undecodable_messages_are_put_into_quarantine(
    store: Store, bus: Bus, consumer: Consumer, deliver: Deliver
) -> None:
    publish(store, bus, ONE)
    deliver(b"\xff")
    deliver(b'{"v": 9}')
    publish(store, bus, TWO)
    assert take(store, consumer, 2) == [ONE, TWO]
    newest, oldest = bus.dead()
    assert (newest.queue, newest.body) == ("q", b'{"v": 9}')
    assert "version 9" in newest.reason
    assert oldest.body == b"\xff"
    assert is_empty(store, bus, consumer)


def test_a_failed_batch_wakes_no_consumer(store: Store, bus: Bus, consumer: Consumer) -> None:
    assert take_once(store, consumer, 1) == []
    with suppress(ZeroDivisionError), store.batch() as batch:
        bus.publish("q", [ONE], batch)
        raise ZeroDivisionError
    assert not consumer.wait(0.05)


def test_a_batch_after_a_failed_one_publishes_only_its_own_messages(
    request: pytest.FixtureRequest, store: Store, bus: Bus, consumer: Consumer
) -> None:
    if isinstance(bus, StoredBus) and request.node.callspec.params["store"] in WITHOUT_TRANSACTIONS:
        pytest.skip("without transactions, messages written before the failure stay")
    with suppress(ZeroDivisionError), store.batch() as batch:
        bus.publish("q", [ONE], batch)
        raise ZeroDivisionError
    publish(store, bus, TWO)
    assert take(store, consumer, 1) == [TWO]
    assert is_empty(store, bus, consumer)


def test_taken_messages_come_back_if_the_batch_fails(
    store: Store, bus: Bus, consumer: Consumer
) -> None:
    publish(store, bus, ONE, TWO)
    assert consumer.wait(WAIT_SECONDS)
    with suppress(ZeroDivisionError), store.batch() as batch:
        assert len(consumer.take(1, batch)) == 1
        raise ZeroDivisionError
    assert take(store, consumer, 2) == [ONE, TWO]
    assert is_empty(store, bus, consumer)


def test_messages_taken_together_are_acknowledged_together(
    store: Store, bus: Bus, place: str
) -> None:
    publish(store, bus, ONE, TWO, THREE)
    with closing(bus.consumer("q")) as consumer:
        assert take_together(store, consumer, 3) == [ONE, TWO, THREE]
    bus.close()
    with closing(open_bus(place, store)) as other, closing(other.consumer("q")) as consumer:
        last = UnitMessage("u", 4)
        publish(store, other, last)
        assert take(store, consumer, 1) == [last], "no acknowledged message is redelivered"
        assert is_empty(store, other, consumer)


def test_a_consumer_whose_take_failed_is_woken_again(
    store: Store, bus: Bus, consumer: Consumer
) -> None:
    publish(store, bus, ONE)
    assert consumer.wait(WAIT_SECONDS)
    for _ in range(3):
        with suppress(ZeroDivisionError), store.batch() as batch:
            if not consumer.take(1, batch):
                assert consumer.wait(WAIT_SECONDS)
            raise ZeroDivisionError
    assert take(store, consumer, 1) == [ONE]


def test_an_undecodable_message_does_not_block_the_next(
    store: Store, bus: Bus, consumer: Consumer, deliver: Deliver
) -> None:
    for _ in range(5):
        deliver(b"\xff")
    publish(store, bus, ONE, TWO)
    assert take(store, consumer, 1) == [ONE]
    assert take(store, consumer, 1) == [TWO]
    assert len(bus.dead()) == 5


def test_rejected_messages_are_put_into_quarantine_with_the_reason(
    store: Store, bus: Bus, consumer: Consumer
) -> None:
    publish(store, bus, ONE)
    assert consumer.wait(WAIT_SECONDS)
    with store.batch() as batch:
        (first,) = consumer.take(10, batch)
        consumer.reject(first, "no such thing", batch)
    (dead,) = bus.dead()
    assert (dead.queue, dead.body, dead.reason) == ("q", first.body, "no such thing")
    assert is_empty(store, bus, consumer)


def test_of_an_overlong_message_the_beginning_is_kept(
    store: Store, bus: Bus, consumer: Consumer, deliver: Deliver
) -> None:
    deliver(b"x" * (LONGEST_KEPT + 5))
    publish(store, bus, ONE)
    assert take(store, consumer, 1) == [ONE]
    (dead,) = bus.dead()
    assert dead.body == b"x" * LONGEST_KEPT
    assert f"it had {LONGEST_KEPT + 5} bytes" in dead.reason


def test_quarantine_is_replayed_or_purged(store: Store, bus: Bus, consumer: Consumer) -> None:
    publish(store, bus, ONE, TWO, THREE)
    rejected = 0
    while rejected < 3:
        assert consumer.wait(WAIT_SECONDS)
        with store.batch() as batch:
            for delivery in consumer.take(10, batch):
                consumer.reject(delivery, "later", batch)
                rejected += 1
    newest = bus.dead(limit=1)[0]
    assert bus.replay([newest.seq]) == {"q": 1}
    assert take(store, consumer, 1) == [THREE]
    assert bus.replay() == {"q": 2}
    assert take(store, consumer, 2) == [ONE, TWO]
    assert bus.replay() == {}
    assert bus.purge_dead() == 0


def test_waiting_messages_can_be_purged(store: Store, bus: Bus, deliver: Deliver) -> None:
    publish(store, bus, ONE, TWO)
    assert bus.purge("q") == 2
    assert bus.purge("q") == 0
    assert bus.depths() == {}


def test_a_closed_consumer_returns_its_prefetched_messages(store: Store, bus: Bus) -> None:
    publish(store, bus, ONE, TWO, THREE)
    with closing(bus.consumer("q")) as consumer:
        assert take(store, consumer, 1) == [ONE]
        consumer.wait(0.05)  # lets prefetched messages arrive
    with closing(bus.consumer("q")) as consumer:
        assert take(store, consumer, 2) == [TWO, THREE]


def test_declaring_again_changes_nothing(store: Store, bus: Bus) -> None:
    publish(store, bus, ONE)
    bus.declare(["q", "other"])
    assert bus.depths() == {"q": 1}


def test_each_message_goes_to_one_of_several_consumers(store: Store, bus: Bus) -> None:
    messages = [UnitMessage("u", n) for n in range(200)]
    publish(store, bus, *messages)
    taken: list[Message] = []
    lock = threading.Lock()

    def consume(_number: int) -> None:
        with closing(bus.consumer("q")) as consumer:
            while len(taken) < len(messages):
                found = take_once(store, consumer, 7)
                with lock:
                    taken.extend(found)
                if not found:
                    consumer.wait(0.1)

    in_threads(3, consume)
    assert sorted(taken, key=lambda m: m.attempt) == messages


def _answer(store: Store, place: str, inbox: str, outbox: str, first: bool) -> int:
    """Exchanges messages with the other side; returns how many waits timed out."""
    missed = 0
    with closing(open_bus(place, store)) as bus, closing(bus.consumer(inbox)) as consumer:
        for number in range(100):
            if first or number:
                publish(store, bus, ONE, queue=outbox)
            while not take_once(store, consumer, 10):
                missed += not consumer.wait(20)
        if not first:
            publish(store, bus, ONE, queue=outbox)
    return missed


@pytest.mark.parametrize("engine", [STORED, RABBITMQ])
def test_no_message_is_missed_between_processes(
    shared: Store, address: str, engine: str, request: pytest.FixtureRequest
) -> None:
    """A missed wake-up shows as a wait that times out after twenty seconds."""
    if engine == RABBITMQ:
        place = request.getfixturevalue("rabbitmq_url")
    else:
        place = f"stored:{request.getfixturevalue('tmp_path')}"
    with closing(open_bus(place, shared)) as bus:
        bus.declare(["ping", "pong"])
        sides = [(place, "ping", "pong", True), (place, "pong", "ping", False)]
        assert in_processes(address, _answer, sides) == [0, 0]
        assert bus.depths() == {}
