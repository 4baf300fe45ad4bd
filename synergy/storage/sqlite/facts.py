"""A few named strings."""

from __future__ import annotations

from synergy.storage.sqlite.database import Database
from synergy.storage.sqlite.queries import queries
from synergy.storage.sqlite.rows import fetch_one

_SQL = queries("facts")


class SqliteFacts:
    """See `synergy.storage.protocol.Facts`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, name: str) -> str | None:
        with self._database.reading() as connection:
            row = fetch_one(connection, _SQL["get"], (name,))
            return str(row[0]) if row else None

    def set(self, name: str, value: str) -> None:
        with self._database.writing() as connection:
            connection.execute(_SQL["set"], (name, value))

    def set_default(self, name: str, value: str) -> str:
        with self._database.writing() as connection:
            connection.execute(_SQL["set_default"], (name, value))
            return str(connection.execute(_SQL["get"], (name,)).get)
