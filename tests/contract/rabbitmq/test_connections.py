"""Wake-ups, large messages, and connections that break or deliver nothing."""

from __future__ import annotations

import threading
from contextlib import closing
from uuid import uuid4

import pytest
from pika.exceptions import ChannelClosedByBroker

from synergy.errors import MessagingUnavailable
from synergy.messaging.message import EventsMessage, UnitMessage
from synergy.messaging.rabbitmq import receiver
from tests.contract.rabbitmq.kit import (
    ONE,
    THREE,
    TWO,
    WAIT_SECONDS,
    Client,
    client,
    publish_to,
    undeclared,
)
from tests.servers import rabbitmq as servers
from tests.servers.rabbitmq import Broker
from tests.servers.wire import wire

# Wake-ups


def test_wake_ups_of_other_processes_arrive(rabbitmq_url: str, rabbit: Client) -> None:
    topics = ["scheduler", "x" * 500, "Zürich 東京", "", "a\0b\n"]
    with client(rabbitmq_url) as other:
        for topic in topics:
            with (
                closing(other.bus.listener(topic)) as mine,
                closing(other.bus.listener(f"not {topic}")) as another,
            ):
                rabbit.bus.notify(topic)
                assert mine.wait(WAIT_SECONDS)
                assert not another.wait(0)


def test_a_wake_up_sent_just_before_its_process_ends_arrives(
    rabbitmq_url: str, rabbit: Client
) -> None:
    with closing(rabbit.bus.listener("scheduler")) as listener:
        with undeclared(rabbitmq_url) as brief:
            brief.bus.notify("scheduler")
        assert listener.wait(WAIT_SECONDS)


def test_a_listener_is_woken_after_ten_thousand_wake_ups(rabbitmq_url: str, rabbit: Client) -> None:
    with client(rabbitmq_url) as other, closing(other.bus.listener("scheduler")) as listener:
        for _ in range(10_000):
            rabbit.bus.notify("scheduler")
        assert listener.wait(WAIT_SECONDS)


# Broken connections


def test_a_dead_connection_ends_a_publish_and_is_replaced(rabbitmq_url: str) -> None:
    with wire(rabbitmq_url) as (line, url), client(url) as rabbit:
        confirmed: list[str] = []
        line.go_dead()
        with pytest.raises(MessagingUnavailable, match="no confirm within 3 s"):
            publish_to(rabbit, ["q"], confirmed)
        assert rabbit.store.facts.get("written") == "yes"
        assert confirmed == []
        with pytest.raises(MessagingUnavailable):
            rabbit.bus.depths()
        line.revive()
        rabbit.publish_with_retries(TWO)


def test_a_cut_connection_is_replaced(rabbitmq_url: str) -> None:
    with (
        wire(rabbitmq_url) as (line, url),
        client(url) as rabbit,
        closing(rabbit.bus.consumer("q")) as consumer,
        closing(rabbit.bus.listener("scheduler")) as listener,
        client(rabbitmq_url) as other,
    ):
        for message in (ONE, TWO, THREE):
            other.publish(message)
            rabbit.take_until(consumer, message)  # a message whose ack was lost is redelivered
            line.cut()
            assert listener.wait(WAIT_SECONDS), (
                "a lost connection wakes: wake-ups may have been missed"
            )
            other.bus.notify("scheduler")
            assert listener.wait(WAIT_SECONDS)


class DeliveryFilter:
    """Drops all deliveries of the broker and passes everything else."""

    DELIVER = b"\x00\x3c\x00\x3c"

    def __init__(self) -> None:
        self.is_on = threading.Event()
        self._rest = b""
        self._dropping: set[bytes] = set()

    def __call__(self, some: bytes) -> bytes:
        self._rest += some
        passed = b""
        while len(self._rest) >= 8:
            end = 8 + int.from_bytes(self._rest[3:7], "big")
            if len(self._rest) < end:
                break
            frame, self._rest = self._rest[:end], self._rest[end:]
            if not self._is_dropped(frame):
                passed += frame
        return passed

    def _is_dropped(self, frame: bytes) -> bool:
        kind, channel = frame[0], frame[1:3]
        if kind == 1:
            self._dropping.discard(channel)
            if frame[7:11] == self.DELIVER and self.is_on.is_set():
                self._dropping.add(channel)
        return kind != 8 and channel in self._dropping


def test_reconnects_when_no_message_arrives_over_a_live_connection(
    rabbitmq_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Channel and heartbeats work, but deliveries do not arrive: the stall check detects it."""
    monkeypatch.setattr(receiver, "STALL_CHECK_SECONDS", 0.2)
    monkeypatch.setattr(receiver, "STALL_CONFIRM_SECONDS", 0.1)
    filters: list[DeliveryFilter] = []

    def new_filter() -> DeliveryFilter:
        filters.append(DeliveryFilter())
        return filters[-1]

    with (
        wire(rabbitmq_url, new_filter) as (_, url),
        client(url) as rabbit,
        closing(rabbit.bus.consumer("q")) as consumer,
        client(rabbitmq_url) as other,
    ):
        assert rabbit.take_once(consumer, 1) == []
        for present in filters:
            present.is_on.set()
        messages = [UnitMessage("u", n) for n in range(5)]
        other.publish(*messages)
        assert rabbit.take(consumer, 2) == messages[:2]
    assert "which is not empty" in caplog.text


def test_a_large_message_of_events_arrives_complete(rabbit: Client) -> None:
    events = EventsMessage([{"number": n, "text": "x" * 200} for n in range(5_000)])
    rabbit.publish(events)
    with closing(rabbit.bus.consumer("q")) as consumer:
        assert rabbit.take(consumer, 1) == [events]


def test_the_bus_works_in_a_vhost_with_quorum_queues_by_default(rabbitmq: Broker) -> None:
    if rabbitmq.node is None:
        pytest.skip("vhosts can be created only on a server that the tests started")
    name = f"quorum-{uuid4().hex[:8]}"
    rabbitmq.node.ctl("add_vhost", name, "--default-queue-type", "quorum")
    rabbitmq.node.ctl("set_permissions", "-p", name, "guest", ".*", ".*", ".*")
    url = rabbitmq.at(name)
    try:
        with (
            client(url) as rabbit,
            client(url) as other,
            closing(rabbit.bus.consumer("q")) as consumer,
            closing(rabbit.bus.listener("scheduler")) as listener,
        ):
            rabbit.bus.declare(["q"])
            messages = [UnitMessage("u", n) for n in range(100)]
            other.publish(*messages)
            taken = rabbit.take(
                consumer, len(messages)
            )  # returned messages go to the end of the queue
            assert sorted(taken, key=lambda message: message.attempt) == messages
            other.bus.notify("scheduler")
            assert listener.wait(WAIT_SECONDS)
            with closing(servers.connect(url)) as connection:
                declare = connection.channel().queue_declare
                with pytest.raises(ChannelClosedByBroker, match="'quorum'"):
                    declare("synergy.q", durable=True, arguments={"x-queue-type": "classic"})
    finally:
        rabbitmq.node.ctl("delete_vhost", name)
