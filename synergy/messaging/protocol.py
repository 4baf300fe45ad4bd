"""The messaging contract.

Delivery is at least once; the unit's row, not the message, is the truth. A queue belongs to
one process and is shared by its instances: each message goes to one of them. A topic wakes
everybody who listens, carries nothing, and may be lost: whoever listens looks at the store,
and looks at times without being woken.

One conformance suite (`tests/contract/test_bus_*.py`) holds every engine to it. Every
method may raise MessagingUnavailable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from synergy.messaging.message import Message
from synergy.storage.protocol import Batch, DeadMessage


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message in a consumer's hands; `body` is what came over the wire."""

    message: Message
    body: bytes


class Waiter(Protocol):
    """Somebody who waits to be woken."""

    def wait(self, timeout: float) -> bool:
        """Blocks until there may be something, at most `timeout` seconds; True if woken."""
        ...

    def interrupt(self) -> None:
        """Ends a wait from another thread or a signal handler; the next wait ends at once too."""
        ...

    def close(self) -> None: ...


class Consumer(Waiter, Protocol):
    """Takes messages from one queue, in one thread."""

    def take(self, limit: int, batch: Batch) -> list[Delivery]:
        """At most `limit` messages, oldest first, without waiting.

        They are gone when the batch is durable and come back if it fails. Messages that
        cannot be understood, or are of another deployment, are put into quarantine here and
        are not returned; others are taken in their place.

        An empty answer means that nothing is at hand. Where messages travel, some may be on
        their way: whoever then waits is woken as soon as there is one, whether it came before
        or after that answer. To know how many wait, ask `Bus.depths`.
        """
        ...

    def reject(self, delivery: Delivery, reason: str, batch: Batch) -> None:
        """Puts a message that was taken in this batch into quarantine, with the reason."""
        ...


class Bus(Protocol):
    """Carries messages between processes."""

    def declare(self, queues: Sequence[str]) -> None:
        """Makes what the engine needs for these queues, where it is missing.

        To be called ahead, before anything is published. Raises ConfigurationError for what
        only an operator can put right, MessagingUnavailable for what may pass.
        """
        ...

    def publish(
        self,
        queue: str,
        messages: Sequence[Message],
        batch: Batch,
        confirmed: Callable[[], object] = lambda: None,
    ) -> None:
        """The messages leave when the batch is durable, and not if it fails.

        An engine that lives in the store writes them with the batch, and calls `confirmed` at
        once: what it writes belongs to the batch as well. Any other sends them after the
        batch, which may raise MessagingUnavailable although the batch is durable; `confirmed`
        is called if and when they are known to be safe in the queue.
        """
        ...

    def consumer(self, queue: str) -> Consumer: ...

    def notify(self, topic: str) -> None:
        """Wakes whoever listens to the topic now; never blocks, never raises."""
        ...

    def listener(self, topic: str) -> Waiter: ...

    def depths(self, queues: Sequence[str] | None = None) -> dict[str, int]:
        """How many messages wait in each queue (None: all); a queue not named here is empty.

        Those in a consumer's hands do not count.
        """
        ...

    def dead(self, limit: int = 100, before: int | None = None) -> list[DeadMessage]:
        """Messages in quarantine, newest first; with `before` only those with lower numbers."""
        ...

    def replay(self, seqs: Sequence[int] | None = None) -> dict[str, int]:
        """Sends messages in quarantine (None: all) to their queues again; how many to each."""
        ...

    def purge(self, queue: str) -> int:
        """Drops all messages that wait in a queue; how many."""
        ...

    def purge_dead(self) -> int: ...

    def close(self) -> None: ...
