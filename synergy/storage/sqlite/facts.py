"""Named strings."""

from __future__ import annotations

from synergy.storage.plain_rows import FACT_ROW
from synergy.storage.sqlite.database import Database
from synergy.storage.sqlite.queries import queries

_SQL = queries("facts")
_fact = FACT_ROW.reads_row("name value")


class SqliteFacts:
    """See `synergy.storage.protocol.Facts`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, name: str) -> str | None:
        row = self._database.fetch_one(_SQL["get"], (name,))
        return _fact((name, *row)).value if row else None

    def set(self, name: str, value: str) -> None:
        self._database.execute(_SQL["set"], (name, value))

    def set_default(self, name: str, value: str) -> str:
        found = self.get(name)
        if found is not None:
            return found
        with self._database.writing() as connection:
            connection.execute(_SQL["set_default"], (name, value))
            stored = connection.execute(_SQL["get"], (name,)).get
        return _fact((name, stored)).value
