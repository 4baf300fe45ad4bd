"""Compare-and-set on many documents in one round trip.

Each change names the version `v` that it was decided on. A server answers a group with
counts only, so every group marks what it changes with a word of its own: where the counts
say that something was refused, one more look tells what.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pymongo import UpdateMany, UpdateOne
from pymongo.collection import Collection
from pymongo.errors import BulkWriteError, DuplicateKeyError, OperationFailure

from synergy.storage.mongodb.database import Doc
from synergy.storage.mongodb.faults import duplicate

# Changes that are sent together, so that no request outlasts its deadline. FerretDB 1 hangs if
# they are 100: each holds one of its 100 connections to SQLite until all of them are done.
_GROUP = 64


@dataclass(frozen=True, slots=True)
class Swap:
    """Sets fields of a document if it is still of version `v`; `where` asks for more.

    `entry` is added to what the journal has yet to be told of the document.
    """

    id: str
    v: int
    set: Mapping[str, object]
    where: Mapping[str, object] = field(default_factory=dict)
    entry: Mapping[str, object] | None = None

    def statement(self, mark: str) -> UpdateOne:
        """As the driver wants it."""
        fields = {**self.set, "v": self.v + 1, "mark": mark}
        update: dict[str, object] = {"$set": fields}
        if self.entry is not None:
            update["$set"] = {**fields, "is_told": False}
            update["$push"] = {"untold": {**self.entry, "v": self.v + 1}}
        return UpdateOne({"_id": self.id, "v": self.v, **self.where}, update)


def swap(collection: Collection[Doc], changes: Sequence[Swap]) -> set[str]:
    """Makes the changes; returns the ids of the documents that were as expected.

    Each document comes at most once. One whose change would break a unique index is refused.
    """
    done: set[str] = set()
    for start in range(0, len(changes), _GROUP):
        done |= _group(collection, changes[start : start + _GROUP])
    return done


def _group(collection: Collection[Doc], changes: Sequence[Swap]) -> set[str]:
    mark = secrets.token_hex(8)
    ids = [change.id for change in changes]
    try:
        answer = collection.bulk_write([change.statement(mark) for change in changes], False)
    except OperationFailure as error:
        if not is_duplicate(error):
            raise
        done = _marked(collection, ids, mark)
        rest = [change for change in changes if change.id not in done]
        return done | {change.id for change in rest if _one(collection, change, mark)}
    return set(ids) if answer.matched_count == len(ids) else _marked(collection, ids, mark)


def _one(collection: Collection[Doc], change: Swap, mark: str) -> bool:
    statement = change.statement(mark)
    try:
        answer = collection.bulk_write([statement])
    except OperationFailure as error:
        if not is_duplicate(error):
            raise
        return False
    return answer.matched_count == 1


def _marked(collection: Collection[Doc], ids: Sequence[str], mark: str) -> set[str]:
    found = collection.find({"_id": {"$in": list(ids)}, "mark": mark}, {"_id": 1})
    return {document["_id"] for document in found}


def in_parts(collection: Collection[Doc], statements: Sequence[UpdateOne | UpdateMany]) -> None:
    """Makes updates that do not depend on one another, in requests that no server takes ill."""
    for start in range(0, len(statements), _GROUP):
        collection.bulk_write(statements[start : start + _GROUP], ordered=False)


def insert_new(collection: Collection[Doc], documents: Sequence[Doc]) -> set[str]:
    """Inserts documents; returns the ids of those that no unique index refused."""
    refused: set[int] = set()
    if documents:
        try:
            collection.insert_many(documents, ordered=False)
        except BulkWriteError as error:
            if not is_duplicate(error):
                raise
            refused = {fault["index"] for fault in error.details["writeErrors"]}
    return {document["_id"] for at, document in enumerate(documents) if at not in refused}


def is_duplicate(error: OperationFailure) -> bool:
    """Whether a unique index refused a write, and nothing else went wrong."""
    if isinstance(error, BulkWriteError):
        faults = (error.details or {}).get("writeErrors", [])
        return bool(faults) and all(fault.get("code") == 11000 for fault in faults)
    return isinstance(error, DuplicateKeyError) or duplicate(error) is not None
