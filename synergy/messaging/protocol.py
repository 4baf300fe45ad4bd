"""The messaging contract.

Delivery is at least once; the unit's row, not the message, decides. A queue belongs to
one process and is shared by its instances: each message goes to one of them. The bus knows which
queues are pooled: their messages also wake the listeners of POOL_TOPIC. A topic wakes all its
listeners, without content, and a wake-up may be lost: listeners read the store, and at intervals
also without being woken.

One conformance suite (`tests/contract/test_bus_*.py`) tests every engine. Every method may raise
MessagingUnavailable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from synergy.messaging.message import Message
from synergy.storage.protocol import Batch, DeadMessage


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message that a consumer has taken; `body` is its encoded form."""

    message: Message
    body: bytes


class Waiter(Protocol):
    """Blocks a thread until it is woken."""

    def wait(self, timeout: float) -> bool:
        """Blocks until it is woken, at most `timeout` seconds; returns whether it was woken."""
        ...

    def interrupt(self) -> None:
        """Ends a wait from another thread or a signal handler; the next wait ends at once too."""
        ...

    def close(self) -> None: ...


class Puller(Protocol):
    """Takes messages from one queue, in one thread, and holds none between two calls."""

    def take(self, limit: int, batch: Batch) -> list[Delivery]:
        """At most `limit` messages, oldest first, without waiting.

        They are gone when the batch is durable and come back if it fails. Messages that cannot
        be decoded, or are of another deployment, are put into quarantine and not returned; others
        are taken in their place.
        """
        ...

    def reject(self, delivery: Delivery, reason: str, batch: Batch) -> None:
        """Puts a message that was taken in this batch into quarantine, with the reason."""
        ...


class Consumer(Puller, Waiter, Protocol):
    """Takes messages from one queue, in one thread, and waits for them.

    If nothing was taken, none is available here. With a broker, messages may be in transit: a
    following wait ends as soon as one is available, whether it came before or after that.
    `Bus.depths` returns how many wait.
    """


class BusView(Protocol):
    """The waiting and quarantined messages of a bus."""

    def depths(self, queues: Sequence[str] | None = None) -> dict[str, int]:
        """The number of waiting messages by queue (None: all); empty queues are left out.

        Messages that a consumer has taken do not count.
        """
        ...

    def dead(self, limit: int = 100, before: int | None = None) -> list[DeadMessage]:
        """Messages in quarantine, newest first; with `before`, only those with lower numbers."""
        ...


class Bus(BusView, Protocol):
    """Carries messages between processes."""

    def declare(self, queues: Sequence[str]) -> None:
        """Creates what the engine needs for these queues, where it is missing.

        It is called before anything is published. Raises ConfigurationError for problems that
        only an operator can correct, MessagingUnavailable for those that may be temporary.
        """
        ...

    def publish(
        self,
        queue: str,
        messages: Sequence[Message],
        batch: Batch,
        confirmed: Callable[[], object] = lambda: None,
    ) -> None:
        """Sends messages when the batch is durable, and not if it fails.

        An engine that uses the store writes them with the batch, and calls `confirmed` at
        once: what `confirmed` writes belongs to the batch as well. Any other engine sends them
        after the batch, which may raise MessagingUnavailable although the batch is durable;
        `confirmed` is called if and when they are known to be safe in the queue.
        """
        ...

    def consumer(self, queue: str) -> Consumer: ...

    def puller(self, queue: str) -> Puller: ...

    def notify(self, topic: str) -> None:
        """Wakes the current listeners of the topic; never blocks, never raises."""
        ...

    def listener(self, topic: str) -> Waiter: ...

    def replay(self, seqs: Sequence[int] | None = None) -> dict[str, int]:
        """Returns messages in quarantine (None: all) to their queues; their number by queue."""
        ...

    def purge(self, queue: str) -> int:
        """Deletes all waiting messages of a queue; returns their number."""
        ...

    def purge_dead(self) -> int: ...

    def close(self) -> None: ...
