"""Documents that are made when they are first needed, and numbers counted in them."""

from __future__ import annotations

from collections.abc import Mapping

from pymongo import ReturnDocument
from pymongo.collection import Collection
from pymongo.errors import DuplicateKeyError

from synergy.storage.mongodb.database import Database, Doc


def upsert(
    collection: Collection[Doc], key: str, change: Mapping[str, object], *, after: bool = False
) -> Doc | None:
    """Changes the document of that key, or makes it; as it was before, or as it is `after`.

    Of two callers that make the same document at the same time, one finds it there already.
    """
    which = ReturnDocument.AFTER if after else ReturnDocument.BEFORE
    try:
        return collection.find_one_and_update(
            {"_id": key}, change, upsert=True, return_document=which
        )
    except DuplicateKeyError:
        return collection.find_one_and_update({"_id": key}, change, return_document=which)


def take(database: Database, name: str, count: int) -> int:
    """The first of `count` numbers that no other caller is given; they begin with 1.

    Lower numbers may be used later than higher ones, by another caller.
    """
    with database.calling():
        counter = upsert(database["counters"], name, {"$inc": {"n": count}}, after=True)
        assert counter is not None
        return int(counter["n"]) - count + 1
