"""Merging of documents with their stored versions, safe beside other writers of them."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence

from synergy.storage.collection_rows import body, decoded
from synergy.storage.mongodb.changes import Written
from synergy.storage.mongodb.collection_rows import (
    NO_PAGE,
    Row,
    delete,
    insert,
    page_id,
    page_of,
    row_of,
    shown,
    table,
    within,
)
from synergy.storage.mongodb.compare_and_set import Swap, insert_new, swap
from synergy.storage.mongodb.database import Database, Doc
from synergy.storage.protocol import Merge

_VERSIONS = 64  # if a page lists as many, the next merge rewrites all its rows as one version


class Merging:
    """A group of merges, repeated for the timeperiods that another write changed meanwhile."""

    def __init__(
        self, database: Database, collection: str, keys: Sequence[tuple[str, str]], merge: Merge
    ) -> None:
        self._database = database
        self._collection = collection
        self._merge = merge
        self._times: dict[Row, int] = {}
        for key, timeperiod in keys:
            self._times[timeperiod, key] = self._times.get((timeperiod, key), 0) + 1
        self._left: dict[str, list[Row]] = {}
        for row in self._times:
            self._left.setdefault(row[0], []).append(row)
        self._pages: dict[str, Doc] = {}
        self._seen: dict[str, list[Doc]] = {}
        self._bodies: dict[Row, bytes] = {}
        self._counts: dict[Row, int] = {}
        self._new: set[Row] = set()

    @property
    def count(self) -> int:
        """The number of merges that changed a document."""
        return sum(self._counts.values())

    def timeperiods(self) -> list[str]:
        """The timeperiods that are not written yet."""
        return list(self._left)

    def prepare(self) -> bool:
        """Reads and merges the documents that are not written yet; False if none has changes."""
        if not self._left:
            return False
        self._read()
        present = shown((row for rows in self._seen.values() for row in rows), self._pages)
        for rows in self._left.values():
            for row in rows:
                self._compute(row, present.get(row))
        changed = {
            at: [row for row in rows if self._counts[row]] for at, rows in self._left.items()
        }
        self._left = {at: rows for at, rows in changed.items() if rows}
        return bool(self._left)

    def write(self) -> bool:
        """Writes and shows the merged documents; True if all are written.

        The documents of pages that changed since they were read are merged again, for the next
        call.
        """
        version = f"+{secrets.token_hex(8)}"
        staged = {at: self._rows(at, version) for at in self._left}
        insert(self._database, self._collection, [row for rows in staged.values() for row in rows])
        done = self._show(version)
        self._remove(done, staged)
        self._left = {at: rows for at, rows in self._left.items() if at not in done}
        return not self.prepare()

    def written(self) -> list[Written]:
        """The writes that were made, one for each timeperiod."""
        counts: dict[str, int] = {}
        for row, count in self._counts.items():
            if count:
                counts[row[0]] = counts.get(row[0], 0) + count
        return [Written((self._collection, at), count) for at, count in counts.items()]

    def _read(self) -> None:
        """Reads pages before rows, so that a write in between makes the swap of the page fail."""
        ids = [page_id(self._collection, at) for at in self._left]
        found = self._database["pages"].find({"_id": {"$in": ids}})
        self._pages = {page["timeperiod"]: page for page in found}
        wanted = [self._wanted(at, rows) for at, rows in self._left.items()]
        self._seen = {at: [] for at in self._left}
        for row in within(table(self._database, self._collection), wanted):
            self._seen[row["timeperiod"]].append(row)

    def _wanted(self, timeperiod: str, rows: Sequence[Row]) -> Doc:
        if self._is_long(timeperiod):
            return {"timeperiod": timeperiod}
        return {"timeperiod": timeperiod, "key": {"$in": [key for _, key in rows]}}

    def _is_long(self, timeperiod: str) -> bool:
        return len(self._pages.get(timeperiod, NO_PAGE)["versions"]) >= _VERSIONS

    def _compute(self, row: Row, document: Mapping[str, str] | None) -> None:
        _, key = row
        old = None if document is None else document["body"].encode()
        is_new, count = old is None, 0
        for _ in range(self._times[row]):
            new = body(self._merge(key, None if old is None else decoded(old)), key)
            count += new != old
            old = new
        self._counts[row] = count
        self._bodies[row] = old or b""
        self._new.discard(row)
        if is_new:
            self._new.add(row)

    def _rows(self, timeperiod: str, version: str) -> list[Doc]:
        """The rows to insert: the changed ones, or all if the page lists too many versions."""
        texts = {row: self._bodies[row] for row in self._left[timeperiod]}
        if self._is_long(timeperiod):
            there = shown(self._seen[timeperiod], self._pages)
            texts = {row: document["body"].encode() for row, document in there.items()} | texts
        return [row_of(row, version, text) for row, text in texts.items()]

    def _show(self, version: str) -> set[str]:
        """Shows the staged rows; returns the timeperiods whose pages had not changed."""
        pages = self._database["pages"]
        known = {at: self._pages[at] for at in self._left if at in self._pages}
        added = {at: sum(row in self._new for row in rows) for at, rows in self._left.items()}
        swaps = [
            Swap(
                page["_id"],
                page["v"],
                {
                    "versions": [version] if self._is_long(at) else [*page["versions"], version],
                    "rows": page["rows"] + added[at],
                },
            )
            for at, page in known.items()
        ]
        new = [
            page_of(self._collection, at, version, added[at])
            for at in self._left
            if at not in known
        ]
        done = swap(pages, swaps) | insert_new(pages, new)
        return {at for at in self._left if page_id(self._collection, at) in done}

    def _remove(self, done: set[str], staged: Mapping[str, Sequence[Doc]]) -> None:
        """Deletes rows that are no longer visible, and staged rows that were not shown.

        Hidden rows of other merges are deleted too: the page has changed, so their compare-and-set
        fails. Hidden rows of units are kept: the units show or delete them.
        """
        obsolete = [row["_id"] for at, rows in staged.items() if at not in done for row in rows]
        for at in done:
            rewritten = {row["key"] for row in staged[at]}
            obsolete += [
                row["_id"]
                for row in self._seen[at]
                if row["key"] in rewritten and not self._is_staged_by_unit(row, at)
            ]
        delete(self._database, self._collection, obsolete)

    def _is_staged_by_unit(self, row: Doc, timeperiod: str) -> bool:
        page = self._pages.get(timeperiod, NO_PAGE)
        return not row["version"].startswith("+") and row["version"] not in page["versions"]
