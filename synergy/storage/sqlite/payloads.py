"""Bodies that are too long for a row."""

from __future__ import annotations

from collections.abc import Sequence

from synergy.storage.payload import name_of
from synergy.storage.sqlite.columns import array
from synergy.storage.sqlite.database import Database
from synergy.storage.sqlite.queries import queries

_SQL = queries("payloads")


class SqlitePayloads:
    """See `synergy.storage.protocol.Payloads`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, content: bytes) -> str:
        name = name_of(content)
        self._database.execute(_SQL["put"], (name, content))
        return name

    def get(self, name: str) -> bytes | None:
        row = self._database.fetch_one(_SQL["get"], (name,))
        return None if row is None else row[0]

    def prune(self, kept: Sequence[str]) -> int:
        return self._database.execute(_SQL["prune"], (array(kept),))
