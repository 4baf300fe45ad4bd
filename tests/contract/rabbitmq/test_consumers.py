"""Malformed messages, and how messages are shared among consumers."""

from __future__ import annotations

from contextlib import closing, suppress
from uuid import UUID

from synergy.messaging.amqp import Address
from synergy.messaging.message import UnitMessage, encode
from synergy.messaging.rabbitmq import RabbitBus
from synergy.storage.sqlite import SqliteStore
from tests.contract.rabbitmq.kit import (
    ONE,
    THREE,
    TWO,
    WAIT_SECONDS,
    Client,
    client,
)
from tests.servers import rabbitmq as servers

# Bad messages


def test_a_message_of_another_deployment_is_put_into_quarantine(
    rabbitmq_url: str, rabbit: Client
) -> None:
    with client(rabbitmq_url, "theirs") as other:
        other.publish(ONE)
    rabbit.publish(TWO)
    servers.put(rabbitmq_url, "q", [encode(THREE)], "")
    with closing(rabbit.bus.consumer("q")) as consumer:
        assert rabbit.take(consumer, 1) == [TWO]
        rabbit.publish(THREE)
        assert rabbit.take(consumer, 1) == [THREE]
    unknown, theirs = rabbit.bus.dead()
    assert theirs.body == encode(ONE)
    assert theirs.reason == "sent by deployment theirs, this is ours"
    assert unknown.reason == "sent by deployment unknown, this is ours"


def test_equal_messages_are_both_delivered(rabbitmq_url: str, rabbit: Client) -> None:
    """The bus does not deduplicate: the second claim of the unit is refused."""
    rabbit.publish(ONE)
    servers.put(rabbitmq_url, "q", [encode(ONE)], "ours")
    with closing(rabbit.bus.consumer("q")) as consumer:
        assert rabbit.take(consumer, 2) == [ONE, ONE]


def test_a_deployment_without_an_id_gets_one_that_is_stored(
    rabbitmq_url: str, rabbit: Client, channel
) -> None:
    with closing(SqliteStore.open(":memory:")) as store:
        for _ in range(2):
            bus = RabbitBus(Address.parse(rabbitmq_url), store)
            with closing(bus), store.batch() as batch:
                bus.publish("q", [ONE], batch)
        ids = [channel.basic_get("synergy.q", auto_ack=True)[1].app_id for _ in range(2)]
        assert ids == [store.facts.get("deployment")] * 2
    assert UUID(ids[0])


# Sharing among consumers


def test_a_consumer_busy_with_one_message_leaves_the_others_to_other_consumers(
    rabbit: Client,
) -> None:
    rabbit.publish(ONE, TWO, THREE)
    with closing(rabbit.bus.consumer("q")) as busy, closing(rabbit.bus.consumer("q")) as free:
        assert rabbit.take(busy, 1) == [ONE]
        assert rabbit.take(free, 2) == [TWO, THREE]


def test_a_busy_consumer_returns_its_prefetched_messages(rabbit: Client) -> None:
    messages = [UnitMessage("u", n) for n in range(50)]
    rabbit.publish(*messages)
    with closing(rabbit.bus.consumer("q")) as busy, closing(rabbit.bus.consumer("q")) as free:
        taken = rabbit.take(busy, 10)
        assert taken == messages[:10]
        rest = rabbit.take(free, 40)
        assert sorted(rest, key=lambda message: message.attempt) == messages[10:]


def test_returned_messages_are_redelivered_in_order(rabbit: Client) -> None:
    messages = [UnitMessage("u", n) for n in range(300)]
    rabbit.publish(*messages)
    found: list[object] = []
    with closing(rabbit.bus.consumer("q")) as consumer:
        for limit in (1, 1, 2, 4, 8, 16, 32, 64, 1, 1, 64, 3):
            assert consumer.wait(WAIT_SECONDS)
            found += rabbit.take_once(consumer, limit)
            with suppress(ZeroDivisionError), rabbit.store.batch() as batch:
                consumer.take(limit, batch)
                raise ZeroDivisionError
        found += rabbit.take(consumer, len(messages) - len(found))
    assert found == messages


def test_taken_messages_do_not_count_as_waiting(rabbit: Client) -> None:
    rabbit.publish(ONE, TWO)
    with closing(rabbit.bus.consumer("q")) as consumer:
        assert consumer.wait(WAIT_SECONDS)
        assert rabbit.bus.depths() == {"q": 1}
    assert rabbit.bus.depths() == {"q": 2}
