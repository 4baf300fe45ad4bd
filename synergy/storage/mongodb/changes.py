"""The numbered change log of collections, by timeperiod.

After documents are written, a change is inserted into `changes`: it holds the numbers of the writes
and the state of the timeperiod after them (see `sequence`). So the rows behind a number are visible
before the number is. Only the newest change of a timeperiod counts. Replaced changes are deleted
after an hour: if they were deleted at once, a paused writer could use their numbers again, below
numbers that readers have already passed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from synergy.clock import SystemClock
from synergy.storage.mongodb.collection_rows import page_id
from synergy.storage.mongodb.database import Database, Doc, first
from synergy.storage.mongodb.sequence import extend, newest
from synergy.storage.protocol import Bounds, SourceChange

Place = tuple[str, str]
"""(collection, timeperiod)"""

ENDLESS = "~"  # sorts after every timeperiod
_KEPT = 3_600.0  # seconds that a replaced change is kept, longer than any pause of a writer


@dataclass(frozen=True, slots=True)
class Written:
    """`count` writes that were made to a place."""

    place: Place
    count: int


class Changes:
    """Gives numbers to writes of documents, and answers queries about them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._clock = SystemClock()
        self._observed: deque[tuple[float, int]] = deque()  # (time, last number at that time)

    def announce(self, writes: Sequence[Written]) -> None:
        """Numbers writes that were made, in order, and marks the changes that they replace.

        The numbers of documents are read for each try: those of other writers may have changed.
        """
        changes = self._database["changes"]
        rest = list(writes)
        replaced: set[int] = set()

        def numbered(last: int, inserted: int) -> list[Doc]:
            del rest[:inserted]
            present = {_place(change): change for change in self._newest(rest)}
            replaced.update(change["_id"] for change in present.values())
            return _numbered(rest, present, self._rows_of(rest), last)

        with self._database.calling():
            extend(changes, self._last, numbered)
            if replaced:
                old = {"_id": {"$in": list(replaced)}}
                changes.update_many(old, {"$set": {"is_newest": False}})

    def forget(self) -> None:
        """Deletes replaced changes that are too old for any writer to reuse their numbers."""
        now = self._clock.monotonic()
        self._observed.append((now, self._last()))
        last = 0
        while now - self._observed[0][0] > _KEPT:
            _, last = self._observed.popleft()
        if last:
            old = {"is_newest": False, "high": {"$lt": last}}
            self._database["changes"].delete_many(old)

    def bounds(self, collection: str, start: str, end: str) -> dict[str, Bounds]:
        """The bounds of each timeperiod in the range that has changes, by timeperiod."""
        within = {"collection": collection, "timeperiod": {"$gte": start, "$lt": end or ENDLESS}}
        with self._database.calling():
            found = {_place(change): change for change in self._in_order(within)}
        return {
            timeperiod: Bounds(change["low"], change["high"], change["rows"])
            for (_, timeperiod), change in sorted(found.items())
        }

    def since(self, seq: int, limit: int) -> list[SourceChange]:
        """The newest change of each place that was changed after `seq`, ordered by number."""
        with self._database.calling():
            found = self._database["changes"].find({"high": {"$gt": seq}, "is_newest": True})
            newest = {_place(change): change for change in first(found.sort("high", 1), limit)}
        changes = sorted(newest.values(), key=lambda change: int(change["high"]))
        return [SourceChange(*_place(change), change["high"]) for change in changes]

    def rows(self) -> dict[str, int]:
        """How many documents each collection has."""
        with self._database.calling():
            found = {_place(change): change["rows"] for change in self._in_order({})}
        sums: dict[str, int] = {}
        for (collection, _), rows in found.items():
            sums[collection] = sums.get(collection, 0) + rows
        return sums

    def _rows_of(self, writes: Sequence[Written]) -> dict[Place, int]:
        """How many documents each place has."""
        ids = [page_id(*write.place) for write in writes]
        fields = {"collection": 1, "timeperiod": 1, "rows": 1}
        found = self._database["pages"].find({"_id": {"$in": ids}}, fields)
        return {_place(page): page["rows"] for page in found}

    def _last(self) -> int:
        last = newest(self._database["changes"])
        return 0 if last is None else int(last["high"])

    def _newest(self, writes: Iterable[Written]) -> Iterable[Doc]:
        wanted: dict[str, list[str]] = {}
        for write in writes:
            collection, timeperiod = write.place
            wanted.setdefault(collection, []).append(timeperiod)
        for collection, timeperiods in wanted.items():
            yield from self._in_order(
                {"collection": collection, "timeperiod": {"$in": timeperiods}}
            )

    def _in_order(self, wanted: Doc) -> Iterable[Doc]:
        """The newest changes, ordered by number.

        A place has two of them while its replaced change is not marked yet; the later one counts.
        """
        return self._database["changes"].find({**wanted, "is_newest": True}).sort("_id", 1)


def _place(change: Doc) -> Place:
    return change["collection"], change["timeperiod"]


def _numbered(
    writes: Iterable[Written], present: dict[Place, Doc], rows: dict[Place, int], last: int
) -> list[Doc]:
    numbered = []
    for write in writes:
        before = present.get(write.place, {"low": last + 1})
        collection, timeperiod = write.place
        numbered.append(
            {
                "_id": last + 1,
                "high": last + write.count,
                "collection": collection,
                "timeperiod": timeperiod,
                "is_newest": True,
                "low": before["low"],
                "rows": rows.get(write.place, 0),
            }
        )
        last += write.count
    return numbered
