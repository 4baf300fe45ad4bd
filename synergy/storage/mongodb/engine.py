"""The MongoDB engine: opening, checking and closing a store."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Self

from synergy.errors import Refused
from synergy.storage.mongodb import layout
from synergy.storage.mongodb.database import Database
from synergy.storage.protocol import Batch


class MongoStore:
    """A store in a database. See `synergy.storage.protocol.Store`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(cls, url: str, *, create: bool = True) -> Self:
        """Opens the store at `url`."""
        database = Database.connect(url)
        if create:
            layout.create(database)
        return cls(database)

    def batch(self) -> AbstractContextManager[Batch]:
        return self._database.batch()

    def backup(self, target: Path, progress: Callable[[int, int], None] | None = None) -> None:
        raise Refused(
            f"{self._database.place} is backed up by mongodump, or `launch.py store copy` copies it"
        )

    def close(self) -> None:
        self._database.close()
