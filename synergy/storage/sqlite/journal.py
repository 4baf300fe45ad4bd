"""The journal, and how the other modules write into it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import apsw

from synergy.model.journal import JournalEntry
from synergy.model.time_range import EVER, TimeRange
from synergy.storage.instants import micros
from synergy.storage.sqlite.columns import entry, entry_row
from synergy.storage.sqlite.database import Database
from synergy.storage.sqlite.queries import queries
from synergy.storage.sqlite.time_ranges import between

_AFTER_ALL = 1 << 62  # higher than the number of any entry
_SQL = queries("journal")


def record(connection: apsw.Connection, entries: Iterable[JournalEntry]) -> None:
    """Writes entries in the caller's transaction."""
    connection.executemany(_SQL["append"], [entry_row(entry) for entry in entries])


class SqliteJournal:
    """See `synergy.storage.protocol.Journal`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def append(self, entries: Sequence[JournalEntry]) -> None:
        with self._database.writing() as connection:
            record(connection, entries)

    def since(self, seq: int, limit: int, besides: str = "") -> list[JournalEntry]:
        bindings = {"seq": seq, "limit": limit, "besides": besides}
        return entry.each(self._database.fetch(_SQL["since"], bindings), self._database.malformed)

    def of_job(
        self,
        process: str,
        timeperiod: str,
        limit: int = 128,
        before: int | None = None,
        within: TimeRange = EVER,
    ) -> list[JournalEntry]:
        job = {"process": process, "timeperiod": timeperiod}
        return self._older("of_job", job, limit, before, within)

    def find(
        self,
        process: str | None = None,
        limit: int = 128,
        before: int | None = None,
        within: TimeRange = EVER,
    ) -> list[JournalEntry]:
        if process is None:
            return self._older("newest", {}, limit, before, within)
        return self._older("newest_of_process", {"process": process}, limit, before, within)

    def _older(
        self, query: str, wanted: dict[str, str], limit: int, before: int | None, within: TimeRange
    ) -> list[JournalEntry]:
        times = between(self._database, _SQL["between"], within)
        number = _AFTER_ALL if before is None else before
        bindings = {**wanted, **times, "limit": limit, "before": number}
        return entry.each(self._database.fetch(_SQL[query], bindings), self._database.malformed)

    def last_seq(self) -> int:
        row = self._database.fetch_one(_SQL["last_seq"])
        return int(row[0]) if row else 0

    def prune(self, before: datetime, limit: int) -> int:
        return self._database.execute(_SQL["prune"], {"before": micros(before), "limit": limit})
