"""Rows of documents, and the pages that make them visible.

A row is immutable and belongs to a version, which identifies one write. The page of a timeperiod
lists its visible versions, oldest first; of two visible rows with the same key, the row of the
later version is shown. So a write inserts hidden rows, and one compare-and-set on the page shows
them, and sets the number of documents that the timeperiod has then.

Each collection of documents is a collection of the database, `documents.<name>`. Its index is made
at the first write, for speed only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pymongo.collection import Collection

from synergy.storage.mongodb.compare_and_set import insert_new
from synergy.storage.mongodb.database import Database, Doc

AT_ONCE = 1_000  # rows per read or write
RANGES_AT_ONCE = 50  # ranges per query
NO_PAGE: Doc = {
    "v": 0,
    "versions": [],
    "rows": 0,
}  # stands for the page of a timeperiod that has none

_PREFIX = "documents."
_INDEX = [("timeperiod", 1), ("key", 1), ("version", 1)]

Row = tuple[str, str]
"""(timeperiod, key)"""


def table(database: Database, collection: str) -> Collection[Doc]:
    """The collection of the database that holds the rows of a collection of documents."""
    return database[f"{_PREFIX}{collection}"]


def collections(database: Database) -> list[str]:
    """The collections that rows were ever written to."""
    return [name.removeprefix(_PREFIX) for name in database.collections(_PREFIX)]


def page_id(collection: str, timeperiod: str) -> str:
    """The id of a timeperiod's page."""
    return f"{collection}|{timeperiod}"


def page_of(collection: str, timeperiod: str, version: str, rows: int) -> Doc:
    """A new page that shows one version, which has that many rows."""
    return {
        "_id": page_id(collection, timeperiod),
        "collection": collection,
        "timeperiod": timeperiod,
        "versions": [version],
        "rows": rows,
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
    """The visible rows among `rows`; `pages` holds the page of each timeperiod."""
    found: dict[Row, tuple[int, Doc]] = {}
    for row in rows:
        versions = pages.get(row["timeperiod"], NO_PAGE)["versions"]
        if row["version"] in versions:
            at, place = versions.index(row["version"]), (row["timeperiod"], row["key"])
            if place not in found or found[place][0] < at:
                found[place] = at, row
    return {place: row for place, (_, row) in found.items()}


def insert(database: Database, collection: str, rows: Sequence[Doc]) -> None:
    """Inserts rows, which stay hidden until a page lists their version."""
    if rows and collection not in database.prepared:
        table(database, collection).create_index(_INDEX, name="place")
        database.prepared.add(collection)
    for start in range(0, len(rows), AT_ONCE):
        insert_new(table(database, collection), rows[start : start + AT_ONCE])


def delete(database: Database, collection: str, ids: Sequence[str]) -> None:
    """Deletes rows that no page shows."""
    for start in range(0, len(ids), AT_ONCE):
        some = {"_id": {"$in": ids[start : start + AT_ONCE]}}
        table(database, collection).delete_many(some)


def within(collection: Collection[Doc], ranges: Sequence[Doc]) -> Iterator[Doc]:
    """The documents that match at least one of the queries."""
    for start in range(0, len(ranges), RANGES_AT_ONCE):
        yield from collection.find({"$or": ranges[start : start + RANGES_AT_ONCE]})


class Reader:
    """Reads the visible rows of a range in order and in parts, each a consistent snapshot."""

    def __init__(self, database: Database, collection: str, start: str, end: str) -> None:
        self._database = database
        self._collection = collection
        self._start = start
        self._end = end
        self._after: Row | None = None
        self._limit = AT_ONCE

    def next(self) -> list[Doc] | None:
        """The visible rows of the next part, which may be empty; None after the last part."""
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
        """The rows of a part and their pages, read again until no page changed meanwhile."""
        while True:
            before = self._pages(self._end)
            rows = self._part()
            end = self._end if len(rows) < self._limit else f"{rows[-1]['timeperiod']}\0"
            after = self._pages(end)
            if all(before.get(at, NO_PAGE)["v"] == page["v"] for at, page in after.items()):
                return rows, after

    def _whole_keys(self, rows: list[Doc]) -> list[Doc]:
        """The rows without those of the last key, which may continue in the next part."""
        last = rows[-1]["timeperiod"], rows[-1]["key"]
        whole = [row for row in rows if (row["timeperiod"], row["key"]) != last]
        if whole:
            self._after = whole[-1]["timeperiod"], whole[-1]["key"]
            self._start = self._after[0]
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
