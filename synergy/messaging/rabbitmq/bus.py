"""The bus that is RabbitMQ: messages leave after the batch, and are acknowledged after theirs.

A message is a hint or can be handled twice, so at least once is enough, and nothing has to be
atomic between store and broker: what the broker did not take, or lost, is said again by the
collector. Bad messages are kept in the store, where they can be looked at, and sent again,
whatever the state of the broker.

One thread does all input and output (`loop`), over two connections (`sender`, `receiver`) that
are made with the first need for them, and again whenever they are lost (`link`).
"""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

from synergy.clock import Clock, SystemClock
from synergy.errors import ConfigurationError, MessagingUnavailable, StorageUnavailable
from synergy.messaging.amqp import Address
from synergy.messaging.message import Message, encode
from synergy.messaging.protocol import Consumer, Waiter
from synergy.messaging.rabbitmq import topology
from synergy.messaging.rabbitmq.consumer import RabbitConsumer
from synergy.messaging.rabbitmq.faults import Fault
from synergy.messaging.rabbitmq.loop import IoThread
from synergy.messaging.rabbitmq.receiver import Receiver
from synergy.messaging.rabbitmq.sender import Letter, Sender, Unsent
from synergy.messaging.rabbitmq.subscription import Subscription
from synergy.messaging.rabbitmq.topic_listener import TopicListener, key_of
from synergy.messaging.rabbitmq.wire import parameters
from synergy.messaging.wakeups import LocalWakeups
from synergy.storage.protocol import Batch, DeadMessage, Store

DEPLOYMENT = "deployment"  # the fact that holds the id of this deployment
LIMIT = 3.0  # seconds for a question
DECLARE_LIMIT = 10.0
SEND_LIMIT = 600.0  # for any number of messages; see also `sender.CONFIRM_SECONDS`
FLUSH_LIMIT = 1.0

T = TypeVar("T")


class RabbitBus:
    """See `synergy.messaging.protocol.Bus`."""

    def __init__(
        self, address: Address, store: Store, clock: Clock | None = None, queues: Sequence[str] = ()
    ) -> None:
        """Connects to nothing yet. `queues` are those that `depths` counts, and others it meets.

        Raises ConfigurationError if a certificate that the address names is of no use.
        """
        how = parameters(address)
        name = secrets.token_hex(8)
        self._place = address.place
        self._store = store
        self._clock = clock or SystemClock()
        self._queues = dict.fromkeys(queues)
        self._io = IoThread()
        self._bells = LocalWakeups()
        self._sender = Sender(how, address, name)
        self._receiver = Receiver(how, address, TopicListener(self._bells, name))
        self._own = threading.local()
        self._deployment_id = ""

    def declare(self, queues: Sequence[str]) -> None:
        self._queues |= dict.fromkeys(queues)
        try:
            self._run(self._declare(queues), DECLARE_LIMIT)
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
        """All messages of a batch are sent together, after it."""
        if not messages:
            return
        self._queues[queue] = None
        outbox = self._outbox(batch)
        outbox.letters += [(queue, encode(message)) for message in messages]
        outbox.confirmed.append((queue, confirmed))

    def consumer(self, queue: str) -> Consumer:
        """Connects, or goes on to try."""
        self._queues[queue] = None
        bell = self._bells.bell(f"queue {queue} {secrets.token_hex(8)}")
        subscription = Subscription(queue, self._io.post, bell.interrupt)
        with suppress(MessagingUnavailable):
            self._run(self._receiver.subscribe(subscription))
        leave = partial(self._leave, subscription)
        return RabbitConsumer(
            subscription, bell, self._store.messages, self._deployment, self._clock, leave
        )

    def notify(self, topic: str) -> None:
        """Wakes the listeners of this process at once, and those of others through the broker."""
        self._bells.ring(topic)
        self._io.post(self._sender.ring, key_of(topic))

    def listener(self, topic: str) -> Waiter:
        """Hears this process alone while the broker is away."""
        bell = self._bells.bell(topic)
        with suppress(MessagingUnavailable):
            self._run(self._receiver.listen(topic))
        return bell

    def depths(self, queues: Sequence[str] | None = None) -> dict[str, int]:
        found = self._run(self._depths(list(self._queues if queues is None else queues)))
        return {queue: depth for queue, depth in found.items() if depth}

    def dead(self, limit: int = 100, before: int | None = None) -> list[DeadMessage]:
        return self._store.messages.buried(limit, before)

    def replay(self, seqs: Sequence[int] | None = None) -> dict[str, int]:
        """They leave quarantine once the broker has them: rather twice than not at all."""
        wanted = None if seqs is None else set(seqs)
        dead = [
            message
            for message in reversed(self._store.messages.buried(1_000_000))
            if wanted is None or message.seq in wanted
        ]
        self._send([(message.queue, message.body) for message in dead])
        self._store.messages.purge_buried([message.seq for message in dead])
        return dict(Counter(message.queue for message in dead))

    def purge(self, queue: str) -> int:
        return self._run(self._purge(queue))

    def purge_dead(self) -> int:
        return self._store.messages.purge_buried()

    def close(self) -> None:
        """Rings what is still to be rung. What was taken and not done with comes again."""
        with suppress(MessagingUnavailable):
            self._run(self._sender.flush(), FLUSH_LIMIT)
        with suppress(MessagingUnavailable):
            self._run(self._close())
        self._io.stop()
        self._bells.close()

    # In the caller's thread

    def _run(self, work: Coroutine[Any, Any, T], limit: float = LIMIT) -> T:
        return self._io.run(work, limit, f"RabbitMQ at {self._place} did not answer")

    def _outbox(self, batch: Batch) -> _Outbox:
        """What this thread's batch is about to send."""
        outbox: _Outbox | None = getattr(self._own, "outbox", None)
        if outbox is None:
            outbox = self._own.outbox = _Outbox()
            batch.after_commit(self._send_out)
            batch.after_failure(self._empty)
        return outbox

    def _empty(self) -> _Outbox:
        outbox: _Outbox = self._own.outbox
        self._own.outbox = None
        return outbox

    def _send_out(self) -> None:
        """Sends what the batch published; raises MessagingUnavailable if some is not confirmed."""
        outbox = self._empty()
        unsent: frozenset[str] | None = None
        try:
            self._send(outbox.letters)
            unsent = frozenset()
        except Unsent as error:
            unsent = error.queues
            raise
        finally:
            if unsent is not None:
                self._confirm([act for queue, act in outbox.confirmed if queue not in unsent])

    def _send(self, letters: Sequence[Letter]) -> None:
        if letters:
            self._run(self._sender.send(letters, self._deployment()), SEND_LIMIT)

    def _confirm(self, acts: Sequence[Callable[[], object]]) -> None:
        """What they write is of use to the collector, and no more."""
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

    def _leave(self, subscription: Subscription) -> None:
        with suppress(MessagingUnavailable):
            self._run(self._receiver.unsubscribe(subscription))

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
    """What a batch publishes, and what to do when it is confirmed, by queue."""

    def __init__(self) -> None:
        self.letters: list[Letter] = []
        self.confirmed: list[tuple[str, Callable[[], object]]] = []
