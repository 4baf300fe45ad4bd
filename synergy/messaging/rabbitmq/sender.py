"""Publishing: all messages at once, then their confirms together.

A message counts as sent when the broker has confirmed it and did not return it: a confirm alone
is given, too, for a message that no queue wanted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

import pika
from pika import DeliveryMode

from synergy.messaging.amqp import Address
from synergy.messaging.rabbitmq import topology
from synergy.messaging.rabbitmq.faults import Fault
from synergy.messaging.rabbitmq.link import Link
from synergy.messaging.rabbitmq.topology import BELLS, WORK, name_of
from synergy.messaging.rabbitmq.wire import Channel, Connection

PATIENCE = 3.0  # seconds without any confirm after which no more is hoped for

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
        self.link = Link(how, address, "RabbitMQ, sending", self._prepare)
        self._ring = pika.BasicProperties(app_id=name)
        self._place = address.place
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
            raise Unsent(f"RabbitMQ at {self._place} finds no queue for some messages", returned)

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
        self._bells = await connection.vital_channel()
        self._work = work = await connection.vital_channel()
        work.raw.add_on_return_callback(self._on_return)
        await work.call(work.raw.confirm_delivery, ack_nack_callback=self._on_confirm)
        self._last, self._under_way = 0, {}
        self._ring_out()

    async def _window(self, letters: Sequence[Letter], deployment: str) -> list[Letter]:
        """Sends, and awaits all confirms; what came back. Raises Unsent."""
        connection = await self._connection()
        assert self._work is not None
        window = _Window(letters, self._last + 1)
        try:
            for queue, body in letters:
                self._last += 1
                self._under_way[self._last] = window
                self._publish(self._work, queue, body, deployment)
            await self._confirms(window, connection)
        except Fault as fault:
            raise Unsent(str(fault), window.unconfirmed()) from fault
        return window.returned

    async def _connection(self) -> Connection:
        try:
            return await asyncio.wait_for(self.link.up(), PATIENCE)
        except TimeoutError:
            raise Fault(f"RabbitMQ at {self._place} did not answer in {PATIENCE:g} s") from None

    def _publish(self, channel: Channel, queue: str, body: bytes, deployment: str) -> None:
        properties = pika.BasicProperties(
            delivery_mode=DeliveryMode.Persistent.value,
            message_id=str(self._last),
            app_id=deployment,
        )
        channel.cast(
            channel.raw.basic_publish, WORK, name_of(queue), body, properties, mandatory=True
        )

    async def _confirms(self, window: _Window, connection: Connection) -> None:
        """Awaits them; raises Fault if the connection is lost, or none comes for long."""
        done = asyncio.create_task(window.done.wait())
        try:
            while not window.done.is_set():
                left, heard = window.left, connection.heard
                first: set[asyncio.Future[Any]] = {done, connection.lost}
                await asyncio.wait(first, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
                if window.left == left and not connection.lost.done():
                    self._give_up(connection, connection.heard == heard)
                if connection.lost.done() and not window.done.is_set():
                    raise connection.lost.result()
        finally:
            done.cancel()

    def _give_up(self, connection: Connection, is_silent: bool) -> None:
        """Raises Fault. A connection that is silent may be dead without knowing it."""
        why = connection.blocked or f"no confirm within {PATIENCE:g} s"
        fault = Fault(f"RabbitMQ at {self._place}: {why}")
        if is_silent:
            connection.drop(fault)
        raise fault

    def _on_confirm(self, frame: Any) -> None:
        tag: int = frame.method.delivery_tag
        is_taken = frame.method.NAME == "Basic.Ack"
        tags = [tag]
        if frame.method.multiple:
            tags = []
            for known in self._under_way:
                if known > tag:
                    break
                tags.append(known)
        for one in tags:
            window = self._under_way.pop(one, None)
            if window is not None:
                window.confirm(one, is_taken=is_taken)

    def _on_return(self, _channel: object, _method: object, properties: Any, _body: bytes) -> None:
        window = self._under_way.get(int(properties.message_id))
        if window is not None:
            window.give_back(int(properties.message_id))

    def _ring_out(self) -> None:
        rings, self._rings = self._rings, set()
        for key in rings:
            assert self._bells is not None
            try:
                self._bells.cast(self._bells.raw.basic_publish, BELLS, key, b"", self._ring)
            except Fault:
                return  # who listens looks at times by himself


class _Window:
    """Messages under way, with delivery tags from `first` on."""

    def __init__(self, letters: Sequence[Letter], first: int) -> None:
        self._letters = letters
        self._first = first
        self._open = set(range(first, first + len(letters)))
        self.returned: list[Letter] = []
        self.done = asyncio.Event()

    @property
    def left(self) -> int:
        return len(self._open)

    def confirm(self, tag: int, *, is_taken: bool) -> None:
        """The broker has it, or has it not and says so: then it stays unconfirmed."""
        if is_taken:
            self._open.discard(tag)
        if not self._open:
            self.done.set()

    def give_back(self, tag: int) -> None:
        self.returned.append(self._letters[tag - self._first])

    def unconfirmed(self) -> list[Letter]:
        """Those that may not have arrived, and those that came back."""
        return [self._letters[tag - self._first] for tag in self._open] + self.returned
