"""The record of what happened, and the feed that others follow."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from synergy.model.journal import JournalEntry


class Journal(Protocol):
    """Append-only; `seq` rises in the order in which entries become visible."""

    def append(self, entries: Sequence[JournalEntry]) -> None:
        """Adds entries that come with no state change of another noun (`scheduler.started`)."""
        ...

    def since(self, seq: int, limit: int, besides: str = "") -> list[JournalEntry]:
        """Entries after `seq`, oldest first, without those whose `who` is `besides`."""
        ...

    def of_job(
        self, process: str, timeperiod: str, limit: int = 128, before: int | None = None
    ) -> list[JournalEntry]:
        """Entries of one job, newest first, those of ranges that include it as well.

        With `before` only those whose numbers are lower.
        """
        ...

    def find(
        self, process: str | None = None, limit: int = 128, before: int | None = None
    ) -> list[JournalEntry]:
        """The newest entries, newest first; with `before` only those whose numbers are lower.

        The cost is that of what is returned, however far back it lies.
        """
        ...

    def last_seq(self) -> int:
        """The number of the newest entry; 0 if there is none."""
        ...

    def prune(self, before: datetime, limit: int) -> int:
        """Forgets at most `limit` entries older than `before`."""
        ...
