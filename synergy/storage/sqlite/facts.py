"""Named strings."""

from __future__ import annotations

from synergy.storage.sqlite.database import Database
from synergy.storage.sqlite.queries import queries

_SQL = queries("facts")


class SqliteFacts:
    """See `synergy.storage.protocol.Facts`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, name: str) -> str | None:
        row = self._database.fetch_one(_SQL["get"], (name,))
        return str(row[0]) if row else None

    def set(self, name: str, value: str) -> None:
        self._database.execute(_SQL["set"], (name, value))

    def set_default(self, name: str, value: str) -> str:
        found = self.get(name)
        if found is not None:
            return found
        with self._database.writing() as connection:
            connection.execute(_SQL["set_default"], (name, value))
            return str(connection.execute(_SQL["get"], (name,)).get)
