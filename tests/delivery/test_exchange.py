"""Requests into exchanges of a real RabbitMQ."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import pika
import pytest

from synergy.delivery.addresses import AddressRules
from tests.delivery.conftest import NOW, MakeServices, Services, a_request, is_lost
from tests.delivery.receivers import LIMIT, answers, receiving
from tests.servers.ports import free_port
from tests.servers.rabbitmq import connect
from tests.servers.wire import wire


class Broker:
    """An exchange with a queue, for one test only."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.name = f"test.{uuid4().hex[:12]}"
        self._connection = connect(url)
        self.channel = self._connection.channel()
        self.channel.exchange_declare(self.name, "direct")
        self.channel.queue_declare(self.name, arguments={"x-max-length": 5_000})
        self.channel.queue_bind(self.name, self.name, "key")

    def target(self, routing_key: str = "key", url: str = "", exchange: str = "") -> str:
        place = (url or self.url).partition("?")[0]
        return f"{place}?exchange={exchange or self.name}&routing_key={routing_key}"

    def got(self) -> tuple[Any, bytes] | None:
        """Returns the next message as a foreign client reads it, None if there is none."""
        method, properties, body = self.channel.basic_get(self.name, auto_ack=True)
        return None if method is None else (properties, body)

    def close(self) -> None:
        with suppress(pika.exceptions.AMQPError):
            self.channel.queue_delete(self.name)
            self.channel.exchange_delete(self.name)
            self._connection.close()


@pytest.fixture
def broker(rabbitmq_url: str) -> Iterator[Broker]:
    with closing(Broker(rabbitmq_url)) as broker:
        yield broker


def test_the_message_that_a_queue_gets(services: Services, broker: Broker) -> None:
    answer = services.send(
        broker.target(),
        body=b'{"a": "\xc3\xa9"}',
        headers={"X-Team": "data"},
        key="run-7",
        schedule="nightly",
        attempt=2,
    )
    assert (answer.ok, answer.outcome, answer.may_retry, answer.error) == (True, "sent", False, "")
    got = broker.got()
    assert got is not None
    properties, body = got
    assert json.loads(body) == {"a": "é"}
    assert (properties.message_id, properties.delivery_mode) == ("run-7", 2)
    assert (properties.content_type, properties.app_id) == ("application/json", "synergy")
    assert properties.timestamp == int(NOW.timestamp())
    assert properties.headers == {
        "X-Team": "data",
        "Idempotency-Key": "run-7",
        "X-Synergy-Scheduled-Time": "2026-11-21T11:59:00Z",
        "X-Synergy-Schedule": "nightly",
        "X-Synergy-Attempt": "2",
    }
    assert broker.got() is None


def test_a_message_that_is_no_longer_current_is_not_published(
    services: Services, broker: Broker
) -> None:
    assert services.send(broker.target(), assert_current=is_lost).outcome == "stopped"
    assert services.send(broker.target(), key="another").ok
    got = broker.got()
    assert got is not None
    assert (got[0].message_id, broker.got()) == ("another", None)


def test_an_unroutable_message_is_a_failure(services: Services, broker: Broker) -> None:
    answer = services.send(broker.target("unbound"))
    assert (answer.ok, answer.outcome, answer.may_retry) == (False, "failed", True)
    assert "no queue for routing key 'unbound'" in answer.error
    assert services.send(broker.target()).ok


def test_a_missing_exchange_does_not_affect_other_deliveries(
    services: Services, broker: Broker
) -> None:
    for number in range(60):
        exchange = "missing" if number % 2 else ""
        services.post(a_request(broker.target(exchange=exchange), key=f"run-{number}"))
    answered = dict(services.next() for _ in range(60))
    for number in range(60):
        answer = answered[f"run-{number}"]
        assert answer.ok is (number % 2 == 0)
        assert ("missing" in answer.error) is (number % 2 == 1)
    keys = set()
    while got := broker.got():
        keys.add(got[0].message_id)
    assert keys == {f"run-{number}" for number in range(0, 60, 2)}


def test_a_message_that_a_queue_refuses_is_a_failure(services: Services, broker: Broker) -> None:
    full = f"{broker.name}.full"
    arguments = {"x-max-length": 1, "x-overflow": "reject-publish"}
    broker.channel.queue_declare(full, arguments=arguments, exclusive=True)
    broker.channel.queue_bind(full, broker.name, "full")
    assert services.send(broker.target("full")).ok
    answer = services.send(broker.target("full"))
    assert (answer.ok, answer.outcome, answer.may_retry) == (False, "failed", True)
    assert "refuses" in answer.error


def test_a_connection_is_reused_and_replaced_after_a_cut(
    services: Services, broker: Broker
) -> None:
    with wire(broker.url) as (line, url):
        target = broker.target(url=url)
        for _ in range(3):
            assert services.send(target).ok
        assert len(line._ends) == 2  # both ends of one connection
        line.cut()
        answer = services.send(target)
        assert answer.ok or answer.may_retry  # the cut may not be detected yet
        assert services.send(target).ok
        assert len(line._ends) == 2


def test_a_silent_broker_is_a_timeout_and_works_again_later(
    services_with: MakeServices, broker: Broker
) -> None:
    services = services_with(total=8.0)
    with wire(broker.url) as (line, url):
        target = broker.target(url=url)
        assert services.send(target).ok
        line.go_dead()
        answer = services.send(target)
        assert (answer.ok, answer.outcome, answer.may_retry) == (False, "timeout", True)
        assert services.send(broker.target()).ok  # over another connection
        line.revive()
        line.cut()
        answer = services.send(target)
        assert answer.ok, answer


def test_a_wrong_password_is_refused_and_not_shown(services: Services, broker: Broker) -> None:
    parts = urlsplit(broker.url)
    where = parts.netloc.rpartition("@")[2]
    url = urlunsplit(parts._replace(netloc=f"somebody:s3cret@{where}"))
    answer = services.send(broker.target(url=url))
    assert (answer.ok, answer.may_retry) == (False, True)
    assert "refuses user somebody or its password: correct the target's URL" in answer.error
    assert "s3cret" not in answer.error


def test_a_broker_that_refuses_connections_may_be_retried(services_with: MakeServices) -> None:
    answer = services_with().send(f"amqp://u:s3cret@127.0.0.1:{free_port()}/?exchange=e")
    assert (answer.ok, answer.outcome, answer.may_retry) == (False, "failed", True)
    assert "refuses connections" in answer.error
    assert "s3cret" not in answer.error


def test_silent_brokers_delay_no_other_delivery(services_with: MakeServices) -> None:
    services = services_with(total=LIMIT)
    with (
        receiving(lambda _, receiver: receiver.gate.wait(LIMIT), reads=False) as silent,
        receiving(answers()) as good,
    ):
        for _ in range(20):
            services.post(a_request(f"amqp://127.0.0.1:{silent.port}/?exchange=e", key="silent"))
        services.post(a_request(f"http://127.0.0.1:{good.port}/", key="good"))
        key, answer = services.next()
        assert (key, answer.ok) == ("good", True)
        silent.gate.set()
        answered = [services.next() for _ in range(20)]
        assert {(key, answer.ok) for key, answer in answered} == {("silent", False)}


def test_a_broker_that_does_not_answer_in_time_is_a_timeout(services_with: MakeServices) -> None:
    with receiving(lambda _, receiver: receiver.gate.wait(LIMIT), reads=False) as silent:
        answer = services_with(total=0.2).send(f"amqp://127.0.0.1:{silent.port}/?exchange=e")
    assert (answer.ok, answer.outcome, answer.may_retry) == (False, "timeout", True)


def test_bytes_that_are_not_amqp_are_refused(services: Services) -> None:
    def behave(end: socket.socket, _: object) -> None:
        end.recv(8)
        end.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with receiving(behave, reads=False) as other:
        answer = services.send(f"amqp://127.0.0.1:{other.port}/?exchange=e")
    assert (answer.ok, answer.may_retry) == (False, True)


def test_a_broker_with_a_refused_address_is_not_connected_to(services_with: MakeServices) -> None:
    with receiving(answers()) as receiver:
        url = f"amqp://u:s3cret@broker.test:{receiver.port}/?exchange=e"
        for found in (["127.0.0.1"], ["127.0.0.1", "1.1.1.1"], ["1.1.1.1", "10.0.0.1"]):
            services = services_with({"broker.test": found}, rules=AddressRules())
            answer = services.send(url)
            assert (answer.outcome, answer.may_retry) == ("blocked", False)
            assert "the setting webhook_networks does not allow it" in answer.error
        assert receiver.connections == 0
        unknown = services_with({"broker.test": []}).send(url)
        assert (unknown.outcome, unknown.may_retry) == ("failed", True)
        assert "its name is not found" in unknown.error


def test_a_broker_is_connected_to_at_the_address_that_was_judged(
    services_with: MakeServices, broker: Broker
) -> None:
    """Only the test's resolver knows the name: another look-up would find nothing."""
    parts = urlsplit(broker.url)
    at = f"{parts.scheme}://{parts.username}:{parts.password}@broker.test:{parts.port}{parts.path}"
    names = {"broker.test": ["127.0.0.7", "127.0.0.1"]}  # no broker at the first one
    assert services_with(names).send(broker.target(url=at)).ok
    assert broker.got() is not None
