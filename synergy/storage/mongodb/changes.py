"""What was written to which timeperiod of a collection, numbered.

Each write of documents is announced after it was made, by a document that says which numbers
it got and what its timeperiod holds since (`changes`, see `sequence`). So a reader that has seen a
number sees the rows it stands for. Only the newest change of a timeperiod counts; those that
it replaces stay for a while, because a number that is free again could be given twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from synergy.clock import SystemClock
from synergy.storage.mongodb.database import Database, Doc
from synergy.storage.mongodb.sequence import extend, newest
from synergy.storage.protocol import Bounds, SourceChange

Place = tuple[str, str]
"""(collection, timeperiod)"""

ENDLESS = "~"  # sorts after every timeperiod
_KEPT = 3_600.0  # seconds that a replaced change is kept, longer than any writer is paused


@dataclass(frozen=True, slots=True)
class Written:
    """That `count` writes were made to a place.

    `rows` is how many documents are there now, if all were replaced, else how many came to
    those that were.
    """

    place: Place
    count: int
    rows: int
    is_replaced: bool


class Changes:
    """The numbers of all writes to documents."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._clock = SystemClock()
        self._looks: deque[tuple[float, int]] = deque()  # when what was the last number

    def announce(self, writes: Sequence[Written]) -> None:
        """Gives numbers to writes that were made, in order, and forgets those they replace."""
        changes = self._database["changes"]
        rest = list(writes)
        replaced: set[int] = set()

        def numbered(last: int, inserted: int) -> list[Doc]:
            del rest[:inserted]
            present = {_place(change): change for change in self._newest(rest)}
            replaced.update(change["_id"] for change in present.values())
            return _numbered(rest, present, last)

        with self._database.calling():
            extend(changes, self._last, numbered)
            if replaced:
                old = {"_id": {"$in": list(replaced)}}
                changes.update_many(old, {"$set": {"is_newest": False}})

    def forget(self) -> None:
        """Deletes replaced changes so old that no writer takes their numbers for free."""
        now = self._clock.monotonic()
        self._looks.append((now, self._last()))
        seen = 0
        while now - self._looks[0][0] > _KEPT:
            _, seen = self._looks.popleft()
        if seen:
            old = {"is_newest": False, "high": {"$lt": seen}}
            self._database["changes"].delete_many(old)

    def bounds(self, collection: str, start: str, end: str) -> dict[str, Bounds]:
        """The bounds of each timeperiod in the range that was ever written to, in order."""
        within = {"collection": collection, "timeperiod": {"$gte": start, "$lt": end or ENDLESS}}
        with self._database.calling():
            found = {_place(change): change for change in self._in_order(within)}
        return {
            timeperiod: Bounds(change["low"], change["high"], change["rows"])
            for (_, timeperiod), change in sorted(found.items())
        }

    def since(self, seq: int, limit: int) -> list[SourceChange]:
        """The newest change of each place that was changed after `seq`, by number."""
        with self._database.calling():
            found = self._database["changes"].find({"high": {"$gt": seq}, "is_newest": True})
            newest = {_place(change): change for change in found.sort("high", 1).limit(limit)}
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
        """Oldest first, so that the newest of a place, of which two may count, is seen last."""
        return self._database["changes"].find({**wanted, "is_newest": True}).sort("_id", 1)


def _place(change: Doc) -> Place:
    return change["collection"], change["timeperiod"]


def _numbered(writes: Iterable[Written], present: dict[Place, Doc], last: int) -> list[Doc]:
    numbered = []
    for write in writes:
        before = present.get(write.place, {"low": last + 1, "rows": 0})
        collection, timeperiod = write.place
        numbered.append(
            {
                "_id": last + 1,
                "high": last + write.count,
                "collection": collection,
                "timeperiod": timeperiod,
                "is_newest": True,
                "low": before["low"],
                "rows": write.rows if write.is_replaced else before["rows"] + write.rows,
            }
        )
        last += write.count
    return numbered
