"""Upserts of single documents, and counters that are such documents."""

from __future__ import annotations

from collections.abc import Mapping

from pymongo import ReturnDocument
from pymongo.collection import Collection
from pymongo.errors import DuplicateKeyError

from synergy.storage.mongodb.database import Database, Doc


def upsert(
    collection: Collection[Doc], key: str, change: Mapping[str, object], *, after: bool = False
) -> Doc | None:
    """Changes the document with the key, or creates it; returns it as it was before the change.

    With `after`, returns it as it is after the change. The second try is for a document that
    another caller created at the same time.
    """
    which = ReturnDocument.AFTER if after else ReturnDocument.BEFORE
    try:
        return collection.find_one_and_update(
            {"_id": key}, change, upsert=True, return_document=which
        )
    except DuplicateKeyError:
        return collection.find_one_and_update({"_id": key}, change, return_document=which)


def value(database: Database, name: str) -> int:
    """The last number that was reserved; 0 if there was none."""
    with database.calling():
        counter = database["counters"].find_one({"_id": name})
    return 0 if counter is None else int(counter["n"])


def take(database: Database, name: str, count: int) -> int:
    """Reserves `count` numbers for the caller and returns the first; a counter starts at 1.

    Another caller may use higher numbers before these.
    """
    with database.calling():
        counter = upsert(database["counters"], name, {"$inc": {"n": count}}, after=True)
        assert counter is not None
        return int(counter["n"]) - count + 1
