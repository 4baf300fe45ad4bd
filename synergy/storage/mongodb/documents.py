"""Documents: reading, merging, and the numbers of their changes.

Rows of a unit's result are hidden until the unit's conclusion is committed (`results`), so a worker
that lost its unit changes nothing visible. Merges are shown at once (`merging`). `collection_rows`
explains both, and `changes` the numbers.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence

from synergy.storage.mongodb.changes import ENDLESS, Changes, Written
from synergy.storage.mongodb.collection_rows import Reader
from synergy.storage.mongodb.database import Database
from synergy.storage.mongodb.merging import Merging
from synergy.storage.plain_rows import DOCUMENT_ROW
from synergy.storage.protocol import Bounds, Merge, SourceChange

_document = DOCUMENT_ROW.reads_document()


class MongoDocuments:
    """See `synergy.storage.protocol.Documents`."""

    def __init__(self, database: Database, changes: Changes) -> None:
        self._database = database
        self._changes = changes
        self._stuck: set[str] = set()  # merges that were in progress at the last `recover`

    def read(self, collection: str, start: str, end: str) -> Iterator[dict[str, object]]:
        reader = Reader(self._database, collection, start, end or ENDLESS)
        while (rows := reader.next()) is not None:
            yield from [_document({**row, "collection": collection, "seq": 0}).body for row in rows]

    def update(self, collection: str, keys: Sequence[tuple[str, str]], merge: Merge) -> int:
        merging = Merging(self._database, collection, keys, merge)
        with self._database.calling():
            if not merging.prepare():
                return 0
            intents = self._database["intents"]
            intent = {
                "_id": secrets.token_hex(12),
                "collection": collection,
                "timeperiods": merging.timeperiods(),
            }
            intents.insert_one(intent)
            while not merging.write():
                pass
            self._changes.announce(merging.written())
            intents.delete_one({"_id": intent["_id"]})
        return merging.count

    def bounds(self, collection: str, start: str, end: str) -> Bounds | None:
        found = self.bounds_by_timeperiod(collection, start, end).values()
        if not found:
            return None
        return Bounds(
            min(bounds.low for bounds in found),
            max(bounds.high for bounds in found),
            sum(bounds.rows for bounds in found),
        )

    def bounds_by_timeperiod(self, collection: str, start: str, end: str) -> dict[str, Bounds]:
        return self._changes.bounds(collection, start, end)

    def changed_since(self, seq: int, limit: int) -> list[SourceChange]:
        return self._changes.since(seq, limit)

    def collections(self) -> dict[str, int]:
        return self._changes.rows()

    def recover(self) -> int:
        """Announces merges that were in progress at the last call already; returns their number."""
        with self._database.calling():
            intents = {intent["_id"]: intent for intent in self._database["intents"].find()}
            left = [intent for id_, intent in intents.items() if id_ in self._stuck]
            self._stuck = set(intents)
            for intent in left:
                places = [(intent["collection"], at) for at in intent["timeperiods"]]
                self._changes.announce([Written(at, 1) for at in places])
                self._database["intents"].delete_one({"_id": intent["_id"]})
            self._changes.forget()
        return len(left)
