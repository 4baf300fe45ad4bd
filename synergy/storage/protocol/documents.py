"""The collections that workers read and write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from synergy.errors import InvalidValue
from synergy.model.unit_of_work import Document, SinkWrite
from synergy.model.value import value


@value
class Bounds:
    """The lowest and highest write number, and the number of rows, of a timeperiod range.

    `low` is the lowest number ever given there; later writes do not change it. `high` also rises
    when a row is removed, so `rows` may be 0 while `high` is not.
    """

    low: int
    high: int
    rows: int


@value
class SourceChange:
    """A write to a timeperiod of a collection, numbered `seq`."""

    collection: str
    timeperiod: str
    seq: int


Merge = Callable[[str, Mapping[str, object] | None], Mapping[str, object]]


class ReadableDocuments(Protocol):
    """The collections that workers read and write.

    Each write that changes a document has a number, in the order in which writes become
    visible: a reader that has seen number n has missed no write numbered below n.

    A range `[start, end)` with the end "" includes everything from `start` on.
    """

    def read(self, collection: str, start: str, end: str) -> Iterator[dict[str, object]]:
        """The bodies within `[start, end)`, by timeperiod, then key."""
        ...

    def bounds(self, collection: str, start: str, end: str) -> Bounds | None:
        """The bounds of `[start, end)`; None if the range was never written to."""
        ...

    def bounds_by_timeperiod(self, collection: str, start: str, end: str) -> dict[str, Bounds]:
        """The bounds of each timeperiod in `[start, end)` that was ever written to."""
        ...

    def changed_since(self, seq: int, limit: int) -> list[SourceChange]:
        """The newest change of each (collection, timeperiod) changed after `seq`, by number.

        Only the newest change of a timeperiod is stored, so the cost is proportional to
        the number of changed timeperiods.
        """
        ...

    def collections(self) -> dict[str, int]:
        """The collections and their numbers of documents."""
        ...


class Documents(ReadableDocuments, Protocol):
    """Documents, read and updated; an update that leaves a document equal is not a write."""

    def update(self, collection: str, keys: Sequence[tuple[str, str]], merge: Merge) -> int:
        """Replaces the body of each (key, timeperiod) by `merge(key, present body or None)`.

        Each replacement is atomic. `merge` must be pure: it is called again after a concurrent
        write. Returns the number of changed documents.
        """
        ...


def unique_documents(write: SinkWrite) -> dict[tuple[str, str], Document]:
    """The documents of a sink write by (timeperiod, key).

    Raises InvalidValue for a duplicate, which would lose a row, and for a document outside the
    range that the write replaces.
    """
    found: dict[tuple[str, str], Document] = {}
    for document in write.documents:
        place = (document.timeperiod, document.key)
        if place in found:
            raise InvalidValue(f"two documents {document.key!r} at {document.timeperiod}")
        if not write.start <= document.timeperiod < write.end:
            raise InvalidValue(
                f"document {document.key!r} at {document.timeperiod} lies outside "
                f"{write.start}..{write.end}"
            )
        found[place] = document
    return found
