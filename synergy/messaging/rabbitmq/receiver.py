"""The connection that messages come in by; see `subscription` for how."""

from __future__ import annotations

import asyncio
import logging

import pika

from synergy.messaging.amqp import Address
from synergy.messaging.rabbitmq import topology
from synergy.messaging.rabbitmq.faults import Fault
from synergy.messaging.rabbitmq.reconnecting import ReconnectingConnection
from synergy.messaging.rabbitmq.subscription import Subscription
from synergy.messaging.rabbitmq.topic_listener import TopicListener
from synergy.messaging.rabbitmq.wire import Connection

DEAF_AFTER = 30.0  # seconds without a message after which it is seen whether there are any
SURE_AFTER = 2.0

log = logging.getLogger(__name__)


class Receiver:
    """Holds the subscriptions of this process, and the ear for all of its listeners."""

    def __init__(
        self, how: pika.ConnectionParameters, address: Address, ear: TopicListener
    ) -> None:
        self.link = ReconnectingConnection(how, address, "RabbitMQ, receiving", self._prepare)
        self._ear = ear
        self._subscriptions: set[Subscription] = set()
        self._watch: asyncio.Task[None] | None = None

    async def listen(self, topic: str) -> None:
        """Returns when rings of the topic are heard; raises Fault, and goes on to try."""
        if self._ear.knows(topic):
            return
        self._ear.add(topic)
        connection = self.link.connection
        if connection is None:
            await self.link.up()  # which hears all topics that are known by then
        else:
            await self._ear.hear(topic, connection)

    async def subscribe(self, subscription: Subscription) -> None:
        """Returns when messages can come; raises Fault, and goes on to try."""
        self._subscriptions.add(subscription)
        if self._watch is None:
            self._watch = asyncio.create_task(self._listen_for_silence())
        connection = self.link.connection
        if connection is None:
            await self.link.up()
        else:
            await self._attach(subscription, connection)

    async def unsubscribe(self, subscription: Subscription) -> None:
        """What it holds goes back into the queue."""
        self._subscriptions.discard(subscription)
        await subscription.detach()

    async def close(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
        await self.link.close()

    async def _prepare(self, connection: Connection) -> None:
        await topology.declare(connection)
        await self._ear.open(connection)
        for subscription in tuple(self._subscriptions):
            await self._attach(subscription, connection)

    async def _attach(self, subscription: Subscription, connection: Connection) -> None:
        await topology.declare(connection, [subscription.queue])
        await subscription.attach(await connection.vital_channel())

    async def _listen_for_silence(self) -> None:
        """Connects anew if a subscription gets nothing although there is something for it.

        A broker may forget a consumer, and nothing tells of it: the channel is open, the
        heart beats, and there is never a message again.
        """
        while True:
            await asyncio.sleep(DEAF_AFTER)
            connection = self.link.connection
            for subscription in tuple(self._subscriptions):
                if connection is None or connection.lost.done():
                    break
                try:
                    if await self._is_deaf(subscription, connection):
                        self.link.drop(
                            f"nothing comes from {subscription.queue}, which is not empty"
                        )
                except Fault:
                    log.debug("Nobody can say whether %s is empty", subscription.queue)

    async def _is_deaf(self, subscription: Subscription, connection: Connection) -> bool:
        heard = subscription.heard
        if not subscription.is_waiting or not await topology.depth(connection, subscription.queue):
            return False
        await asyncio.sleep(SURE_AFTER)
        return (
            subscription.is_waiting
            and subscription.heard == heard
            and await topology.depth(connection, subscription.queue) > 0
        )
