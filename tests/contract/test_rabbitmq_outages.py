"""RabbitMQ goes away, and comes back: nobody has to do anything about it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from functools import partial

import pytest

from synergy.errors import MessagingUnavailable
from synergy.messaging.message import UnitMessage
from synergy.messaging.protocol import Consumer, Waiter
from synergy.messaging.rabbitmq import link
from tests.contract.rabbits import LONG, ONE, THREE, TWO, Client, client, undeclared
from tests.servers.rabbitmq import Broker, Node, running_own


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """One that may be ill-treated."""
    with running_own(tmp_path_factory.mktemp("rabbitmq")) as broker:
        yield broker


@pytest.fixture
def node(broker: Broker) -> Iterator[Node]:
    assert broker.node is not None
    yield broker.node
    if broker.node.process is not None:
        broker.node.go_on()  # if a test failed while it stood still


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pauses of half a minute are for brokers that are away for longer."""
    monkeypatch.setattr(link, "FIRST_PAUSE", 0.1)
    monkeypatch.setattr(link, "LONGEST_PAUSE", 0.5)


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
    rabbit.publish(ONE)
    node.ctl("stop_app")
    with pytest.raises(MessagingUnavailable):
        rabbit.publish(TWO)
    with pytest.raises(MessagingUnavailable):
        rabbit.bus.depths()
    assert rabbit.take_once(consumer) == []
    assert not consumer.wait(0)
    rabbit.bus.notify("scheduler")
    assert listener.wait(LONG), "one's own process is heard nevertheless"
    node.ctl("start_app")
    assert rabbit.take(consumer, 1) == [ONE]
    prove_well(broker, rabbit, consumer, listener)


def test_who_comes_while_it_is_away_waits_for_it(broker: Broker, node: Node) -> None:
    node.stop()
    with undeclared(broker.url) as rabbit:
        with closing(rabbit.bus.consumer("q")) as consumer, pytest.raises(MessagingUnavailable):
            rabbit.bus.declare(["q"])
        with (
            closing(rabbit.bus.consumer("q")) as consumer,
            closing(rabbit.bus.listener("scheduler")) as listener,
        ):
            assert rabbit.take_once(consumer) == []
            node.start()
            prove_well(broker, rabbit, consumer, listener)


def test_what_was_confirmed_survives_kill_9(
    broker: Broker, node: Node, rabbit: Client, consumer: Consumer, listener: Waiter
) -> None:
    messages = [UnitMessage("u", n) for n in range(500)]
    rabbit.publish(*messages)
    node.kill()
    node.start()
    found = rabbit.take(consumer, len(messages))
    assert found == messages
    prove_well(broker, rabbit, consumer, listener)


def test_what_was_taken_and_not_done_comes_again_after_kill_9(
    broker: Broker, node: Node, rabbit: Client, consumer: Consumer
) -> None:
    rabbit.publish(ONE)
    assert consumer.wait(LONG)
    with rabbit.store.batch() as batch:
        assert [delivery.message for delivery in consumer.take(1, batch)] == [ONE]
        node.kill()
        node.start()
    assert rabbit.take(consumer, 1) == [ONE]


def test_a_broker_that_lost_everything(
    broker: Broker, node: Node, rabbit: Client, consumer: Consumer, listener: Waiter
) -> None:
    """Its queues and exchanges are made again by whoever needs them."""
    rabbit.publish(ONE)
    node.kill()
    shutil.rmtree(node.folder / "data")
    node.start()
    prove_well(broker, rabbit, consumer, listener)
    assert rabbit.bus.depths() == {}


def test_queues_that_are_purged(
    broker: Broker, node: Node, rabbit: Client, consumer: Consumer, listener: Waiter
) -> None:
    rabbit.publish(ONE, TWO)
    node.ctl("purge_queue", "synergy.q")
    prove_well(broker, rabbit, consumer, listener)


def test_connections_that_are_closed_by_force(
    broker: Broker, node: Node, rabbit: Client, consumer: Consumer, listener: Waiter
) -> None:
    for _ in range(3):
        rabbit.insist(ONE)
        rabbit.until(consumer, ONE)
        node.ctl("close_all_connections", "because")
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
    node: Node, rabbit: Client, consumer: Consumer
) -> None:
    """It stops reading from who publishes; acks come by another connection, and are heard."""
    messages = [UnitMessage("u", n) for n in range(100)]
    rabbit.publish(*messages)
    node.ctl("set_vm_memory_high_watermark", "absolute", "1MB")
    try:
        with pytest.raises(MessagingUnavailable):
            rabbit.publish(ONE)  # who publishes while it is short is told
        with pytest.raises(MessagingUnavailable, match="takes no messages at the moment: low on"):
            rabbit.publish(ONE)
        found: list[object] = []
        while len(found) < len(messages):
            found += rabbit.take(consumer, 1) + rabbit.take_once(consumer, 10)
        assert found[: len(messages)] == messages
        counted = partial(node.ctl, "list_queues", "name", "messages_unacknowledged")
        while "synergy.q\t0" not in counted():
            rabbit.take_once(consumer, 1)
    finally:
        node.ctl("set_vm_memory_high_watermark", "0.4")
    rabbit.insist(TWO)
    rabbit.until(consumer, TWO)
