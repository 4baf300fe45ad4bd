"""The bus that keeps its messages in the store, and sends wake-ups after each commit.

A message is written and taken in the same batches as the states that it refers to.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path

from synergy.clock import Clock, SystemClock
from synergy.messaging.message import BadMessage, Message, decode, encode
from synergy.messaging.protocol import Consumer, Delivery, Puller, Waiter
from synergy.messaging.quarantine import Quarantine
from synergy.messaging.wakeups import LocalWakeups, SocketWakeups, Wakeups
from synergy.names import POOL_TOPIC
from synergy.storage.protocol import Batch, DeadMessage, Messages, Store


class StoredBus:
    """See `synergy.messaging.protocol.Bus`.

    Processes with the same `home` wake each other; without one, only threads of this process that
    share the object do, which fits a store in memory.
    """

    def __init__(
        self,
        store: Store,
        home: Path | None = None,
        clock: Clock | None = None,
        pooled: Collection[str] = (),
    ) -> None:
        self._store = store
        self._pooled = frozenset(pooled)
        self._quarantine = Quarantine(store, clock or SystemClock())
        self._wakeups: Wakeups = SocketWakeups(home / "bells") if home else LocalWakeups()

    def declare(self, queues: Sequence[str]) -> None:
        """Does nothing: a queue exists once it holds a message."""

    def publish(
        self,
        queue: str,
        messages: Sequence[Message],
        batch: Batch,
        confirmed: Callable[[], object] = lambda: None,
    ) -> None:
        if not messages:
            return
        self._store.messages.put(queue, [encode(message) for message in messages])
        confirmed()
        batch.after_commit(partial(self._wake, queue))

    def consumer(self, queue: str) -> Consumer:
        waiter = self._wakeups.waiter(_of_queue(queue))
        return StoredConsumer(queue, self._store.messages, waiter, self._quarantine)

    def puller(self, queue: str) -> Puller:
        return StoredPuller(queue, self._store.messages, self._quarantine)

    def notify(self, topic: str) -> None:
        self._wakeups.wake(_of_topic(topic))

    def listener(self, topic: str) -> Waiter:
        return self._wakeups.waiter(_of_topic(topic))

    def depths(self, queues: Sequence[str] | None = None) -> dict[str, int]:
        found = self._store.messages.depths()
        if queues is None:
            return found
        return {queue: found[queue] for queue in queues if queue in found}

    def dead(self, limit: int = 100, before: int | None = None) -> list[DeadMessage]:
        return self._store.messages.buried(limit, before)

    def replay(self, seqs: Sequence[int] | None = None) -> dict[str, int]:
        with self._store.batch() as batch:
            replayed = self._store.messages.replay(seqs)
            for queue in replayed:
                batch.after_commit(partial(self._wake, queue))
        return replayed

    def purge(self, queue: str) -> int:
        return self._store.messages.purge(queue)

    def purge_dead(self) -> int:
        return self._store.messages.purge_buried()

    def close(self) -> None:
        self._wakeups.close()

    def _wake(self, queue: str) -> None:
        self._wakeups.wake(_of_queue(queue))
        if queue in self._pooled:
            self.notify(POOL_TOPIC)


class StoredPuller:
    """See `synergy.messaging.protocol.Puller`."""

    def __init__(self, queue: str, messages: Messages, quarantine: Quarantine) -> None:
        self._queue = queue
        self._messages = messages
        self._quarantine = quarantine

    def take(self, limit: int, batch: Batch) -> list[Delivery]:
        """Removes messages from the store with the batch of this thread."""
        deliveries: list[Delivery] = []
        while missing := limit - len(deliveries):
            found = self._messages.take(self._queue, missing)
            for stored in found:
                try:
                    deliveries.append(Delivery(decode(stored.body), stored.body))
                except BadMessage as error:
                    self._quarantine.put(self._queue, stored.body, str(error))
            if len(found) < missing:
                break
        return deliveries

    def reject(self, delivery: Delivery, reason: str, batch: Batch) -> None:
        self._quarantine.put(self._queue, delivery.body, reason)


class StoredConsumer(StoredPuller):
    """See `synergy.messaging.protocol.Consumer`."""

    def __init__(
        self, queue: str, messages: Messages, waiter: Waiter, quarantine: Quarantine
    ) -> None:
        super().__init__(queue, messages, quarantine)
        self._waiter = waiter

    def wait(self, timeout: float) -> bool:
        return self._waiter.wait(timeout)

    def interrupt(self) -> None:
        self._waiter.interrupt()

    def close(self) -> None:
        self._waiter.close()


def _of_queue(queue: str) -> str:
    return f"queue-{queue}"


def _of_topic(topic: str) -> str:
    return f"topic-{topic}"
