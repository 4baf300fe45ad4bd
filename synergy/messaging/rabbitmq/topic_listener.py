"""Receives wake-ups of other processes through a queue of this process, bound to its topics."""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

from synergy.messaging.rabbitmq.topology import WAKEUPS
from synergy.messaging.rabbitmq.wire import Channel, Connection
from synergy.messaging.wakeups import Wakeups

_LONGEST = 200  # bytes of a topic that is used as key: the broker allows 255


def key_of(topic: str) -> str:
    """The routing key of a topic: the topic, or its digest if it is long."""
    if len(topic.encode()) <= _LONGEST:
        return topic
    return "#" + hashlib.blake2b(topic.encode(), digest_size=16).hexdigest()


class TopicListener:
    """Wakes the local waiters of a topic when another process notifies it."""

    def __init__(self, wakeups: Wakeups, name: str) -> None:
        """`name` marks this process's own wake-ups, which are ignored."""
        self._wakeups = wakeups
        self._name = name
        self._topics: dict[str, str] = {}  # by key
        self._channel: Channel | None = None
        self._queue = ""

    def knows(self, topic: str) -> bool:
        return key_of(topic) in self._topics

    def add(self, topic: str) -> None:
        """Adds a topic, to be bound on each connection that is opened from now on."""
        self._topics[key_of(topic)] = topic

    async def open(self, connection: Connection) -> None:
        """Binds all topics on a new connection, and wakes them: wake-ups may have been missed."""
        was_open, self._channel = self._channel is not None, None
        for topic in tuple(self._topics.values()):
            await self.bind(topic, connection)
            if was_open:
                self._wakeups.wake(topic)

    async def bind(self, topic: str, connection: Connection) -> None:
        """Binds a topic; raises Fault."""
        if self._channel is None:
            self._channel = await self._open_queue(connection)
        raw = self._channel.raw
        await self._channel.call(
            raw.queue_bind, queue=self._queue, exchange=WAKEUPS, routing_key=key_of(topic)
        )

    async def _open_queue(self, connection: Connection) -> Channel:
        """Opens a new queue each time: the broker may not have deleted the last one yet."""
        channel = await connection.vital_channel()
        self._queue = f"{WAKEUPS}.{secrets.token_hex(8)}"
        await channel.call(
            channel.raw.queue_declare,
            queue=self._queue,
            exclusive=True,
            auto_delete=True,
        )
        await channel.call(
            channel.raw.basic_consume,
            queue=self._queue,
            on_message_callback=self._on_wakeup,
            auto_ack=True,
        )
        return channel

    def _on_wakeup(self, _channel: object, method: Any, properties: Any, _body: bytes) -> None:
        topic = self._topics.get(method.routing_key)
        if topic is not None and properties.app_id != self._name:
            self._wakeups.wake(topic)
