"""Named strings."""

from __future__ import annotations

from synergy.storage.mongodb.counters import upsert
from synergy.storage.mongodb.database import Database
from synergy.storage.plain_rows import FACT_ROW

_fact = FACT_ROW.reads_document(name="_id")


class MongoFacts:
    """See `synergy.storage.protocol.Facts`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._facts = database["facts"]

    def get(self, name: str) -> str | None:
        with self._database.calling():
            found = self._facts.find_one({"_id": name})
        return None if found is None else _fact(found).value

    def set(self, name: str, value: str) -> None:
        with self._database.calling():
            upsert(self._facts, name, {"$set": {"value": value}})

    def set_default(self, name: str, value: str) -> str:
        with self._database.calling():
            stored = upsert(self._facts, name, {"$setOnInsert": {"value": value}}, after=True)
            assert stored is not None
        return _fact(stored).value
