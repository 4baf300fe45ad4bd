"""Merging documents one by one, whoever else does the same."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from synergy.storage.encoding import body
from synergy.storage.mongodb.changes import Written
from synergy.storage.mongodb.database import Database, Doc
from synergy.storage.mongodb.rows import AT_ONCE, Row, insert, row_id, row_of, table, versions
from synergy.storage.mongodb.swap import Swap, swap
from synergy.storage.protocol import Merge


class Merging:
    """A group of merges: computed first, then written where nobody else wrote in between."""

    def __init__(
        self, database: Database, collection: str, keys: Sequence[tuple[str, str]], merge: Merge
    ) -> None:
        self._database = database
        self._collection = collection
        self._merge = merge
        self._times: dict[Row, int] = {}
        for key, timeperiod in keys:
            self._times[timeperiod, key] = self._times.get((timeperiod, key), 0) + 1
        self._left: list[Row] = list(self._times)
        self._versions: dict[str, str] = {}
        self._present: dict[Row, Doc] = {}
        self._bodies: dict[Row, bytes] = {}
        self._counts: dict[Row, int] = {}
        self._new: set[Row] = set()

    @property
    def count(self) -> int:
        """How many merges changed something."""
        return sum(self._counts.values())

    def prepare(self) -> bool:
        """Reads and merges what is left; False if nothing is to be written."""
        if not self._left:
            return False
        self._read()
        for row in self._left:
            self._compute(row)
        self._left = [row for row in self._left if self._counts[row]]
        return bool(self._left)

    def write(self) -> bool:
        """Writes what is left; False if some was not as it had been read, and is merged again."""
        new = [row for row in self._left if row not in self._present]
        documents = {self._id(row): row for row in new}
        inserted = insert(
            self._database,
            self._collection,
            [row_of(row, self._version(row), self._bodies[row]) for row in new],
        )
        self._new |= {documents[id_] for id_ in inserted}
        known = {self._id(row): row for row in self._left if row in self._present}
        changed = swap(
            table(self._database, self._collection),
            [
                Swap(id_, self._present[row]["v"], {"body": self._bodies[row].decode()})
                for id_, row in known.items()
            ],
        )
        done = {*(documents[id_] for id_ in inserted), *(known[id_] for id_ in changed)}
        self._left = [row for row in self._left if row not in done]
        return not self._left or not self.prepare()

    def timeperiods(self) -> list[str]:
        """The timeperiods that are left to be written to."""
        return list(dict.fromkeys(timeperiod for timeperiod, _ in self._left))

    def written(self) -> list[Written]:
        """What was written, by timeperiod."""
        counts: dict[str, int] = {}
        rows: dict[str, int] = {}
        for (timeperiod, key), count in self._counts.items():
            if count:
                counts[timeperiod] = counts.get(timeperiod, 0) + count
                is_new = (timeperiod, key) in self._new
                rows[timeperiod] = rows.get(timeperiod, 0) + is_new
        return [
            Written((self._collection, at), count, rows[at], False) for at, count in counts.items()
        ]

    def _read(self) -> None:
        first, last = min(self._left)[0], max(self._left)[0]
        self._versions = versions(self._database, self._collection, first, f"{last}\0")
        self._present.clear()
        for start in range(0, len(self._left), AT_ONCE):
            ids = {self._id(row): row for row in self._left[start : start + AT_ONCE]}
            for document in table(self._database, self._collection).find(
                {"_id": {"$in": list(ids)}}
            ):
                self._present[ids[document["_id"]]] = document

    def _compute(self, row: Row) -> None:
        _, key = row
        document = self._present.get(row)
        old = None if document is None else document["body"].encode()
        count = 0
        for _ in range(self._times[row]):
            new = body(self._merge(key, None if old is None else orjson.loads(old)), key)
            count += new != old
            old = new
        self._counts[row] = count
        self._bodies[row] = old or b""

    def _version(self, row: Row) -> str:
        return self._versions.get(row[0], "")

    def _id(self, row: Row) -> str:
        return row_id(row, self._version(row))
