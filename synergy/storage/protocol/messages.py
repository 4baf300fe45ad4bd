"""What workers wrote while they worked, and the rows behind the bus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line that a worker wrote while it carried out a unit."""

    at: datetime
    attempt: int
    level: str
    text: str


class UnitLogs(Protocol):
    """What workers wrote while they carried out units."""

    def append(self, unit: str, lines: Sequence[LogLine]) -> None: ...

    def of_unit(self, unit: str, after: int = 0, limit: int | None = None) -> list[LogLine]:
        """Oldest first, without the first `after` of them, at most `limit`."""
        ...

    def count(self, unit: str) -> int:
        """How many lines there are of a unit."""
        ...


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message at rest in the store."""

    seq: int
    queue: str
    body: bytes


@dataclass(frozen=True, slots=True)
class DeadMessage:
    """A message that nobody could make sense of."""

    seq: int
    queue: str
    body: bytes
    reason: str
    at: datetime


class Messages(Protocol):
    """Rows behind the store-backed bus: first in, first out for each queue."""

    def put(self, queue: str, bodies: Sequence[bytes]) -> None: ...

    def take(self, queue: str, limit: int) -> list[StoredMessage]:
        """Takes the oldest away; inside a batch they are back if the batch does not commit.

        Two callers never receive the same message.
        """
        ...

    def depths(self) -> dict[str, int]:
        """How many messages wait in each queue that has any."""
        ...

    def bury(self, queue: str, body: bytes, reason: str, now: datetime) -> None: ...

    def buried(self, limit: int = 100, before: int | None = None) -> list[DeadMessage]:
        """Newest first; with `before` only those whose numbers are lower."""
        ...

    def replay(self, seqs: Sequence[int] | None = None) -> dict[str, int]:
        """Puts buried messages (None: all) back into their queues; how many into each."""
        ...

    def purge(self, queue: str) -> int:
        """Drops all messages that wait in the queue."""
        ...

    def purge_buried(self, seqs: Sequence[int] | None = None) -> int:
        """Drops buried messages (None: all); how many."""
        ...
