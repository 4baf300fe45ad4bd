"""The bus recovers from outages of RabbitMQ by itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from synergy.errors import MessagingUnavailable
from synergy.messaging.message import UnitMessage, encode
from synergy.messaging.protocol import Consumer, Waiter
from synergy.messaging.rabbitmq import reconnecting
from tests.contract.rabbitmq.kit import ONE, THREE, TWO, WAIT_SECONDS, Client, client, undeclared
from tests.servers.rabbitmq import Broker, Node, connect, ill_treated


@pytest.fixture(scope="module")
def broker(rabbitmq: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with ill_treated(rabbitmq, tmp_path_factory.mktemp("rabbitmq")) as broker:
        yield broker


@pytest.fixture
def node(broker: Broker) -> Iterator[Node]:
    assert broker.node is not None
    yield broker.node
    if broker.node.process is None:  # if a test failed while the node was stopped
        broker.node.start()
    broker.node.go_on()  # or while it was paused


@pytest.fixture(autouse=True)
def short_reconnect_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shortens the pauses between attempts to reconnect, which grow for long outages."""
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


def check_all_works(broker: Broker, rabbit: Client, consumer: Consumer, listener: Waiter) -> None:
    """Checks that a client, consumer and listener from before the outage work."""
    rabbit.publish_with_retries(THREE)
    rabbit.take_until(consumer, THREE)
    while listener.wait(0):
        pass
    with client(broker.url) as other:
        other.bus.notify("scheduler")
        for _ in range(int(WAIT_SECONDS)):  # the listener may have reconnected after the first one
            if listener.wait(1):
                return
            other.bus.notify("scheduler")
    raise AssertionError("no wake-up arrives")


def test_clients_resume_after_a_broker_restart(
    broker: Broker, node: Node, rabbit: Client, consumer: Consumer, listener: Waiter
) -> None:
    """Clients created while the broker is stopped wait for it, like those connected before."""
    rabbit.publish(ONE)
    node.stop_app()
    with pytest.raises(MessagingUnavailable):
        rabbit.publish(TWO)
    with pytest.raises(MessagingUnavailable):
        rabbit.bus.depths()
    assert rabbit.take_once(consumer) == []
    assert not consumer.wait(0)
    rabbit.bus.notify("scheduler")
    assert listener.wait(WAIT_SECONDS), "wake-ups within a process need no broker"
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
            consumer.close()  # the next messages are for the other consumer
            check_all_works(broker, late, late_consumer, late_listener)
    with closing(rabbit.bus.consumer("q")) as again:
        check_all_works(broker, rabbit, again, listener)


def test_confirmed_messages_survive_a_killed_broker(
    broker: Broker, node: Node, rabbit: Client, consumer: Consumer, listener: Waiter
) -> None:
    """Messages that were taken but not acknowledged are redelivered."""
    messages = [UnitMessage("u", n) for n in range(500)]
    rabbit.publish(*messages)
    assert consumer.wait(WAIT_SECONDS)
    with rabbit.store.batch() as batch:
        assert [delivery.message for delivery in consumer.take(1, batch)] == messages[:1]
        node.kill()
        node.start()
    assert rabbit.take(consumer, len(messages)) == messages
    check_all_works(broker, rabbit, consumer, listener)


def test_queues_and_exchanges_that_the_broker_lost_are_declared_again(
    broker: Broker, node: Node, rabbit: Client, consumer: Consumer, listener: Waiter
) -> None:
    rabbit.publish(ONE)
    node.lose_everything()
    check_all_works(broker, rabbit, consumer, listener)
    assert rabbit.bus.depths() == {}


def test_the_bus_works_after_its_queue_was_purged(
    broker: Broker, rabbit: Client, consumer: Consumer, listener: Waiter
) -> None:
    rabbit.publish(ONE, TWO)
    with closing(connect(broker.url)) as connection:
        connection.channel().queue_purge("synergy.q")
    check_all_works(broker, rabbit, consumer, listener)


def test_the_bus_works_after_the_broker_closed_its_connections(
    broker: Broker, node: Node, rabbit: Client, consumer: Consumer, listener: Waiter
) -> None:
    for _ in range(2):
        rabbit.publish_with_retries(ONE)
        rabbit.take_until(consumer, ONE)
        node.close_connections()
    check_all_works(broker, rabbit, consumer, listener)


def test_a_paused_broker_is_an_error_until_it_resumes(
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
    check_all_works(broker, rabbit, consumer, listener)


def test_a_broker_low_on_memory_refuses_messages_and_delivers_waiting_ones(
    broker: Broker, node: Node, rabbit: Client
) -> None:
    """The broker stops reading from publishing connections; acks use another connection."""
    messages = [UnitMessage("u", n) for n in range(100)]
    rabbit.publish(*messages)
    node.limit_memory('{absolute, "1MB"}')
    try:
        with pytest.raises(MessagingUnavailable):
            rabbit.publish(ONE)  # fails also while memory is running low
        with pytest.raises(MessagingUnavailable, match="takes no messages at the moment: low on"):
            rabbit.publish(ONE)
        found: list[object] = []
        with closing(rabbit.bus.consumer("q")) as consumer:
            while len(found) < len(messages):
                found += rabbit.take(consumer, 1) + rabbit.take_once(consumer, 10)
        assert found[: len(messages)] == messages
        with closing(connect(broker.url)) as connection:
            left = connection.channel().basic_get("synergy.q", auto_ack=True)[2]
        assert left in (None, encode(ONE)), "all taken messages were acknowledged"
    finally:
        node.limit_memory("0.4")
    with closing(rabbit.bus.consumer("q")) as consumer:
        rabbit.publish_with_retries(TWO)
        rabbit.take_until(consumer, TWO)
