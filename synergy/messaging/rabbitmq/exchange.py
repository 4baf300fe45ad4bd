"""Messages into exchanges of any broker, each confirmed, and by at least one queue wanted.

Unlike the bus's own (`sender`), they go to brokers that somebody named in a schedule: an exchange
may not be there, and the broker then closes the channel. So a channel carries one message at a
time, and one message's trouble is no other's. Connections are made when they are needed, kept
for a while, and made again after they are lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
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

KEPT_OPEN = 60.0  # seconds without a message
CLOSE_LIMIT = 2.0


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
    """To be used in one event loop."""

    def __init__(self) -> None:
        self._brokers: dict[Address, _Broker] = {}

    async def publish(self, address: Address, letter: OutgoingMessage) -> None:
        """Returns when a queue has it; raises Fault. Its limit of time is the caller's."""
        broker = self._brokers.get(address)
        if broker is None:
            broker = self._brokers[address] = _Broker(address, self._forget)
        try:
            await broker.publish(letter)
        except Fault as fault:
            raise Fault(_of_a_target(str(fault)), code=fault.code) from fault
        except ConfigurationError as error:
            raise Fault(_of_a_target(str(error)), is_mistake=True) from error

    async def close(self) -> None:
        """Ends all connections in good order, if the brokers let us."""
        brokers, self._brokers = self._brokers, {}
        await asyncio.gather(*(broker.close() for broker in brokers.values()))

    def _forget(self, address: Address) -> None:
        self._brokers.pop(address, None)


class _Broker:
    """One connection to it, and channels that are free."""

    def __init__(self, address: Address, forget: Any) -> None:
        self._address = address
        self._forget = forget
        self._opening: asyncio.Task[Connection] | None = None
        self._free: list[_PublishChannel] = []
        self._under_way = 0
        self._timer: asyncio.TimerHandle | None = None
        self._closing: asyncio.Task[None] | None = None

    async def publish(self, letter: OutgoingMessage) -> None:
        self._under_way += 1
        try:
            connection = await self._up()
            if connection.blocked:
                raise Fault(f"RabbitMQ at {self._address.place}: {connection.blocked}")
            await self._hand_over(letter, connection)
        finally:
            self._under_way -= 1
            self._wait_for_more()

    async def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._opening is None:
            return
        await asyncio.wait({self._opening}, timeout=CLOSE_LIMIT)
        if not _is_over(self._opening) and self._opening.done():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._opening.result().close(), CLOSE_LIMIT)

    async def _up(self) -> Connection:
        """The connection; who asks while it is being made shares it.

        Making one is never cancelled: pika ends it by itself, in time, but not in good order when
        told to.
        """
        if self._opening is None or _is_over(self._opening):
            self._free.clear()
            self._opening = asyncio.create_task(
                Connection.open(parameters(self._address), self._address)
            )
            self._opening.add_done_callback(_is_over)
        return await asyncio.shield(self._opening)

    async def _hand_over(self, letter: OutgoingMessage, connection: Connection) -> None:
        heard = connection.heard
        desk = None
        try:
            desk = self._desk() or await _PublishChannel.open(connection)
            await desk.publish(letter)
        except BaseException as error:
            if desk is not None:
                desk.channel.close()  # what still comes of this message is nobody's answer
            if isinstance(error, asyncio.CancelledError) and connection.heard == heard:
                connection.drop(Fault(f"RabbitMQ at {self._address.place}: it says nothing"))
            raise
        self._free.append(desk)

    def _desk(self) -> _PublishChannel | None:
        while self._free:
            desk = self._free.pop()
            if not desk.channel.lost.done():
                return desk
        return None

    def _wait_for_more(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(KEPT_OPEN, self._leave)

    def _leave(self) -> None:
        if not self._under_way:
            self._forget(self._address)
            self._closing = asyncio.create_task(self.close())


class _PublishChannel:
    """A channel with one message under way at most, so that what is returned is that one."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self._answer: asyncio.Future[bool] | None = None
        self._returned = ""

    @classmethod
    async def open(cls, connection: Connection) -> Self:
        """Raises Fault."""
        channel = await connection.channel()
        desk = cls(channel)
        channel.raw.add_on_return_callback(desk._on_return)
        await channel.call(channel.raw.confirm_delivery, ack_nack_callback=desk._on_confirm)
        return desk

    async def publish(self, letter: OutgoingMessage) -> None:
        """Raises Fault."""
        self._answer = asyncio.get_running_loop().create_future()
        self._returned = ""
        properties = pika.BasicProperties(
            app_id="synergy",
            content_type=letter.content_type,
            delivery_mode=DeliveryMode.Persistent.value,
            headers=dict(letter.headers),
            message_id=letter.key,
            timestamp=int(letter.sent_at.timestamp()),
        )
        self.channel.cast(
            self.channel.raw.basic_publish,
            letter.exchange,
            letter.routing_key,
            letter.body,
            properties,
            mandatory=True,
        )
        is_taken = await self.channel.answered(self._answer)
        if self._returned:
            raise Fault(
                f"exchange {letter.exchange} has no queue for routing key "
                f"{letter.routing_key!r} ({self._returned})"
            )
        if not is_taken:
            raise Fault(f"exchange {letter.exchange}: a queue refuses the message: is it full?")

    def _on_confirm(self, frame: Any) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(isinstance(frame.method, pika.spec.Basic.Ack))

    def _on_return(self, _channel: object, method: Any, _properties: Any, _body: bytes) -> None:
        self._returned = method.reply_text


def _is_over(opening: asyncio.Task[Connection]) -> bool:
    """Whether another connection is needed; an error is seen thereby, if nobody awaits it."""
    if not opening.done():
        return False
    if opening.cancelled() or opening.exception() is not None:
        return True
    return opening.result().lost.done()


def _of_a_target(text: str) -> str:
    """The words are written for who looks after the bus."""
    return text.replace("SYNERGY_BUS", "the target's URL")
