"""Rows of documents, and which of them are shown.

A row never changes: it belongs to a version, which is the word of one write. The page of a
timeperiod says which versions are shown there; of two rows with the same key the one of the
later version counts. So a write is staged as hidden rows, and shown by one
compare-and-set on the page.

Each collection of documents is a collection of the database, `documents.<name>`. It gets its
index when it is first written to; nothing but speed rests on that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pymongo.collection import Collection

from synergy.storage.mongodb.database import Database, Doc
from synergy.storage.mongodb.swap import insert_new

AT_ONCE = 1_000  # rows that are read or written at a time
BESIDE = 50  # ranges that are asked for together
NO_PAGE: Doc = {"v": 0, "versions": []}  # of a timeperiod that was never written to

_PREFIX = "documents."
_INDEX = [("timeperiod", 1), ("key", 1), ("version", 1)]

Row = tuple[str, str]
"""(timeperiod, key)"""


def table(database: Database, collection: str) -> Collection[Doc]:
    """Where the rows of a collection are."""
    return database[f"{_PREFIX}{collection}"]


def collections(database: Database) -> list[str]:
    """The collections that ever had a row."""
    return [name.removeprefix(_PREFIX) for name in database.collections(_PREFIX)]


def page_id(collection: str, timeperiod: str) -> str:
    """The id of the document that says what a timeperiod shows."""
    return f"{collection}|{timeperiod}"


def page_of(collection: str, timeperiod: str, versions: Sequence[str]) -> Doc:
    """A new page."""
    return {
        "_id": page_id(collection, timeperiod),
        "collection": collection,
        "timeperiod": timeperiod,
        "versions": list(versions),
        "v": 1,
        "mark": "",
    }


def row_of(row: Row, version: str, text: bytes) -> Doc:
    """A new row."""
    timeperiod, key = row
    return {
        "_id": f"{timeperiod}|{version}|{key}",
        "timeperiod": timeperiod,
        "version": version,
        "key": key,
        "body": text.decode(),
    }


def shown(rows: Iterable[Doc], pages: Mapping[str, Doc]) -> dict[Row, Doc]:
    """Those of the rows that the pages, by timeperiod, show."""
    found: dict[Row, tuple[int, Doc]] = {}
    for row in rows:
        versions = pages.get(row["timeperiod"], NO_PAGE)["versions"]
        if row["version"] in versions:
            at, place = versions.index(row["version"]), (row["timeperiod"], row["key"])
            if place not in found or found[place][0] < at:
                found[place] = at, row
    return {place: row for place, (_, row) in found.items()}


def insert(database: Database, collection: str, rows: Sequence[Doc]) -> None:
    """Stages rows."""
    if rows and collection not in database.prepared:
        table(database, collection).create_index(_INDEX, name="place")
        database.prepared.add(collection)
    for start in range(0, len(rows), AT_ONCE):
        insert_new(table(database, collection), rows[start : start + AT_ONCE])


def delete(database: Database, collection: str, ids: Sequence[str]) -> None:
    """Takes rows away that are not shown, or not any more."""
    for start in range(0, len(ids), AT_ONCE):
        some = {"_id": {"$in": ids[start : start + AT_ONCE]}}
        table(database, collection).delete_many(some)


def within(collection: Collection[Doc], ranges: Sequence[Doc]) -> Iterator[Doc]:
    """What any of the queries finds."""
    for start in range(0, len(ranges), BESIDE):
        yield from collection.find({"$or": ranges[start : start + BESIDE]})


class Reader:
    """Reads the rows that are shown, in order and in parts, each of which is consistent."""

    def __init__(self, database: Database, collection: str, start: str, end: str) -> None:
        self._database = database
        self._collection = collection
        self._start = start
        self._end = end
        self._after: Row | None = None
        self._limit = AT_ONCE

    def next(self) -> list[Doc] | None:
        """The next rows; None after the last."""
        if self._limit == 0:
            return None
        with self._database.calling():
            rows, pages = self._consistent()
            if len(rows) < self._limit:
                self._limit = 0
            else:
                rows = self._whole_keys(rows)
        found = shown(rows, pages)
        return [found[place] for place in sorted(found)]

    def _consistent(self) -> tuple[list[Doc], dict[str, Doc]]:
        """Rows, and the pages that did not change while they were read."""
        while True:
            before = self._pages(self._end)
            rows = self._part()
            end = self._end if len(rows) < self._limit else f"{rows[-1]['timeperiod']}\0"
            after = self._pages(end)
            if all(before.get(at, NO_PAGE)["v"] == page["v"] for at, page in after.items()):
                return rows, after

    def _whole_keys(self, rows: list[Doc]) -> list[Doc]:
        """Without the last key, whose rows may go on in the next part."""
        last = rows[-1]["timeperiod"], rows[-1]["key"]
        whole = [row for row in rows if (row["timeperiod"], row["key"]) != last]
        if whole:
            self._start, self._after = (
                whole[-1]["timeperiod"],
                (
                    whole[-1]["timeperiod"],
                    whole[-1]["key"],
                ),
            )
        else:
            self._limit *= 2
        return whole

    def _pages(self, end: str) -> dict[str, Doc]:
        wanted = {"collection": self._collection, "timeperiod": {"$gte": self._start, "$lt": end}}
        return {page["timeperiod"]: page for page in self._database["pages"].find(wanted)}

    def _part(self) -> list[Doc]:
        wanted: Doc = {"timeperiod": {"$gte": self._start, "$lt": self._end}}
        if self._after is not None:
            timeperiod, key = self._after
            wanted["$or"] = [
                {"timeperiod": {"$gt": timeperiod}},
                {"timeperiod": timeperiod, "key": {"$gt": key}},
            ]
        found = table(self._database, self._collection).find(wanted)
        return list(found.sort(_INDEX).limit(self._limit))
