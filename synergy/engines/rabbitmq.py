"""Registers the bus through RabbitMQ: `amqp://HOST/VHOST`, or `amqps://` with TLS."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from synergy import extras
from synergy.loopback import is_loopback
from synergy.messaging.amqp import EXAMPLE, SCHEMES, Address

if TYPE_CHECKING:
    from synergy.clock import Clock
    from synergy.messaging.protocol import Bus
    from synergy.storage.protocol import Store


class RabbitEngine:
    """See `synergy.engines.protocol.BusEngine`."""

    module = "synergy.messaging.rabbitmq"
    expected = EXAMPLE
    has_broker = True

    def matches(self, url: str) -> bool:
        return url.partition("://")[0] in SCHEMES

    def check(self, url: str) -> None:
        Address.parse(url)
        extras.require("rabbitmq", "pika")

    def weaknesses(self, url: str) -> list[str]:
        address = Address.parse(url)
        if address.tls is None:
            if is_loopback(address.host):
                return []
            return [f"messages and password are sent in clear text to {address.host}: use amqps://"]
        return [] if address.tls.verify else ["verify=verify_none lets any server pose as RabbitMQ"]

    def open(
        self,
        url: str,
        store: Store,
        home: Path,
        clock: Clock,
        queues: Sequence[str],
        pooled: Collection[str] = (),
    ) -> Bus:
        from synergy.messaging.rabbitmq import RabbitBus

        return RabbitBus(Address.parse(url), store, clock, queues, pooled)
