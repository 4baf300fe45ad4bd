"""Queues and exchanges, also after they were changed or deleted."""

from __future__ import annotations

from contextlib import closing

import pytest

from synergy.errors import ConfigurationError, MessagingUnavailable
from synergy.messaging.message import encode
from tests.contract.rabbitmq.kit import (
    ONE,
    THREE,
    TWO,
    Client,
    client,
    publish_to,
    undeclared,
)

# Topology


def test_a_queue_with_other_properties_is_an_error_with_the_next_step(
    rabbitmq_url: str, channel
) -> None:
    channel.queue_declare("synergy.q", durable=False)
    with undeclared(rabbitmq_url) as rabbit, pytest.raises(ConfigurationError) as raised:
        rabbit.bus.declare(["q"])
    said = str(raised.value)
    assert "'durable' for queue 'synergy.q'" in said
    assert "delete it, then run launch.py store init" in said


def test_an_exchange_with_other_properties_is_an_error(rabbitmq_url: str, channel) -> None:
    channel.exchange_declare("synergy.work", "fanout", durable=True)
    with undeclared(rabbitmq_url) as rabbit, pytest.raises(ConfigurationError) as raised:
        rabbit.bus.declare(["q"])
    assert "exchange synergy.work exists with other properties" in str(raised.value)


def test_an_existing_quorum_queue_is_used(rabbitmq_url: str, channel) -> None:
    channel.queue_declare("synergy.q", durable=True, arguments={"x-queue-type": "quorum"})
    with client(rabbitmq_url) as rabbit, closing(rabbit.bus.consumer("q")) as consumer:
        rabbit.publish(ONE, TWO, THREE)
        assert rabbit.take(consumer, 2) == [ONE, TWO]
        assert rabbit.take(consumer, 1) == [THREE]


def test_a_deleted_queue_is_declared_again(rabbit: Client, channel) -> None:
    rabbit.publish(ONE)
    channel.queue_delete("synergy.q")
    rabbit.publish(TWO)
    assert rabbit.bus.depths() == {"q": 1}


def test_a_queue_without_its_binding_is_bound_again(rabbit: Client, channel) -> None:
    channel.queue_unbind("synergy.q", "synergy.work", "synergy.q")
    rabbit.publish(TWO)
    assert rabbit.bus.depths() == {"q": 1}


def test_a_consumer_continues_after_its_queue_was_deleted(rabbit: Client, channel) -> None:
    with closing(rabbit.bus.consumer("q")) as consumer:
        rabbit.publish(ONE)
        assert rabbit.take(consumer, 1) == [ONE]
        consumer.wait(0.05)  # may end by the wake-up of ONE, which may come after ONE was taken
        assert rabbit.take_once(consumer) == []
        channel.queue_delete("synergy.q")
        rabbit.publish(TWO)
        assert rabbit.take(consumer, 1) == [TWO]


def test_messages_are_durable_and_carry_the_deployment_id(rabbit: Client, channel) -> None:
    rabbit.publish(ONE)
    _, properties, body = channel.basic_get("synergy.q", auto_ack=True)
    assert (properties.delivery_mode, properties.app_id) == (2, "ours")
    assert body == encode(ONE)


def test_a_queue_that_refuses_messages_is_named(rabbitmq_url: str, channel) -> None:
    limited = {"x-max-length": 1, "x-overflow": "reject-publish"}
    channel.exchange_declare("synergy.work", "direct", durable=True)
    channel.queue_declare("synergy.full", durable=True, arguments=limited)
    channel.queue_bind("synergy.full", "synergy.work", "synergy.full")
    confirmed: list[str] = []
    try:
        with client(rabbitmq_url) as rabbit:
            rabbit.publish(ONE, queue="full")
            with pytest.raises(MessagingUnavailable, match=r"refuses synergy\.full"):
                publish_to(rabbit, ["full", "q"], confirmed)
            assert rabbit.bus.depths() == {"full": 1, "q": 1}
    finally:
        channel.queue_delete("synergy.full")
    assert confirmed == ["q"], "a full queue does not affect the other one"


def test_a_deleted_exchange_is_declared_again(rabbit: Client, channel) -> None:
    """The broker closes a channel that publishes to a missing exchange."""
    rabbit.publish(ONE)
    channel.exchange_delete("synergy.work")
    with pytest.raises(MessagingUnavailable, match=r"no exchange 'synergy\.work'"):
        rabbit.publish(TWO)
    rabbit.publish_with_retries(THREE)
    assert rabbit.bus.depths() == {"q": 2}
