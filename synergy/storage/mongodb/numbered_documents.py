"""Collections whose documents are numbered in the order of their creation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

from pymongo.collection import Collection

from synergy.model.cursor import number_of
from synergy.model.time_range import TimeRange
from synergy.storage.instants import micros_or_none
from synergy.storage.malformed import Reader
from synergy.storage.mongodb.database import Database, Doc, first

Value = TypeVar("Value")


class NumberedCollection(Generic[Value]):
    """Reads values of a collection; `number` is the field that holds their numbers."""

    def __init__(
        self, database: Database, name: str, read: Reader[Value], number: str = "number"
    ) -> None:
        self._database = database
        self._name = name
        self._read = read
        self._number = number

    def find(
        self, wanted: Mapping[str, object], order: int = 1, limit: int | None = None
    ) -> list[Value]:
        """The values that match a query, oldest first; newest first if `order` is -1."""
        with self._database.calling():
            found = self._database[self._name].find(wanted).sort(self._number, order)
            return self._read.each(list(first(found, limit)), self._database.malformed)

    def page(
        self, wanted: Mapping[str, object], limit: int, cursor: str | None
    ) -> tuple[list[Value], str | None]:
        """The values below the cursor, newest first, and the next page's cursor if there is one."""
        below = {} if cursor is None else {self._number: {"$lt": number_of(cursor)}}
        with self._database.calling():
            collection = self._database[self._name]
            query = collection.find({**wanted, **below}).sort(self._number, -1)
            documents = list(query.limit(limit + 1))
        found = documents[:limit]
        numbers = [one[self._number] for one in found if isinstance(one.get(self._number), int)]
        following = str(numbers[-1]) if len(documents) > limit and numbers else None
        return self._read.each(found, self._database.malformed), following


def within_times(field: str, within: TimeRange) -> Doc:
    """The condition that an instant lies within a range of time."""
    limits = {"$gte": micros_or_none(within.begin), "$lt": micros_or_none(within.end)}
    given = {name: limit for name, limit in limits.items() if limit is not None}
    return {field: given} if given else {}


def delete_oldest(
    collection: Collection[Doc], wanted: Mapping[str, object], field: str, limit: int
) -> int:
    """Deletes up to `limit` documents of a query, lowest `field` first; returns their number."""
    found = collection.find(wanted, {"_id": 1}).sort(field, 1)
    old = [document["_id"] for document in first(found, limit)]
    return collection.delete_many({"_id": {"$in": old}, **wanted}).deleted_count if old else 0
