"""What a consumer has from its queue: messages at hand, messages in a batch, and how many more.

The broker sends ahead as many messages as were asked for last, so that who takes many small ones
does not wait for each group. It sends none to who is busy: whoever takes one at a time gets no
more than that one before he asks again; and who does not ask for a while, because one of a group
turned out to be long, gives back what he was sent, for others to take.

Two threads meet here. The consumer's takes and gives back under a lock; the loop, which owns the
channel, does the rest.
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

REST_AFTER = 0.1  # seconds without being asked after which nothing is kept at hand


log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Received:
    """A message from the broker, unacknowledged; `channel` is the one that its tag belongs to."""

    channel: Channel
    tag: int
    body: bytes
    deployment: str


class Subscription:
    """A queue's messages for one consumer."""

    def __init__(self, queue: str, post: Callable[..., None], arrived: Callable[[], None]) -> None:
        """`post` has the loop call something; `arrived` is called when a message is at hand."""
        self.queue = queue
        self.heard = 0  # messages that came in so far
        self._post = post
        self._arrived = arrived
        self._lock = threading.Lock()
        self._at_hand: deque[Received] = deque()
        self._window = 1  # how many may come at a time
        self._is_wanted = False  # whether any may
        self._is_waiting = False
        self._asked = 0  # how often
        self._channel: Channel | None = None
        self._present = 0  # the window that the broker knows of; 0 if nothing may come
        self._tag = ""
        self._steering: asyncio.Task[None] | None = None
        self._resting: asyncio.TimerHandle | None = None

    # The consumer's thread

    def take(self, limit: int) -> list[Received]:
        """At most as many of those at hand; more are sent meanwhile, unless `limit` is one."""
        with self._lock:
            self._asked += 1
            found = [self._at_hand.popleft() for _ in range(min(limit, len(self._at_hand)))]
            is_news = self._want(limit, more=limit > 1 or not found)
        if is_news:
            self._post(self._steer)
        return found

    def await_any(self, wait: Callable[[], bool]) -> bool:
        """Whether something is at hand, or `wait` says that something came."""
        with self._lock:
            if self._at_hand:
                return True
            self._is_waiting = True
            is_news = self._want(self._window, more=True)
        if is_news:
            self._post(self._steer)
        try:
            return wait()
        finally:
            self._is_waiting = False

    def done(self, some: list[Received]) -> None:
        """What was taken is done with, and so is all that was taken before it."""
        self._post(self._acknowledge_soon, some[-1])

    def back(self, some: list[Received]) -> None:
        """What was taken is at hand again, in its place."""
        with self._lock:
            self._at_hand.extendleft(one for one in reversed(some) if one.channel is self._channel)
        self._arrived()
        self._post(self._rest_later)

    def _want(self, window: int, *, more: bool) -> bool:
        """Whether the broker has to be told; call it with the lock held."""
        before = self._wanted
        self._window, self._is_wanted = max(window, 1), more
        return self._wanted != before

    # The loop

    @property
    def is_waiting(self) -> bool:
        """Whether the consumer waits, and the broker may send."""
        return self._is_waiting and self._present > 0

    async def attach(self, channel: Channel) -> None:
        """Goes on with a new channel. What came by another is in the queue again."""
        with self._lock:
            self._channel = channel
            self._at_hand.clear()
        self._present, self._tag = 0, ""
        channel.lost.add_done_callback(lambda _: self._lose(channel))
        channel.raw.add_on_cancel_callback(
            lambda _: channel.fail(f"queue {name_of(self.queue)} was taken away")
        )
        self._steer()

    async def detach(self) -> None:
        """Gives everything back, for good."""
        channel, self._channel = self._channel, None
        for pending in (self._steering, self._resting):
            if pending is not None:
                pending.cancel()
        if channel is not None:
            channel.close()
            await asyncio.wait({channel.lost})

    def _lose(self, channel: Channel) -> None:
        """What came by a channel that is lost is in the queue again, and not ours any more."""
        with self._lock:
            if channel is self._channel:
                self._channel = None
                self._at_hand.clear()

    def _steer(self) -> None:
        if self._channel is not None and (self._steering is None or self._steering.done()):
            self._steering = asyncio.create_task(self._tell_broker(self._channel))

    async def _tell_broker(self, channel: Channel) -> None:
        """Has it send as many as are wanted by now."""
        try:
            while channel is self._channel and self._present != self._wanted:
                await self._tell(channel, self._wanted)
        except Fault as fault:
            log.debug("%s: %s", self.queue, fault)  # another channel will come
        if self._channel not in (channel, None):
            self._steering = None
            self._steer()

    async def _tell(self, channel: Channel, wanted: int) -> None:
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
            self._present, self._tag = wanted, tag if wanted else ""

    @property
    def _wanted(self) -> int:
        return self._window if self._is_wanted else 0

    def _on_message(
        self, channel: Channel, _raw: object, method: Any, properties: Any, body: bytes
    ) -> None:
        self.heard += 1
        with self._lock:
            if channel is not self._channel:
                return
            is_first = not self._at_hand
            self._at_hand.append(
                Received(channel, method.delivery_tag, body, properties.app_id or "")
            )
        if is_first:
            self._arrived()
        self._rest_later()

    def _acknowledge_soon(self, last: Received) -> None:
        """After what `_steer` has begun: who wants no more shall not get more for an ack."""
        asyncio.get_running_loop().call_soon(self._acknowledge, last)

    def _acknowledge(self, last: Received) -> None:
        with suppress(Fault):  # its channel is lost: it comes again
            last.channel.cast(last.channel.raw.basic_ack, last.tag, multiple=True)
        self._rest_later()

    def _rest_later(self) -> None:
        if self._resting is None:
            loop = asyncio.get_running_loop()
            self._resting = loop.call_later(REST_AFTER, self._rest, self._asked)

    def _rest(self, asked: int) -> None:
        """Gives back what is at hand, and wants no more, if nobody asked meanwhile."""
        self._resting = None
        with self._lock:
            if self._is_waiting:
                return  # what comes ends the wait, and then this is looked at again
            is_idle = self._asked == asked
            given = list(self._at_hand) if is_idle else []
            if is_idle:
                self._is_wanted = False
                self._at_hand.clear()
        if not is_idle:
            self._rest_later()
            return
        with suppress(Fault):
            for one in given:
                one.channel.cast(one.channel.raw.basic_nack, one.tag, requeue=True)
        self._steer()
