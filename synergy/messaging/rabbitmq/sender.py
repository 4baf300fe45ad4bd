"""Publishes groups of messages, then awaits their confirms together.

A message counts as sent when the broker has confirmed and not returned it: the broker also confirms
messages that it cannot route to a queue.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import Any

import pika
from pika import DeliveryMode

from synergy.messaging.amqp import Address
from synergy.messaging.rabbitmq import topology
from synergy.messaging.rabbitmq.faults import Fault
from synergy.messaging.rabbitmq.reconnecting import ReconnectingConnection
from synergy.messaging.rabbitmq.topology import WAKEUPS, WORK, name_of
from synergy.messaging.rabbitmq.wire import Channel, Connection

CONFIRM_SECONDS = 3.0  # sending fails if no confirm arrives for so long

Outgoing = tuple[str, bytes]
"""The queue that a message goes to, and its body."""


class Unsent(Fault):
    """Messages for these queues were not confirmed; they may or may not have arrived."""

    def __init__(self, what: str, outgoing: Iterable[Outgoing]) -> None:
        super().__init__(what)
        self.queues = frozenset(queue for queue, _ in outgoing)


class Sender:
    """The connection that sends messages.

    Another one receives: a broker that is short of memory stops reading from publishers, and acks
    must get through.
    """

    def __init__(self, settings: pika.ConnectionParameters, address: Address, name: str) -> None:
        """`name` marks wake-ups, so that their sender can ignore them."""
        self.link = ReconnectingConnection(settings, address, "RabbitMQ, sending", self._prepare)
        self._wakeup_properties = pika.BasicProperties(app_id=name)
        self._place = f"RabbitMQ at {address.place}"
        self._connection: Connection | None = None
        self._work_channel: Channel | None = None
        self._wakeup_channel: Channel | None = None
        self._last = 0  # delivery tag
        self._in_flight: dict[int, _Window] = {}
        self._wakeups: set[str] = set()

    async def send(self, outgoing: Sequence[Outgoing], deployment: str) -> None:
        """Returns when all are confirmed; raises Unsent, with the queues of those that are not.

        A missing queue is created, and gets its messages in a second try. Raises another Fault if
        there is no connection, or if a missing queue cannot be created.
        """
        returned = await self._send_window(outgoing, deployment)
        if returned:
            connection = await self.link.up()
            await topology.declare(connection, {queue for queue, _ in returned})
            returned = await self._send_window(returned, deployment)
        if returned:
            raise Unsent(f"{self._place} finds no queue {_names(returned)}", returned)

    def wake(self, key: str) -> None:
        """Wakes the listeners of a topic; without a connection, once as soon as there is one."""
        self._wakeups.add(key)
        self.link.start()
        if self.link.connection is not None:
            self._send_wakeups()

    async def flush(self) -> None:
        """Returns when all wake-ups were sent; raises Fault."""
        if self._wakeups:
            await self.link.up()

    async def _prepare(self, connection: Connection) -> None:
        await topology.declare(connection)
        wakeup_channel = await connection.vital_channel()
        work = await connection.vital_channel()
        work.raw.add_on_return_callback(self._on_return)
        await work.call(work.raw.confirm_delivery, ack_nack_callback=self._on_confirm)
        self._work_channel, self._wakeup_channel, self._connection = (
            work,
            wakeup_channel,
            connection,
        )
        self._last, self._in_flight = 0, {}
        self._send_wakeups()

    async def _send_window(self, outgoing: Sequence[Outgoing], deployment: str) -> list[Outgoing]:
        """Sends messages and awaits all confirms; returns the returned ones; raises Unsent."""
        await self._up()
        connection, window = self._connection, _Window(outgoing, self._last + 1)
        assert connection is not None
        try:
            if connection.blocked:
                raise self._fault(connection.blocked)
            for queue, body in outgoing:
                self._publish(queue, body, window, deployment)
            await self._confirms(window, connection)
        except Fault as fault:
            left = window.unconfirmed()
            raise Unsent(f"{fault} ({_names(left)})", left) from fault
        finally:
            for tag in window.open:
                self._in_flight.pop(tag, None)
        if window.refused:
            raise Unsent(f"{self._place} refuses {_names(window.refused)}", window.unconfirmed())
        return window.returned

    async def _up(self) -> None:
        try:
            await asyncio.wait_for(self.link.up(), CONFIRM_SECONDS)
        except TimeoutError:
            raise self._fault(f"no connection within {CONFIRM_SECONDS:g} s") from None

    def _publish(self, queue: str, body: bytes, window: _Window, deployment: str) -> None:
        assert self._work_channel is not None
        self._last += 1
        self._in_flight[self._last] = window
        properties = pika.BasicProperties(
            delivery_mode=DeliveryMode.Persistent.value,
            message_id=str(self._last),
            app_id=deployment,
        )
        publish = self._work_channel.raw.basic_publish
        self._work_channel.cast(publish, WORK, name_of(queue), body, properties, mandatory=True)

    async def _confirms(self, window: _Window, connection: Connection) -> None:
        """Awaits confirms; raises Fault if the connection is lost or none arrives for too long."""
        done = asyncio.create_task(window.done.wait())
        first: set[asyncio.Future[Any]] = {done, connection.lost}
        try:
            while not window.done.is_set():
                left, bytes_received = len(window.open), connection.bytes_received
                await asyncio.wait(
                    first, timeout=CONFIRM_SECONDS, return_when=asyncio.FIRST_COMPLETED
                )
                if window.done.is_set():
                    return
                if connection.lost.done():
                    raise connection.lost.result()
                if len(window.open) == left:
                    self._give_up(connection, is_silent=connection.bytes_received == bytes_received)
        finally:
            done.cancel()

    def _give_up(self, connection: Connection, *, is_silent: bool) -> None:
        """Raises Fault; drops a silent connection, which may be dead without a sign."""
        fault = self._fault(connection.blocked or f"no confirm within {CONFIRM_SECONDS:g} s")
        if is_silent:
            connection.drop(fault)
        raise fault

    def _fault(self, what: str) -> Fault:
        return Fault(f"{self._place}: {what}")

    def _on_confirm(self, frame: Any) -> None:
        """Confirms one tag, or all up to it with `multiple`: tags in flight are in order."""
        method = frame.method
        tags = [method.delivery_tag]
        if method.multiple:
            tags = list(takewhile(lambda tag: tag <= method.delivery_tag, self._in_flight))
        for tag in tags:
            window = self._in_flight.pop(tag, None)
            if window is not None:
                window.confirm(tag, is_taken=isinstance(method, pika.spec.Basic.Ack))

    def _on_return(self, _channel: object, _method: object, properties: Any, _body: bytes) -> None:
        window = self._in_flight.get(int(properties.message_id))
        if window is not None:
            window.give_back(int(properties.message_id))

    def _send_wakeups(self) -> None:
        if self._wakeup_channel is None or (
            self._connection is not None and self._connection.blocked
        ):
            return
        keys, self._wakeups = self._wakeups, set()
        with suppress(Fault):  # listeners also check without being woken
            for key in keys:
                self._wakeup_channel.cast(
                    self._wakeup_channel.raw.basic_publish,
                    WAKEUPS,
                    key,
                    b"",
                    self._wakeup_properties,
                )


class _Window:
    """Messages in flight, with delivery tags from `first` on; `open` are not yet answered."""

    def __init__(self, outgoing: Sequence[Outgoing], first: int) -> None:
        self._outgoing = outgoing
        self._first = first
        self.open = set(range(first, first + len(outgoing)))
        self.returned: list[Outgoing] = []
        self.refused: list[Outgoing] = []
        self.done = asyncio.Event()

    def confirm(self, tag: int, *, is_taken: bool) -> None:
        """Notes the broker's ack or nack."""
        self.open.discard(tag)
        if not is_taken:
            self.refused.append(self._outgoing[tag - self._first])
        if not self.open:
            self.done.set()

    def give_back(self, tag: int) -> None:
        """Notes a returned message, which no queue accepts; the broker confirms it as well."""
        self.returned.append(self._outgoing[tag - self._first])

    def unconfirmed(self) -> list[Outgoing]:
        """The messages that may not have arrived, and those that did not."""
        unanswered = [self._outgoing[tag - self._first] for tag in self.open]
        return unanswered + self.returned + self.refused


def _names(outgoing: Sequence[Outgoing]) -> str:
    return ", ".join(sorted({name_of(queue) for queue, _ in outgoing})[:3])
