"""Documents and the numbers of their writes. `Replacement` replaces the rows of a timeperiod.

Numbers are given within write transactions, which SQLite serialises, so they become visible in
their order. The table `mark` holds for each timeperiod of a collection its first number (`low`,
which later writes do not change), its last number (`high`), and its number of documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import apsw

from synergy.errors import Malformed
from synergy.model.unit_of_work import SinkWrite
from synergy.storage.collection_rows import body, decoded
from synergy.storage.malformed import READ_ERRORS
from synergy.storage.plain_rows import body_of
from synergy.storage.protocol import Bounds, Merge, SourceChange, unique_documents
from synergy.storage.sqlite.columns import Row, fetch, fetch_one
from synergy.storage.sqlite.database import Database
from synergy.storage.sqlite.queries import queries

_SQL = queries("documents")
_PAGE = 2_000  # documents per read
_ENDLESS = "~"  # sorts after every timeperiod

Place = tuple[str, str]
"""(timeperiod, key)"""


class SqliteDocuments:
    """See `synergy.storage.protocol.Documents`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, collection: str, start: str, end: str) -> Iterator[dict[str, object]]:
        """Reads in pages, so that a slow reader keeps no read transaction open."""
        timeperiod, key, last = start, "", end or _ENDLESS
        rows = _full
        while len(rows) == _PAGE:
            page = (collection, timeperiod, key, last, _PAGE)
            rows = self._database.fetch(_SQL["page"], page)
            if rows:
                timeperiod, key = rows[-1][0], f"{rows[-1][1]}\0"  # the next possible key
            yield from [_read(collection, row) for row in rows]

    def update(self, collection: str, keys: Sequence[tuple[str, str]], merge: Merge) -> int:
        with self._database.writing() as connection:
            changes = _Changes(connection, collection)
            present: dict[Place, bytes | None] = {}
            for key, timeperiod in keys:
                place = timeperiod, key
                if place not in present:
                    found = fetch_one(connection, _SQL["body"], (collection, *place))
                    present[place] = found[0] if found else None
                old = present[place]
                new = body(merge(key, None if old is None else decoded(old)), key)
                if new != old:
                    changes.save(place, new, is_new=old is None)
                    present[place] = new
            return changes.flush()

    def bounds(self, collection: str, start: str, end: str) -> Bounds | None:
        found = self._database.fetch(_SQL["bounds"], (collection, start, end or _ENDLESS))
        low, high, rows = found[0]
        return None if low is None else Bounds(low, high, rows)

    def bounds_by_timeperiod(self, collection: str, start: str, end: str) -> dict[str, Bounds]:
        bindings = (collection, start, end or _ENDLESS)
        rows = self._database.fetch(_SQL["bounds_by_timeperiod"], bindings)
        return {timeperiod: Bounds(*bounds) for timeperiod, *bounds in rows}

    def changed_since(self, seq: int, limit: int) -> list[SourceChange]:
        return [
            SourceChange(*row) for row in self._database.fetch(_SQL["changed_since"], (seq, limit))
        ]

    def collections(self) -> dict[str, int]:
        return dict(self._database.fetch(_SQL["collections"]))


def _read(collection: str, row: Row) -> dict[str, object]:
    try:
        return body_of(row[2])
    except READ_ERRORS as error:
        raise Malformed("documents", f"{collection} {row[0]} {row[1]}", f"body: {error}") from error


_full: list[Row] = [()] * _PAGE  # starts the loop of `read`


class Replacement:
    """A sink write, checked and encoded before the write lock is taken."""

    def __init__(self, write: SinkWrite) -> None:
        self._write = write
        self._bodies = {
            place: body(document.body, document.key)
            for place, document in unique_documents(write).items()
        }

    def write(self, connection: apsw.Connection) -> None:
        """Writes the documents that differ and removes those that the sink write lacks."""
        write = self._write
        present: dict[Place, bytes] = {
            (timeperiod, key): stored
            for timeperiod, key, stored in fetch(
                connection, _SQL["bodies"], (write.collection, write.start, write.end or _ENDLESS)
            )
        }
        changes = _Changes(connection, write.collection)
        for place, new in self._bodies.items():
            old = present.pop(place, None)
            if new != old:
                changes.save(place, new, is_new=old is None)
        for place in present:
            changes.remove(place)
        changes.flush()


class _Changes:
    """Numbers the changes of one collection in one transaction, and writes them at its end."""

    def __init__(self, connection: apsw.Connection, collection: str) -> None:
        self._connection = connection
        self._collection = collection
        self._number: int | None = None
        self._count = 0
        self._saved: dict[Place, Row] = {}
        self._removed: list[Row] = []
        self._marks: dict[str, list[int]] = {}

    def save(self, place: Place, body: bytes, *, is_new: bool) -> None:
        number = self._note(place[0], int(is_new))
        self._saved[place] = (self._collection, *place, number, body)

    def remove(self, place: Place) -> None:
        self._note(place[0], -1)
        self._removed.append((self._collection, *place))

    def flush(self) -> int:
        """Writes the changes; returns their number."""
        if self._count:
            self._connection.executemany(_SQL["save"], self._saved.values())
            self._connection.executemany(_SQL["remove"], self._removed)
            marks = [
                (self._collection, timeperiod, low, high, rows)
                for timeperiod, (low, high, rows) in self._marks.items()
            ]
            self._connection.executemany(_SQL["mark"], marks)
        return self._count

    def _note(self, timeperiod: str, rows: int) -> int:
        """Takes the next number and notes it as the highest of its timeperiod."""
        if self._number is None:
            self._number = int(self._connection.execute(_SQL["last_number"]).get or 0)
        self._number += 1
        self._count += 1
        mark = self._marks.setdefault(timeperiod, [self._number, 0, 0])
        mark[1] = self._number
        mark[2] += rows
        return self._number
