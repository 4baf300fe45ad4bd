"""The journal, and how the other nouns write into it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import apsw

from synergy.model.journal import JournalEntry
from synergy.storage.encoding import micros
from synergy.storage.sqlite.database import Database
from synergy.storage.sqlite.queries import queries
from synergy.storage.sqlite.rows import Row, entry, entry_row, fetch

_SQL = queries("journal")


def record(connection: apsw.Connection, rows: Iterable[Row]) -> None:
    """Writes entries, in the order of the columns, in the caller's transaction."""
    connection.executemany(_SQL["append"], rows)


def record_jobs(connection: apsw.Connection, rows: Iterable[Row]) -> None:
    """The same for entries that end with what the job covered."""
    connection.executemany(_SQL["append_job"], rows)


class SqliteJournal:
    """See `synergy.storage.protocol.Journal`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def append(self, entries: Sequence[JournalEntry]) -> None:
        with self._database.writing() as connection:
            record_jobs(connection, [entry_row(entry) for entry in entries])

    def since(self, seq: int, limit: int, besides: str = "") -> list[JournalEntry]:
        bindings = {"seq": seq, "limit": limit, "besides": besides}
        with self._database.reading() as connection:
            rows = fetch(connection, _SQL["since"], bindings)
        return [entry(row) for row in rows]

    def of_job(self, process: str, timeperiod: str, limit: int = 128) -> list[JournalEntry]:
        bindings = {"process": process, "timeperiod": timeperiod, "limit": limit}
        with self._database.reading() as connection:
            rows = fetch(connection, _SQL["of_job"], bindings)
        return [entry(row) for row in rows]

    def find(self, process: str | None = None, limit: int = 128) -> list[JournalEntry]:
        with self._database.reading() as connection:
            if process is None:
                rows = fetch(connection, _SQL["newest"], (limit,))
            else:
                rows = fetch(connection, _SQL["newest_of_process"], (process, limit))
        return [entry(row) for row in rows]

    def last_seq(self) -> int:
        with self._database.reading() as connection:
            return int(connection.execute(_SQL["last_seq"]).get or 0)

    def prune(self, before: datetime, limit: int) -> int:
        with self._database.writing() as connection:
            connection.execute(_SQL["prune"], {"before": micros(before), "limit": limit})
            return connection.changes()
