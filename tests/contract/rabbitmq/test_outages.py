"""RabbitMQ goes away, and comes back: nobody has to do anything about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from synergy.errors import MessagingUnavailable
from synergy.messaging.message import UnitMessage, encode
from synergy.messaging.protocol import Consumer, Waiter
from synergy.messaging.rabbitmq import reconnecting
from tests.contract.rabbitmq.kit import LONG, ONE, THREE, TWO, Client, client, undeclared
from tests.servers.rabbitmq import Broker, Node, connect, ill_treated


@pytest.fixture(scope="module")
def broker(rabbitmq: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with ill_treated(rabbitmq, tmp_path_factory.mktemp("rabbitmq")) as broker:
        yield broker


@pytest.fixture
def node(broker: Broker) -> Iterator[Node]:
    assert broker.node is not None
    yield broker.node
    if broker.node.process is None:  # if a test failed while it was away
        broker.node.start()
    broker.node.go_on()  # or while it stood still


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pauses of half a minute are for brokers that are away for longer."""
    quick = replace(reconnecting.RULE, first=0.1, longest=0.5)
    monkeypatch.setattr(reconnecting, "RULE", quick)


@pytest.fixture
def rabbit(broker: Broker, node: Node) -> Iterator[Client]:
    with client(broker.url) as rabbit:
        rabbit.bus.purge("q")
        yield rabbit


@pytest.fixture
def consumer(rabbit: Client) -> Iterator[Consumer]:
    with closing(rabbit.bus.consumer("q")) as consumer:
        yield consumer


@pytest.fixture
def listener(rabbit: Client) -> Iterator[Waiter]:
    with closing(rabbit.bus.listener("scheduler")) as listener:
        yield listener


def prove_well(broker: Broker, rabbit: Client, consumer: Consumer, listener: Waiter) -> None:
    """What was open before works as if nothing had happened."""
    rabbit.insist(THREE)
    rabbit.until(consumer, THREE)
    while listener.wait(0):
        pass
    with client(broker.url) as other:
        other.bus.notify("scheduler")
        for _ in range(int(LONG)):  # the first may have come before the listener
            if listener.wait(1):
                return
            other.bus.notify("scheduler")
    raise AssertionError("nobody is heard")


def test_a_restart(
    broker: Broker, node: Node, rabbit: Client, consumer: Consumer, listener: Waiter
) -> None:
    """Who comes while it is away waits for it, as those do who knew it."""
    rabbit.publish(ONE)
    node.stop_app()
    with pytest.raises(MessagingUnavailable):
        rabbit.publish(TWO)
    with pytest.raises(MessagingUnavailable):
        rabbit.bus.depths()
    assert rabbit.take_once(consumer) == []
    assert not consumer.wait(0)
    rabbit.bus.notify("scheduler")
    assert listener.wait(LONG), "one's own process is heard nevertheless"
    with undeclared(broker.url) as late:
        with closing(late.bus.consumer("q")), pytest.raises(MessagingUnavailable):
            late.bus.declare(["q"])
        with (
            closing(late.bus.consumer("q")) as late_consumer,
            closing(late.bus.listener("scheduler")) as late_listener,
        ):
            assert late.take_once(late_consumer) == []
            node.start_app()
            assert rabbit.take(consumer, 1) == [ONE]
            consumer.close()  # what comes next is for the other one
            prove_well(broker, late, late_consumer, late_listener)
    with closing(rabbit.bus.consumer("q")) as again:
        prove_well(broker, rabbit, again, listener)


def test_a_kill_9(
    broker: Broker, node: Node, rabbit: Client, consumer: Consumer, listener: Waiter
) -> None:
    """What was confirmed survives, and what was taken and not done comes again."""
    messages = [UnitMessage("u", n) for n in range(500)]
    rabbit.publish(*messages)
    assert consumer.wait(LONG)
    with rabbit.store.batch() as batch:
        assert [delivery.message for delivery in consumer.take(1, batch)] == messages[:1]
        node.kill()
        node.start()
    assert rabbit.take(consumer, len(messages)) == messages
    prove_well(broker, rabbit, consumer, listener)


def test_a_broker_that_lost_everything(
    broker: Broker, node: Node, rabbit: Client, consumer: Consumer, listener: Waiter
) -> None:
    """Its queues and exchanges are made again by whoever needs them."""
    rabbit.publish(ONE)
    node.lose_everything()
    prove_well(broker, rabbit, consumer, listener)
    assert rabbit.bus.depths() == {}


def test_queues_that_are_purged(
    broker: Broker, rabbit: Client, consumer: Consumer, listener: Waiter
) -> None:
    rabbit.publish(ONE, TWO)
    with closing(connect(broker.url)) as connection:
        connection.channel().queue_purge("synergy.q")
    prove_well(broker, rabbit, consumer, listener)


def test_connections_that_are_closed_by_force(
    broker: Broker, node: Node, rabbit: Client, consumer: Consumer, listener: Waiter
) -> None:
    for _ in range(2):
        rabbit.insist(ONE)
        rabbit.until(consumer, ONE)
        node.close_connections()
    prove_well(broker, rabbit, consumer, listener)


def test_a_broker_that_stands_still(
    broker: Broker, node: Node, rabbit: Client, consumer: Consumer, listener: Waiter
) -> None:
    rabbit.publish(ONE)
    node.pause()
    with pytest.raises(MessagingUnavailable):
        rabbit.publish(TWO)
    with pytest.raises(MessagingUnavailable):
        rabbit.bus.depths()
    rabbit.bus.notify("scheduler")
    node.go_on()
    prove_well(broker, rabbit, consumer, listener)


def test_a_broker_without_memory_takes_nothing_but_gives(
    broker: Broker, node: Node, rabbit: Client
) -> None:
    """It stops reading from who publishes; acks come by another connection, and are heard."""
    messages = [UnitMessage("u", n) for n in range(100)]
    rabbit.publish(*messages)
    node.limit_memory('{absolute, "1MB"}')
    try:
        with pytest.raises(MessagingUnavailable):
            rabbit.publish(ONE)  # who publishes while it is short is told
        with pytest.raises(MessagingUnavailable, match="takes no messages at the moment: low on"):
            rabbit.publish(ONE)
        found: list[object] = []
        with closing(rabbit.bus.consumer("q")) as consumer:
            while len(found) < len(messages):
                found += rabbit.take(consumer, 1) + rabbit.take_once(consumer, 10)
        assert found[: len(messages)] == messages
        with closing(connect(broker.url)) as connection:
            left = connection.channel().basic_get("synergy.q", auto_ack=True)[2]
        assert left in (None, encode(ONE)), "what was not acknowledged is there again"
    finally:
        node.limit_memory("0.4")
    with closing(rabbit.bus.consumer("q")) as consumer:
        rabbit.insist(TWO)
        rabbit.until(consumer, TWO)
