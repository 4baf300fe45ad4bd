"""Compare-and-set on many documents in one round trip.

Each change applies only while its document has the version `v` that the change was decided on. A
bulk write returns counts, not the documents that matched. So each group writes a random `mark` into
the documents that it changes; if the count shows that some were refused, one query by the mark
returns those that were changed.
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

# Changes per request, few enough for its deadline. FerretDB 1 hangs if a request has 100: each
# change holds one of its 100 connections to SQLite until all changes are done.
_GROUP = 64


@dataclass(frozen=True, slots=True)
class Swap:
    """Sets fields of a document if its version is still `v` and it matches `where`.

    `entry` is added to the document's pending journal entries.
    """

    id: str
    v: int
    set: Mapping[str, object]
    where: Mapping[str, object] = field(default_factory=dict)
    entry: Mapping[str, object] | None = None

    def statement(self, mark: str) -> UpdateOne:
        """The driver's update statement for this change."""
        fields = {**self.set, "v": self.v + 1, "mark": mark}
        update: dict[str, object] = {"$set": fields}
        if self.entry is not None:
            update["$set"] = {**fields, "is_told": False}
            update["$push"] = {"untold": {**self.entry, "v": self.v + 1}}
        return UpdateOne({"_id": self.id, "v": self.v, **self.where}, update)


def swap(collection: Collection[Doc], changes: Sequence[Swap]) -> set[str]:
    """Makes the changes; returns the ids of the documents that were changed.

    At most one change may be given for a document. A change that a unique index rejects is refused
    without affecting the others.
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
    """Makes independent updates, in requests that are small enough for every server."""
    for start in range(0, len(statements), _GROUP):
        collection.bulk_write(statements[start : start + _GROUP], ordered=False)


def insert_new(collection: Collection[Doc], documents: Sequence[Doc]) -> set[str]:
    """Inserts documents; returns the ids of those that no unique index rejected."""
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
    """Whether violated unique indexes are the only cause of the error."""
    if isinstance(error, BulkWriteError):
        faults = (error.details or {}).get("writeErrors", [])
        return bool(faults) and all(fault.get("code") == 11000 for fault in faults)
    return isinstance(error, DuplicateKeyError) or duplicate(error) is not None
