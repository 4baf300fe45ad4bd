"""Rows of documents, and what of them is shown.

Each collection of documents is a collection of the database, `documents.<name>`. It gets its
index when it is first written to; nothing but speed rests on that.
"""

from __future__ import annotations

from collections.abc import Sequence

from pymongo.collection import Collection

from synergy.storage.mongodb.database import Database, Doc
from synergy.storage.mongodb.swap import insert_new

AT_ONCE = 1_000  # rows that are read or written at a time
_INDEX = [("timeperiod", 1), ("key", 1), ("version", 1)]

Row = tuple[str, str]
"""(timeperiod, key)"""


class Reader:
    """Reads the rows that are shown, in order and in parts, each of which is consistent."""

    def __init__(self, database: Database, collection: str, start: str, end: str) -> None:
        self._database = database
        self._collection = collection
        self._end = end
        self._after: tuple[str, str, str] | None = None
        self._start = start
        self._is_done = False

    def next(self) -> list[Doc] | None:
        """The next rows; None after the last.

        A result that is shown while its timeperiod is being read makes that part be read again.
        """
        if self._is_done:
            return None
        with self._database.calling():
            while True:
                before = versions(self._database, self._collection, self._start, self._end)
                rows = self._part()
                end = self._end if len(rows) < AT_ONCE else f"{rows[-1]['timeperiod']}\0"
                after = versions(self._database, self._collection, self._start, end)
                if all(before.get(at) == version for at, version in after.items()):
                    break
        self._is_done = len(rows) < AT_ONCE
        if rows:
            last = rows[-1]
            self._start = last["timeperiod"]
            self._after = last["timeperiod"], last["key"], last["version"]
        return [row for row in rows if row["version"] == after.get(row["timeperiod"], "")]

    def _part(self) -> list[Doc]:
        wanted: Doc = {"timeperiod": {"$gte": self._start, "$lt": self._end}}
        if self._after is not None:
            timeperiod, key, version = self._after
            wanted["$or"] = [
                {"timeperiod": {"$gt": timeperiod}},
                {"timeperiod": timeperiod, "key": {"$gt": key}},
                {"timeperiod": timeperiod, "key": key, "version": {"$gt": version}},
            ]
        found = table(self._database, self._collection).find(wanted)
        return list(found.sort(_INDEX).limit(AT_ONCE))


def versions(database: Database, collection: str, start: str, end: str) -> dict[str, str]:
    """The version that each timeperiod with a page shows."""
    within = {"collection": collection, "timeperiod": {"$gte": start, "$lt": end}}
    return {page["timeperiod"]: page["version"] for page in database["pages"].find(within)}


def table(database: Database, collection: str) -> Collection[Doc]:
    """Where the rows of a collection are."""
    return database[f"documents.{collection}"]


def row_of(row: Row, version: str, text: bytes) -> Doc:
    """A new row."""
    timeperiod, key = row
    return {
        "_id": row_id(row, version),
        "timeperiod": timeperiod,
        "version": version,
        "key": key,
        "body": text.decode(),
        "v": 1,
        "mark": "",
    }


def row_id(row: Row, version: str) -> str:
    """The id of a row of a version."""
    timeperiod, key = row
    return f"{timeperiod}|{version}|{key}"


def insert(database: Database, collection: str, rows: Sequence[Doc]) -> set[str]:
    """Inserts rows; returns the ids of those that were not there yet."""
    done: set[str] = set()
    if rows and collection not in database.prepared:
        table(database, collection).create_index(_INDEX, name="place")
        database.prepared.add(collection)
    for start in range(0, len(rows), AT_ONCE):
        done |= insert_new(table(database, collection), rows[start : start + AT_ONCE])
    return done
