"""Hearing rings from other processes: a queue of this process alone, bound to its topics."""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

from synergy.messaging.rabbitmq.topology import BELLS
from synergy.messaging.rabbitmq.wire import Channel, Connection
from synergy.messaging.wakeups import Wakeups

_LONGEST = 200  # bytes of a topic that is a key by itself: the broker takes 255


def key_of(topic: str) -> str:
    """A topic as the broker can carry it."""
    if len(topic.encode()) <= _LONGEST:
        return topic
    return "#" + hashlib.blake2b(topic.encode(), digest_size=16).hexdigest()


class TopicListener:
    """Rings the local bells of a topic when another process rings it."""

    def __init__(self, bells: Wakeups, name: str) -> None:
        """`name` is what this process puts on the rings of its own, which are heard already."""
        self._bells = bells
        self._name = name
        self._topics: dict[str, str] = {}  # by key
        self._channel: Channel | None = None
        self._queue = ""

    def knows(self, topic: str) -> bool:
        return key_of(topic) in self._topics

    def add(self, topic: str) -> None:
        """Will be heard on each connection that is opened from now on."""
        self._topics[key_of(topic)] = topic

    async def open(self, connection: Connection) -> None:
        """Hears all topics on a new connection; since the last one, something may be missed."""
        was_open, self._channel = self._channel is not None, None
        for topic in tuple(self._topics.values()):
            await self.hear(topic, connection)
            if was_open:
                self._bells.ring(topic)

    async def hear(self, topic: str, connection: Connection) -> None:
        """Begins to hear a topic; raises Fault."""
        if self._channel is None:
            self._channel = await self._listening(connection)
        raw = self._channel.raw
        await self._channel.call(
            raw.queue_bind, queue=self._queue, exchange=BELLS, routing_key=key_of(topic)
        )

    async def _listening(self, connection: Connection) -> Channel:
        """A new queue each time: the broker may not yet have noticed that the last is lonely.

        It keeps one ring for each that is on its way, since many say no more than one.
        """
        channel = await connection.vital_channel()
        self._queue = f"{BELLS}.{secrets.token_hex(8)}"
        await channel.call(
            channel.raw.queue_declare,
            queue=self._queue,
            exclusive=True,
            auto_delete=True,
        )
        await channel.call(
            channel.raw.basic_consume,
            queue=self._queue,
            on_message_callback=self._on_ring,
            auto_ack=True,
        )
        return channel

    def _on_ring(self, _channel: object, method: Any, properties: Any, _body: bytes) -> None:
        topic = self._topics.get(method.routing_key)
        if topic is not None and properties.app_id != self._name:
            self._bells.ring(topic)
