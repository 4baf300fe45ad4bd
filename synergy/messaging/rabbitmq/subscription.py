"""The messages of one consumer: a buffer, and the number that the broker may send ahead.

The broker sends as many messages ahead as were last requested, so that a consumer of many short
units does not wait for each group. Busy consumers hold no messages: a consumer that takes single
messages gets no more until its next request; and if a consumer makes no request for a while,
because a unit takes long, its buffered messages are returned, so that others can take them.

Two threads use a subscription: the consumer's thread takes and requeues under a lock; the loop,
which owns the channel, does the rest.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from synergy.messaging.rabbitmq.faults import Fault
from synergy.messaging.rabbitmq.topology import name_of
from synergy.messaging.rabbitmq.wire import Channel

IDLE_SECONDS = 0.1  # the buffer is returned if the consumer makes no request for so long

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Received:
    """An unacknowledged message from the broker; its tag is valid for `channel`."""

    channel: Channel
    tag: int
    body: bytes
    deployment: str


class Subscription:
    """A queue's messages for one consumer."""

    def __init__(self, queue: str, post: Callable[..., None], arrived: Callable[[], None]) -> None:
        """`post` calls a function in the loop; `arrived` is called when a message is buffered."""
        self.queue = queue
        self.received_count = 0  # messages so far
        self._post = post
        self._arrived = arrived
        self._lock = threading.Lock()
        self._buffer: deque[Received] = deque()
        self._window = 1  # how many messages the broker may send ahead
        self._is_wanted = False  # whether it may send any
        self._is_waiting = False
        self._asked = 0  # the number of requests
        self._channel: Channel | None = None
        self._prefetch = 0  # the window that the broker knows; 0 if it may send none
        self._tag = ""
        self._update_task: asyncio.Task[None] | None = None
        self._release_timer: asyncio.TimerHandle | None = None

    # The consumer's thread

    def take(self, limit: int) -> list[Received]:
        """At most `limit` buffered messages; more are sent meanwhile, unless `limit` is one."""
        with self._lock:
            self._asked += 1
            found = [self._buffer.popleft() for _ in range(min(limit, len(self._buffer)))]
            is_changed = self._want(limit, more=limit > 1 or not found)
        if is_changed:
            self._post(self._schedule_update)
        return found

    def await_any(self, wait: Callable[[], bool]) -> bool:
        """Whether a message is buffered, or `wait` returns that one came."""
        with self._lock:
            if self._buffer:
                return True
            self._is_waiting = True
            is_changed = self._want(self._window, more=True)
        if is_changed:
            self._post(self._schedule_update)
        try:
            return wait()
        finally:
            self._is_waiting = False

    def acknowledge(self, some: list[Received]) -> None:
        """Acknowledges these messages, and all that were taken before them."""
        self._post(self._acknowledge_soon, some[-1])

    def requeue(self, some: list[Received]) -> None:
        """Puts messages back into the buffer, in their order."""
        with self._lock:
            self._buffer.extendleft(one for one in reversed(some) if one.channel is self._channel)
        self._arrived()
        self._post(self._release_later)

    def _want(self, window: int, *, more: bool) -> bool:
        """Sets what is wanted; returns whether it changed. Call it with the lock held."""
        before = self._wanted
        self._window, self._is_wanted = max(window, 1), more
        return self._wanted != before

    # The loop

    @property
    def is_waiting(self) -> bool:
        """Whether the consumer waits, and the broker may send."""
        return self._is_waiting and self._prefetch > 0

    async def attach(self, channel: Channel) -> None:
        """Continues with a new channel. Messages of the last one are in the queue again."""
        with self._lock:
            self._channel = channel
            self._buffer.clear()
        self._prefetch, self._tag = 0, ""
        channel.lost.add_done_callback(lambda _: self._forget_channel(channel))
        channel.raw.add_on_cancel_callback(
            lambda _: channel.fail(f"queue {name_of(self.queue)} was deleted or moved")
        )
        self._schedule_update()

    async def detach(self) -> None:
        """Closes the channel, which returns all messages to the queue."""
        channel, self._channel = self._channel, None
        for pending in (self._update_task, self._release_timer):
            if pending is not None:
                pending.cancel()
        if channel is not None:
            channel.close()
            await asyncio.wait({channel.lost})

    def _forget_channel(self, channel: Channel) -> None:
        """Forgets the messages of a lost channel, which are in the queue again."""
        with self._lock:
            if channel is self._channel:
                self._channel = None
                self._buffer.clear()

    def _schedule_update(self) -> None:
        if self._channel is not None and (self._update_task is None or self._update_task.done()):
            self._update_task = asyncio.create_task(self._update_broker(self._channel))

    async def _update_broker(self, channel: Channel) -> None:
        """Sets the broker's prefetch count until it is as wanted."""
        try:
            while channel is self._channel and self._prefetch != self._wanted:
                await self._set_prefetch(channel, self._wanted)
        except Fault as fault:
            log.debug("%s: %s", self.queue, fault)  # another channel will be attached
        if self._channel not in (channel, None):
            self._update_task = None
            self._schedule_update()

    async def _set_prefetch(self, channel: Channel, wanted: int) -> None:
        raw, tag = channel.raw, self._tag
        if tag:
            self._tag = ""
            await channel.call(raw.basic_cancel, consumer_tag=tag)
        if wanted:
            await channel.call(raw.basic_qos, prefetch_count=wanted)
            answer = await channel.call(
                raw.basic_consume,
                queue=name_of(self.queue),
                on_message_callback=partial(self._on_message, channel),
            )
            tag = answer.consumer_tag
        if channel is self._channel:
            self._prefetch, self._tag = wanted, tag if wanted else ""

    @property
    def _wanted(self) -> int:
        return self._window if self._is_wanted else 0

    def _on_message(
        self, channel: Channel, _raw: object, method: Any, properties: Any, body: bytes
    ) -> None:
        self.received_count += 1
        with self._lock:
            if channel is not self._channel:
                return
            is_first = not self._buffer
            self._buffer.append(
                Received(channel, method.delivery_tag, body, properties.app_id or "")
            )
        if is_first:
            self._arrived()
        self._release_later()

    def _acknowledge_soon(self, last: Received) -> None:
        """Acknowledges after a pending update, so that the ack brings no further message."""
        asyncio.get_running_loop().call_soon(self._acknowledge, last)

    def _acknowledge(self, last: Received) -> None:
        with suppress(Fault):  # its channel is lost, so the message comes again
            last.channel.cast(last.channel.raw.basic_ack, last.tag, multiple=True)
        self._release_later()

    def _release_later(self) -> None:
        if self._release_timer is None:
            loop = asyncio.get_running_loop()
            self._release_timer = loop.call_later(IDLE_SECONDS, self._release_idle, self._asked)

    def _release_idle(self, asked: int) -> None:
        """Returns the buffer, and stops the broker, if the consumer took nothing meanwhile."""
        self._release_timer = None
        with self._lock:
            if self._is_waiting:
                return  # the next message ends the wait, and schedules this check again
            is_idle = self._asked == asked
            given = list(self._buffer) if is_idle else []
            if is_idle:
                self._is_wanted = False
                self._buffer.clear()
        if not is_idle:
            self._release_later()
            return
        with suppress(Fault):
            for one in given:
                one.channel.cast(one.channel.raw.basic_nack, one.tag, requeue=True)
        self._schedule_update()
