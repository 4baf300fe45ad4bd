"""Publishing: all messages at once, then their confirms together.

A message counts as sent when the broker has confirmed it and did not return it: a confirm alone
is given, too, for a message that no queue wanted.
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
from synergy.messaging.rabbitmq.topology import BELLS, WORK, name_of
from synergy.messaging.rabbitmq.wire import Channel, Connection

CONFIRM_SECONDS = 3.0  # without any confirm, after which sending fails

Letter = tuple[str, bytes]
"""The queue that a message goes to, and its body."""


class Unsent(Fault):
    """Messages for these queues were not confirmed; they may or may not be there."""

    def __init__(self, what: str, letters: Iterable[Letter]) -> None:
        super().__init__(what)
        self.queues = frozenset(queue for queue, _ in letters)


class Sender:
    """The connection that messages leave by.

    It is not the one that they come in by: a broker that is short of memory stops reading from
    who publishes, and our acks must get through.
    """

    def __init__(self, how: pika.ConnectionParameters, address: Address, name: str) -> None:
        """`name` is put on rings, so that who rang can tell them from those of others."""
        self.link = ReconnectingConnection(how, address, "RabbitMQ, sending", self._prepare)
        self._ring = pika.BasicProperties(app_id=name)
        self._place = f"RabbitMQ at {address.place}"
        self._connection: Connection | None = None
        self._work: Channel | None = None
        self._bells: Channel | None = None
        self._last = 0  # delivery tag
        self._under_way: dict[int, _Window] = {}
        self._rings: set[str] = set()

    async def send(self, letters: Sequence[Letter], deployment: str) -> None:
        """Returns when all are confirmed; raises Unsent, or another Fault if nothing was sent.

        A queue that is missing is made, and gets its messages in a second try.
        """
        returned = await self._window(letters, deployment)
        if returned:
            connection = await self.link.up()
            await topology.declare(connection, {queue for queue, _ in returned})
            returned = await self._window(returned, deployment)
        if returned:
            raise Unsent(f"{self._place} finds no queue {_names(returned)}", returned)

    def ring(self, key: str) -> None:
        """Rings a topic soon, if at all; what cannot be sent now is rung once, when it can."""
        self._rings.add(key)
        self.link.start()
        if self.link.connection is not None:
            self._ring_out()

    async def flush(self) -> None:
        """Returns when nothing is left to ring; raises Fault."""
        if self._rings:
            await self.link.up()

    async def _prepare(self, connection: Connection) -> None:
        await topology.declare(connection)
        bells = await connection.vital_channel()
        work = await connection.vital_channel()
        work.raw.add_on_return_callback(self._on_return)
        await work.call(work.raw.confirm_delivery, ack_nack_callback=self._on_confirm)
        self._work, self._bells, self._connection = work, bells, connection
        self._last, self._under_way = 0, {}
        self._ring_out()

    async def _window(self, letters: Sequence[Letter], deployment: str) -> list[Letter]:
        """Sends, and awaits all confirms; what came back. Raises Unsent."""
        await self._up()
        connection, window = self._connection, _Window(letters, self._last + 1)
        assert connection is not None
        try:
            if connection.blocked:
                raise self._fault(connection.blocked)
            for queue, body in letters:
                self._publish(queue, body, window, deployment)
            await self._confirms(window, connection)
        except Fault as fault:
            left = window.unconfirmed()
            raise Unsent(f"{fault} ({_names(left)})", left) from fault
        finally:
            for tag in window.open:
                self._under_way.pop(tag, None)
        if window.refused:
            raise Unsent(f"{self._place} refuses {_names(window.refused)}", window.unconfirmed())
        return window.returned

    async def _up(self) -> None:
        try:
            await asyncio.wait_for(self.link.up(), CONFIRM_SECONDS)
        except TimeoutError:
            raise self._fault(f"no connection within {CONFIRM_SECONDS:g} s") from None

    def _publish(self, queue: str, body: bytes, window: _Window, deployment: str) -> None:
        assert self._work is not None
        self._last += 1
        self._under_way[self._last] = window
        properties = pika.BasicProperties(
            delivery_mode=DeliveryMode.Persistent.value,
            message_id=str(self._last),
            app_id=deployment,
        )
        publish = self._work.raw.basic_publish
        self._work.cast(publish, WORK, name_of(queue), body, properties, mandatory=True)

    async def _confirms(self, window: _Window, connection: Connection) -> None:
        """Awaits them; raises Fault if the connection is lost, or none comes for long."""
        done = asyncio.create_task(window.done.wait())
        first: set[asyncio.Future[Any]] = {done, connection.lost}
        try:
            while not window.done.is_set():
                left, heard = len(window.open), connection.heard
                await asyncio.wait(
                    first, timeout=CONFIRM_SECONDS, return_when=asyncio.FIRST_COMPLETED
                )
                if window.done.is_set():
                    return
                if connection.lost.done():
                    raise connection.lost.result()
                if len(window.open) == left:
                    self._give_up(connection, is_silent=connection.heard == heard)
        finally:
            done.cancel()

    def _give_up(self, connection: Connection, *, is_silent: bool) -> None:
        """Raises Fault. A connection that is silent may be dead without knowing it."""
        fault = self._fault(connection.blocked or f"no confirm within {CONFIRM_SECONDS:g} s")
        if is_silent:
            connection.drop(fault)
        raise fault

    def _fault(self, what: str) -> Fault:
        return Fault(f"{self._place}: {what}")

    def _on_confirm(self, frame: Any) -> None:
        """Tags are given in order, so those that `multiple` means come first."""
        method = frame.method
        tags = [method.delivery_tag]
        if method.multiple:
            tags = list(takewhile(lambda tag: tag <= method.delivery_tag, self._under_way))
        for tag in tags:
            window = self._under_way.pop(tag, None)
            if window is not None:
                window.confirm(tag, is_taken=isinstance(method, pika.spec.Basic.Ack))

    def _on_return(self, _channel: object, _method: object, properties: Any, _body: bytes) -> None:
        window = self._under_way.get(int(properties.message_id))
        if window is not None:
            window.give_back(int(properties.message_id))

    def _ring_out(self) -> None:
        if self._bells is None or (self._connection is not None and self._connection.blocked):
            return
        rings, self._rings = self._rings, set()
        with suppress(Fault):  # who listens looks at times by himself
            for key in rings:
                self._bells.cast(self._bells.raw.basic_publish, BELLS, key, b"", self._ring)


class _Window:
    """Messages under way, with delivery tags from `first` on; `open` are not yet answered."""

    def __init__(self, letters: Sequence[Letter], first: int) -> None:
        self._letters = letters
        self._first = first
        self.open = set(range(first, first + len(letters)))
        self.returned: list[Letter] = []
        self.refused: list[Letter] = []
        self.done = asyncio.Event()

    def confirm(self, tag: int, *, is_taken: bool) -> None:
        """The broker has it, or says that it does not want it."""
        self.open.discard(tag)
        if not is_taken:
            self.refused.append(self._letters[tag - self._first])
        if not self.open:
            self.done.set()

    def give_back(self, tag: int) -> None:
        """No queue wants it; its confirm comes nevertheless."""
        self.returned.append(self._letters[tag - self._first])

    def unconfirmed(self) -> list[Letter]:
        """Those that may not have arrived, and those that did not."""
        unanswered = [self._letters[tag - self._first] for tag in self.open]
        return unanswered + self.returned + self.refused


def _names(letters: Sequence[Letter]) -> str:
    return ", ".join(sorted({name_of(queue) for queue, _ in letters})[:3])
