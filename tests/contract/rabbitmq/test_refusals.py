"""Errors of connections name the next step and contain no secret."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from synergy.errors import ConfigurationError, MessagingUnavailable
from tests.contract.rabbitmq.kit import (
    ONE,
    undeclared,
    with_user,
)
from tests.servers.ports import free_port
from tests.servers.rabbitmq import Broker


def refusal(url: str) -> str:
    """Returns the error of `declare`, prefixed with its kind: "a mistake" or "unavailable"."""
    with undeclared(url) as rabbit:
        with pytest.raises((ConfigurationError, MessagingUnavailable)) as raised:
            rabbit.bus.declare(["q"])
        with pytest.raises(MessagingUnavailable):
            rabbit.publish(ONE)
        assert rabbit.bus.dead() == []
    said = str(raised.value)
    assert "secret" not in said
    is_mistake = isinstance(raised.value, ConfigurationError)
    return f"{'a mistake' if is_mistake else 'unavailable'}: {said}"


def test_a_wrong_password_is_a_configuration_error(rabbitmq: Broker) -> None:
    said = refusal(with_user(rabbitmq.url, "guest", "secret"))
    assert said.startswith("a mistake")
    assert "refuses user guest or its password: correct SYNERGY_BUS" in said


def test_an_unknown_vhost_is_a_configuration_error(rabbitmq: Broker) -> None:
    said = refusal(rabbitmq.at("no such vhost"))
    assert said.startswith("a mistake")
    assert "vhost no such vhost" in said
    assert "rabbitmqctl list_vhosts" in said


def test_a_port_without_a_listener_is_reported() -> None:
    said = refusal(f"amqp://me:secret@127.0.0.1:{free_port()}/")
    assert said.startswith("unavailable")
    assert "refuses connections: is it running" in said


def test_a_host_name_without_an_address_is_reported() -> None:
    assert "there is no address for that name" in refusal("amqp://me:secret@no-such-host.invalid/")


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of a server that accepts connections and sends nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.mark.parametrize("scheme", ["amqp", "amqps"])
def test_a_silent_server_is_reported(silent: int, scheme: str) -> None:
    said = refusal(f"{scheme}://me:secret@127.0.0.1:{silent}/")
    assert said.startswith("unavailable")
    assert "does not answer: is it running, and is no firewall in between?" in said


def test_a_server_that_closes_connections_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up() -> None:
            with suppress(OSError):
                while True:
                    listener.accept()[0].close()

        threading.Thread(target=hang_up, daemon=True).start()
        said = refusal(f"amqp://me:secret@127.0.0.1:{listener.getsockname()[1]}/")
        listener.shutdown(socket.SHUT_RDWR)
    assert "closes the connection: is that a port for amqp://, and is it RabbitMQ?" in said


def test_tls_to_a_port_without_tls_is_reported(rabbitmq: Broker) -> None:
    said = refusal(rabbitmq.url.replace("amqp://", "amqps://"))
    assert "is it a port for amqps://" in said or "does not answer" in said
