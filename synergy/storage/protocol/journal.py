"""The journal: the record of events, and the feed that services follow."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from synergy.model.journal import JournalEntry
from synergy.model.time_range import EVER, TimeRange


class ReadableJournal(Protocol):
    """Entries by `seq`, which rises in the order in which they become visible."""

    def since(self, seq: int, limit: int, besides: str = "") -> list[JournalEntry]:
        """Entries after `seq`, oldest first; without those whose `who` is `besides`, if given."""
        ...

    def of_job(
        self,
        process: str,
        timeperiod: str,
        limit: int = 128,
        before: int | None = None,
        within: TimeRange = EVER,
    ) -> list[JournalEntry]:
        """Entries of one job and of ranges that include it, written `within` a range of time.

        They are the newest ones, newest first; with `before`, only those with lower numbers.
        """
        ...

    def find(
        self,
        process: str | None = None,
        limit: int = 128,
        before: int | None = None,
        within: TimeRange = EVER,
    ) -> list[JournalEntry]:
        """The newest entries written `within` a range of time, newest first.

        With `before`, only those with lower numbers. The cost is proportional to the result, at any
        distance from the newest entry; the index of the range's times is read in addition.
        """
        ...

    def last_seq(self) -> int:
        """The number of the newest entry, even if it was pruned; 0 if there never was one."""
        ...


class Journal(ReadableJournal, Protocol):
    """The journal, read, appended to and pruned; entries never change."""

    def append(self, entries: Sequence[JournalEntry]) -> None:
        """Adds entries of events that change no state (`scheduler.started`)."""
        ...

    def prune(self, before: datetime, limit: int) -> int:
        """Deletes at most `limit` entries older than `before`; returns their number."""
        ...
