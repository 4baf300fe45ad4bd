"""Log lines of units, waiting messages of the store-backed bus, and quarantined ones of any bus."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from synergy.model.value import value
from synergy.storage.quarantine_limits import (
    QUARANTINE_LIMITS,
    QuarantineContents,
    QuarantineLimits,
)


@value
class LogLine:
    """A line that a worker logged while it ran a unit."""

    at: datetime
    attempt: int
    level: str
    text: str


class ReadableUnitLogs(Protocol):
    """The lines that workers logged while they ran units."""

    def of_unit(self, unit: str, after: int = 0, limit: int | None = None) -> list[LogLine]:
        """At most `limit` lines of a unit, oldest first, without the first `after`."""
        ...

    def count(self, unit: str) -> int:
        """The number of lines of a unit."""
        ...


class UnitLogs(ReadableUnitLogs, Protocol):
    """Log lines, read and appended to."""

    def append(self, unit: str, lines: Sequence[LogLine]) -> None: ...


@value
class StoredMessage:
    """A message that waits in the store."""

    seq: int
    queue: str
    body: bytes


@value
class DeadMessage:
    """A message of any bus that is in quarantine, because it could not be read or was rejected."""

    seq: int
    queue: str
    body: bytes
    reason: str
    at: datetime


class ReadableMessages(Protocol):
    """The waiting messages of the store-backed bus, and the quarantined messages of any bus."""

    def depths(self) -> dict[str, int]:
        """The number of waiting messages of each queue that has any."""
        ...

    def buried(self, limit: int = 100, before: int | None = None) -> list[DeadMessage]:
        """Quarantined messages, newest first; with `before`, only those with lower numbers."""
        ...

    def quarantine(self) -> QuarantineContents:
        """How much is in quarantine, without reading the messages."""
        ...


class Messages(ReadableMessages, Protocol):
    """Messages, read, put, taken and quarantined; first in, first out for each queue."""

    def put(self, queue: str, bodies: Sequence[bytes]) -> None: ...

    def take(self, queue: str, limit: int) -> list[StoredMessage]:
        """Removes at most `limit` of the oldest messages and returns them.

        A batch that fails puts them back. Two callers never receive the same message.
        """
        ...

    def bury(
        self,
        queue: str,
        body: bytes,
        reason: str,
        now: datetime,
        limits: QuarantineLimits = QUARANTINE_LIMITS,
    ) -> int:
        """Puts a message into quarantine; drops the oldest beyond the limits, returns how many."""
        ...

    def replay(self, seqs: Sequence[int] | None = None) -> dict[str, int]:
        """Moves quarantined messages (None: all) back into the store's queues.

        Returns their number by queue.
        """
        ...

    def purge(self, queue: str) -> int:
        """Deletes all waiting messages of the queue; returns their number."""
        ...

    def purge_buried(self, seqs: Sequence[int] | None = None) -> int:
        """Deletes quarantined messages (None: all); returns their number."""
        ...
