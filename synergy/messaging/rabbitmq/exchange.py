"""Publishes messages to exchanges of any broker, each confirmed and routed to at least one queue.

Unlike the messages of the bus (`sender`), they go to brokers that schedules name. An exchange may
be missing, and the broker then closes the channel. So a channel carries one message at a time, and
a failure affects one message only. Connections are opened when needed, kept for a while, and
reopened when lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

import pika
from pika import DeliveryMode

from synergy.errors import ConfigurationError
from synergy.messaging.amqp import Address
from synergy.messaging.rabbitmq.faults import Fault
from synergy.messaging.rabbitmq.wire import Channel, Connection, parameters

IDLE_SECONDS = 60.0  # a connection that has sent no message for so long is closed
CLOSE_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingMessage:
    """A message for an exchange; `key` becomes its message id."""

    exchange: str
    routing_key: str
    body: bytes
    content_type: str
    key: str
    headers: Mapping[str, str]
    sent_at: datetime


class Exchanges:
    """The exchanges of all brokers; for one event loop."""

    def __init__(self) -> None:
        self._brokers: dict[Address, _Broker] = {}

    async def publish(
        self,
        address: Address,
        hosts: Sequence[str],
        message: OutgoingMessage,
        before: Callable[[], Awaitable[None]],
    ) -> None:
        """Returns when a queue has the message; raises Fault. The caller sets a time limit.

        A new connection is made to one of `hosts`, which are addresses of the broker's host.
        `before` is awaited once a channel is open; nothing is sent if it raises.
        """
        broker = self._brokers.get(address)
        if broker is None:
            broker = self._brokers[address] = _Broker(address, self._forget)
        try:
            await broker.publish(hosts, message, before)
        except Fault as fault:
            raise Fault(_for_target(str(fault)), code=fault.code) from fault
        except ConfigurationError as error:
            raise Fault(_for_target(str(error)), is_mistake=True) from error

    async def close(self) -> None:
        """Closes all connections in good order, if the brokers answer."""
        brokers, self._brokers = self._brokers, {}
        await asyncio.gather(*(broker.close() for broker in brokers.values()))

    def _forget(self, address: Address) -> None:
        self._brokers.pop(address, None)


class _Broker:
    """One connection to a broker, and its free channels."""

    def __init__(self, address: Address, forget: Any) -> None:
        self._address = address
        self._forget = forget
        self._opening: asyncio.Task[Connection] | None = None
        self._free: list[_PublishChannel] = []
        self._in_flight = 0
        self._timer: asyncio.TimerHandle | None = None
        self._closing: asyncio.Task[None] | None = None

    async def publish(
        self,
        hosts: Sequence[str],
        message: OutgoingMessage,
        before: Callable[[], Awaitable[None]],
    ) -> None:
        self._in_flight += 1
        try:
            connection = await self._connection(hosts)
            if connection.blocked:
                raise Fault(f"RabbitMQ at {self._address.place}: {connection.blocked}")
            await self._publish_on(message, connection, before)
        finally:
            self._in_flight -= 1
            self._restart_timer()

    async def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._opening is None:
            return
        await asyncio.wait({self._opening}, timeout=CLOSE_SECONDS)
        if not _is_over(self._opening) and self._opening.done():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._opening.result().close(), CLOSE_SECONDS)

    async def _connection(self, hosts: Sequence[str]) -> Connection:
        """The connection; callers share it while it is being opened.

        Opening is never cancelled: pika has a timeout of its own, and does not cancel cleanly.
        """
        if self._opening is None or _is_over(self._opening):
            self._free.clear()
            self._opening = asyncio.create_task(self._open(hosts))
            self._opening.add_done_callback(_is_over)
        return await asyncio.shield(self._opening)

    async def _open(self, hosts: Sequence[str]) -> Connection:
        """A connection to the first host that accepts one; raises Fault."""
        for host in hosts[:-1]:
            with suppress(Fault):
                return await Connection.open(parameters(self._address, host), self._address)
        return await Connection.open(parameters(self._address, hosts[-1]), self._address)

    async def _publish_on(
        self,
        message: OutgoingMessage,
        connection: Connection,
        before: Callable[[], Awaitable[None]],
    ) -> None:
        received = connection.bytes_received
        channel = None
        try:
            channel = self._free_channel() or await _PublishChannel.open(connection)
            await before()
            await channel.publish(message)
        except BaseException as error:
            if channel is not None:
                channel.close()  # a late answer must not count for the next message
            if isinstance(error, asyncio.CancelledError) and connection.bytes_received == received:
                connection.drop(Fault(f"RabbitMQ at {self._address.place}: it sends no data"))
            raise
        self._free.append(channel)

    def _free_channel(self) -> _PublishChannel | None:
        while self._free:
            channel = self._free.pop()
            if channel.is_open:
                return channel
        return None

    def _restart_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._close_idle)

    def _close_idle(self) -> None:
        if not self._in_flight:
            self._forget(self._address)
            self._closing = asyncio.create_task(self.close())


class _PublishChannel:
    """A channel with at most one message in flight, to which any return belongs."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._answer: asyncio.Future[bool] | None = None
        self._returned = ""

    @classmethod
    async def open(cls, connection: Connection) -> Self:
        """A new channel with confirms; raises Fault."""
        channel = await connection.channel()
        opened = cls(channel)
        channel.raw.add_on_return_callback(opened._on_return)
        await channel.call(channel.raw.confirm_delivery, ack_nack_callback=opened._on_confirm)
        return opened

    @property
    def is_open(self) -> bool:
        return not self._channel.lost.done()

    def close(self) -> None:
        self._channel.close()

    async def publish(self, message: OutgoingMessage) -> None:
        """Returns when a queue has the message; raises Fault."""
        self._answer = asyncio.get_running_loop().create_future()
        self._returned = ""
        properties = pika.BasicProperties(
            app_id="synergy",
            content_type=message.content_type,
            delivery_mode=DeliveryMode.Persistent.value,
            headers=dict(message.headers),
            message_id=message.key,
            timestamp=int(message.sent_at.timestamp()),
        )
        self._channel.cast(
            self._channel.raw.basic_publish,
            message.exchange,
            message.routing_key,
            message.body,
            properties,
            mandatory=True,
        )
        is_taken = await self._channel.answered(self._answer)
        if self._returned:
            raise Fault(
                f"exchange {message.exchange} has no queue for routing key "
                f"{message.routing_key!r} ({self._returned})"
            )
        if not is_taken:
            raise Fault(f"exchange {message.exchange}: a queue refuses the message: is it full?")

    def _on_confirm(self, frame: Any) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(isinstance(frame.method, pika.spec.Basic.Ack))

    def _on_return(self, _channel: object, method: Any, _properties: Any, _body: bytes) -> None:
        self._returned = method.reply_text


def _is_over(opening: asyncio.Task[Connection]) -> bool:
    """Whether another connection is needed; also marks an error as retrieved."""
    if not opening.done():
        return False
    if opening.cancelled() or opening.exception() is not None:
        return True
    return opening.result().lost.done()


def _for_target(text: str) -> str:
    """A fault's text, which names the setting of the bus, reworded for a target of a schedule."""
    return text.replace("SYNERGY_BUS", "the target's URL")
