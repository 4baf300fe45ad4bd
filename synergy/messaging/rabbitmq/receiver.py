"""The connection that receives messages (see `subscription`) and wake-ups."""

from __future__ import annotations

import asyncio
import logging

import pika

from synergy.messaging.amqp import Address
from synergy.messaging.rabbitmq import topology
from synergy.messaging.rabbitmq.faults import NOT_FOUND, Fault
from synergy.messaging.rabbitmq.pulling import PullChannel
from synergy.messaging.rabbitmq.reconnecting import ReconnectingConnection
from synergy.messaging.rabbitmq.subscription import Received, Subscription
from synergy.messaging.rabbitmq.topic_listener import TopicListener
from synergy.messaging.rabbitmq.wire import Connection

STALL_CHECK_SECONDS = 30.0  # the pause between two checks for queues that are not delivered
STALL_CONFIRM_SECONDS = 2.0  # the pause before a suspected stall is checked again

log = logging.getLogger(__name__)


class Receiver:
    """The subscriptions of this process, and the listener for all of its topics."""

    def __init__(
        self, settings: pika.ConnectionParameters, address: Address, listener: TopicListener
    ) -> None:
        self.link = ReconnectingConnection(settings, address, "RabbitMQ, receiving", self._prepare)
        self._listener = listener
        self._subscriptions: set[Subscription] = set()
        self._watch: asyncio.Task[None] | None = None
        self._pulls: PullChannel | None = None

    async def listen(self, topic: str) -> None:
        """Returns when the topic is bound, or at once if it was added before.

        Raises Fault; the topic is then bound on the next connection.
        """
        if self._listener.knows(topic):
            return
        self._listener.add(topic)
        connection = self.link.connection
        if connection is None:
            await self.link.up()  # binds all topics that are added by then
        else:
            await self._listener.bind(topic, connection)

    async def subscribe(self, subscription: Subscription) -> None:
        """Returns when messages can arrive.

        Raises Fault; messages can then arrive over the next connection.
        """
        self._subscriptions.add(subscription)
        if self._watch is None:
            self._watch = asyncio.create_task(self._watch_for_stalls())
        connection = self.link.connection
        if connection is None:
            await self.link.up()
        else:
            await self._attach(subscription, connection)

    async def unsubscribe(self, subscription: Subscription) -> None:
        """Ends a subscription; its messages go back into the queue."""
        self._subscriptions.discard(subscription)
        await subscription.detach()

    async def pull(self, queue: str, limit: int) -> list[Received]:
        """At most `limit` messages of a queue, unacknowledged; raises Fault."""
        connection = await self.link.up()
        if self._pulls is None or self._pulls.is_lost:
            self._pulls = PullChannel(await connection.channel())
        try:
            return await self._pulls.pull(queue, limit)
        except Fault as fault:
            if fault.code != NOT_FOUND:
                raise
        await topology.declare(connection, [queue])  # the broker lost it, and so its messages
        return []

    async def close(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
        await self.link.close()

    async def _prepare(self, connection: Connection) -> None:
        await topology.declare(connection)
        await self._listener.open(connection)
        for subscription in tuple(self._subscriptions):
            await self._attach(subscription, connection)

    async def _attach(self, subscription: Subscription, connection: Connection) -> None:
        await topology.declare(connection, [subscription.queue])
        await subscription.attach(await connection.vital_channel())

    async def _watch_for_stalls(self) -> None:
        """Reconnects if a subscription receives nothing although its queue is not empty.

        A broker may lose a consumer silently: the channel stays open and heartbeats arrive, but no
        messages.
        """
        while True:
            await asyncio.sleep(STALL_CHECK_SECONDS)
            connection = self.link.connection
            for subscription in tuple(self._subscriptions):
                if connection is None or connection.lost.done():
                    break
                try:
                    if await self._is_stalled(subscription, connection):
                        self.link.drop(
                            f"nothing comes from {subscription.queue}, which is not empty"
                        )
                except Fault:
                    log.debug("It is unknown whether %s is empty", subscription.queue)

    async def _is_stalled(self, subscription: Subscription, connection: Connection) -> bool:
        received_count = subscription.received_count
        if not subscription.is_waiting or not await topology.depth(connection, subscription.queue):
            return False
        await asyncio.sleep(STALL_CONFIRM_SECONDS)
        return (
            subscription.is_waiting
            and subscription.received_count == received_count
            and await topology.depth(connection, subscription.queue) > 0
        )
