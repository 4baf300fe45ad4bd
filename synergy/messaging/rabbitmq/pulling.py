"""Messages that are asked for one by one, for a process that takes from many queues in turn.

A subscription would hold messages of each queue; of these, none are held between two calls, so a
process that is busy for long keeps no message from others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pika.spec import Basic

from synergy.messaging.rabbitmq.faults import Fault
from synergy.messaging.rabbitmq.subscription import Received
from synergy.messaging.rabbitmq.topology import name_of
from synergy.messaging.rabbitmq.wire import Channel


class PulledMessages:
    """The messages of one queue, in the thread of their puller."""

    def __init__(
        self,
        queue: str,
        pull: Callable[[str, int], list[Received]],
        post: Callable[..., None],
    ) -> None:
        """`pull` asks the broker; `post` calls a function in the loop."""
        self.queue = queue
        self._pull = pull
        self._post = post

    def take(self, limit: int) -> list[Received]:
        """At most `limit` messages."""
        return self._pull(self.queue, limit)

    def acknowledge(self, some: list[Received]) -> None:
        """Acknowledges these messages."""
        self._post(_acknowledge, some)

    def requeue(self, some: list[Received]) -> None:
        """Returns these messages to the queue."""
        self._post(_return, some)


class PullChannel:
    """The channel over which messages are asked for; in the loop. One call at a time."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._answer: asyncio.Future[Received | None] | None = None
        channel.raw.add_callback(lambda _: self._resolve(None), [Basic.GetEmpty], one_shot=False)

    @property
    def is_lost(self) -> bool:
        return self._channel.lost.done()

    async def pull(self, queue: str, limit: int) -> list[Received]:
        """At most `limit` messages; raises Fault.

        If it fails, the channel is closed, which returns the messages to their queue.
        """
        found: list[Received] = []
        try:
            while len(found) < limit and (one := await self._next(queue)) is not None:
                found.append(one)
        except BaseException:
            self._channel.close()
            self._channel.fail("a request for messages was given up")
            raise
        return found

    async def _next(self, queue: str) -> Received | None:
        self._answer = asyncio.get_running_loop().create_future()
        self._channel.cast(self._channel.raw.basic_get, name_of(queue), self._on_message)
        answer: Received | None = await self._channel.answered(self._answer)
        return answer

    def _on_message(self, _raw: object, method: Any, properties: Any, body: bytes) -> None:
        sender = properties.app_id or ""
        self._resolve(Received(self._channel, method.delivery_tag, body, sender))

    def _resolve(self, answer: Received | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(answer)


def _acknowledge(some: list[Received]) -> None:
    with suppress(Fault):  # the channel is lost, so the messages come again
        for one in some:
            one.channel.cast(one.channel.raw.basic_ack, one.tag)


def _return(some: list[Received]) -> None:
    with suppress(Fault):
        for one in some:
            one.channel.cast(one.channel.raw.basic_nack, one.tag, requeue=True)
