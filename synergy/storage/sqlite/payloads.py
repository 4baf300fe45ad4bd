"""Bodies too long for a row."""

from __future__ import annotations

from collections.abc import Sequence

from synergy.storage.payload import name_of
from synergy.storage.sqlite.database import Database
from synergy.storage.sqlite.queries import queries
from synergy.storage.sqlite.rows import array, fetch_one

_SQL = queries("payloads")


class SqlitePayloads:
    """See `synergy.storage.protocol.Payloads`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, content: bytes) -> str:
        name = name_of(content)
        with self._database.writing() as connection:
            connection.execute(_SQL["put"], (name, content))
        return name

    def get(self, name: str) -> bytes | None:
        with self._database.reading() as connection:
            row = fetch_one(connection, _SQL["get"], (name,))
        return None if row is None else row[0]

    def prune(self, kept: Sequence[str]) -> int:
        with self._database.writing() as connection:
            connection.execute(_SQL["prune"], (array(kept),))
            return connection.changes()
