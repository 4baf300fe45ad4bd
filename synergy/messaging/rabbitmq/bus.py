"""The bus over RabbitMQ.

Messages are sent after the batch that publishes them, and acknowledged after the batch that takes
them.

A message is a hint or can be handled twice, so at-least-once delivery suffices, and store and
broker need no common transaction: the collector publishes messages again that the broker refused or
lost. Bad messages are kept in the store, where they can be read without the broker.

One thread does all input and output (`loop`), over two connections (`sender`, `receiver`) that are
opened when first needed, and reopened when lost (`reconnecting`).
"""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

from synergy.clock import Clock, SystemClock
from synergy.errors import ConfigurationError, MessagingUnavailable, StorageUnavailable
from synergy.messaging.amqp import Address
from synergy.messaging.message import Message, encode
from synergy.messaging.protocol import Consumer, Puller, Waiter
from synergy.messaging.quarantine import Quarantine
from synergy.messaging.rabbitmq import topology
from synergy.messaging.rabbitmq.consumer import RabbitConsumer, RabbitPuller
from synergy.messaging.rabbitmq.faults import Fault
from synergy.messaging.rabbitmq.loop import IoThread
from synergy.messaging.rabbitmq.pulling import PulledMessages
from synergy.messaging.rabbitmq.receiver import Receiver
from synergy.messaging.rabbitmq.sender import Outgoing, Sender, Unsent
from synergy.messaging.rabbitmq.subscription import Received, Subscription
from synergy.messaging.rabbitmq.topic_listener import TopicListener, key_of
from synergy.messaging.rabbitmq.wire import parameters
from synergy.messaging.wakeups import LocalWakeups
from synergy.names import POOL_TOPIC
from synergy.storage.protocol import Batch, DeadMessage, Store

DEPLOYMENT = "deployment"  # the fact that holds the id of this deployment
REQUEST_SECONDS = 3.0
DECLARE_SECONDS = 10.0
SEND_SECONDS = 600.0  # for any number of messages; see also `sender.CONFIRM_SECONDS`
FLUSH_SECONDS = 1.0

T = TypeVar("T")


class RabbitBus:
    """See `synergy.messaging.protocol.Bus`."""

    def __init__(
        self,
        address: Address,
        store: Store,
        clock: Clock | None = None,
        queues: Sequence[str] = (),
        pooled: Collection[str] = (),
    ) -> None:
        """Does not connect yet. `depths` counts `queues`, and those that are used later.

        Raises ConfigurationError if a certificate of the address cannot be used.
        """
        settings = parameters(address)
        name = secrets.token_hex(8)
        self._place = address.place
        self._store = store
        self._quarantine = Quarantine(store, clock or SystemClock())
        self._queues = dict.fromkeys(queues)
        self._pooled = frozenset(pooled)
        self._io = IoThread()
        self._wakeups = LocalWakeups()
        self._sender = Sender(settings, address, name)
        self._receiver = Receiver(settings, address, TopicListener(self._wakeups, name))
        self._local = threading.local()
        self._deployment_id = ""

    def declare(self, queues: Sequence[str]) -> None:
        self._queues |= dict.fromkeys(queues)
        try:
            self._await(self._declare(queues), DECLARE_SECONDS)
        except Fault as fault:
            if fault.is_mistake:
                raise ConfigurationError([str(fault)]) from fault
            raise

    def publish(
        self,
        queue: str,
        messages: Sequence[Message],
        batch: Batch,
        confirmed: Callable[[], object] = lambda: None,
    ) -> None:
        """Sends all messages of a batch together, after it."""
        if not messages:
            return
        self._queues[queue] = None
        outbox = self._outbox(batch)
        outbox.outgoing += [(queue, encode(message)) for message in messages]
        outbox.confirmed.append((queue, confirmed))

    def consumer(self, queue: str) -> Consumer:
        """A consumer of the queue; without a broker, connecting goes on in the background."""
        self._queues[queue] = None
        waiter = self._wakeups.waiter(f"queue {queue} {secrets.token_hex(8)}")
        subscription = Subscription(queue, self._io.post, waiter.interrupt)
        with suppress(MessagingUnavailable):
            self._await(self._receiver.subscribe(subscription))
        detach = partial(self._unsubscribe, subscription)
        return RabbitConsumer(subscription, waiter, self._quarantine, self._deployment, detach)

    def puller(self, queue: str) -> Puller:
        self._queues[queue] = None
        pulled = PulledMessages(queue, self._pull, self._io.post)
        return RabbitPuller(pulled, self._quarantine, self._deployment)

    def notify(self, topic: str) -> None:
        """Wakes the listeners of this process at once, and those of others through the broker."""
        self._wakeups.wake(topic)
        self._io.post(self._sender.wake, key_of(topic))

    def listener(self, topic: str) -> Waiter:
        """A listener; without a broker, only this process can wake it."""
        waiter = self._wakeups.waiter(topic)
        with suppress(MessagingUnavailable):
            self._await(self._receiver.listen(topic))
        return waiter

    def depths(self, queues: Sequence[str] | None = None) -> dict[str, int]:
        found = self._await(self._depths(list(self._queues if queues is None else queues)))
        return {queue: depth for queue, depth in found.items() if depth}

    def dead(self, limit: int = 100, before: int | None = None) -> list[DeadMessage]:
        return self._store.messages.buried(limit, before)

    def replay(self, seqs: Sequence[int] | None = None) -> dict[str, int]:
        """Removes messages from quarantine after the broker has them, so that none is lost."""
        wanted = None if seqs is None else set(seqs)
        messages = self._store.messages
        dead = [
            message
            for message in reversed(messages.buried(messages.quarantine().messages))
            if wanted is None or message.seq in wanted
        ]
        self._send([(message.queue, message.body) for message in dead])
        messages.purge_buried([message.seq for message in dead])
        return dict(Counter(message.queue for message in dead))

    def purge(self, queue: str) -> int:
        return self._await(self._purge(queue))

    def purge_dead(self) -> int:
        return self._store.messages.purge_buried()

    def close(self) -> None:
        """Sends pending wake-ups. Messages that were taken and not acknowledged come again."""
        with suppress(MessagingUnavailable):
            self._await(self._sender.flush(), FLUSH_SECONDS)
        with suppress(MessagingUnavailable):
            self._await(self._close())
        self._io.stop()
        self._wakeups.close()

    # In the caller's thread

    def _await(self, work: Coroutine[Any, Any, T], limit: float = REQUEST_SECONDS) -> T:
        return self._io.run(work, limit, f"RabbitMQ at {self._place} did not answer")

    def _outbox(self, batch: Batch) -> _Outbox:
        """The outgoing messages of this thread's batch."""
        outbox: _Outbox | None = getattr(self._local, "outbox", None)
        if outbox is None:
            outbox = self._local.outbox = _Outbox()
            batch.after_commit(self._send_outbox)
            batch.after_failure(self._take_outbox)
        return outbox

    def _take_outbox(self) -> _Outbox:
        outbox: _Outbox = self._local.outbox
        self._local.outbox = None
        return outbox

    def _send_outbox(self) -> None:
        """Sends the outbox; raises MessagingUnavailable if a message is not confirmed."""
        outbox = self._take_outbox()
        unsent: frozenset[str] | None = None
        try:
            self._send(outbox.outgoing)
            unsent = frozenset()
        except Unsent as error:
            unsent = error.queues
            raise
        finally:
            if unsent is not None:
                self._confirm([act for queue, act in outbox.confirmed if queue not in unsent])

    def _send(self, outgoing: Sequence[Outgoing]) -> None:
        if outgoing:
            try:
                self._await(self._sender.send(outgoing, self._deployment()), SEND_SECONDS)
            finally:  # some of them may have arrived
                if any(queue in self._pooled for queue, _ in outgoing):
                    self.notify(POOL_TOPIC)

    def _pull(self, queue: str, limit: int) -> list[Received]:
        return self._await(self._receiver.pull(queue, limit))

    def _confirm(self, acts: Sequence[Callable[[], object]]) -> None:
        """Calls the callbacks; their writes may fail, because they only save the collector work."""
        with suppress(StorageUnavailable), self._store.batch():
            for act in acts:
                act()

    def _deployment(self) -> str:
        if not self._deployment_id:
            facts = self._store.facts
            self._deployment_id = facts.get(DEPLOYMENT) or facts.set_default(
                DEPLOYMENT, str(uuid4())
            )
        return self._deployment_id

    def _unsubscribe(self, subscription: Subscription) -> None:
        with suppress(MessagingUnavailable):
            self._await(self._receiver.unsubscribe(subscription))

    # In the loop

    async def _declare(self, queues: Sequence[str]) -> None:
        await topology.declare(await self._sender.link.up(), queues)

    async def _depths(self, queues: Sequence[str]) -> dict[str, int]:
        connection = await self._sender.link.up()
        return {queue: await topology.depth(connection, queue) for queue in queues}

    async def _purge(self, queue: str) -> int:
        return await topology.purge(await self._sender.link.up(), queue)

    async def _close(self) -> None:
        await asyncio.gather(self._sender.link.close(), self._receiver.close())


class _Outbox:
    """The messages of a batch, and the callbacks of their confirmation, by queue."""

    def __init__(self) -> None:
        self.outgoing: list[Outgoing] = []
        self.confirmed: list[tuple[str, Callable[[], object]]] = []
