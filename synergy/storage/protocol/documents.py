"""The collections that workers read and write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from synergy.errors import InvalidValue
from synergy.model.unit_of_work import Document, SinkWrite


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a source holds for a timeperiod range: lowest and highest write number, rows.

    `low` is the lowest number ever given there, which no later write moves. `high` also rises
    when a row is taken away, so that `rows` may be 0 while `high` is not.
    """

    low: int
    high: int
    rows: int


@dataclass(frozen=True, slots=True)
class SourceChange:
    """That a timeperiod of a collection was written to, at write number `seq`."""

    collection: str
    timeperiod: str
    seq: int


Merge = Callable[[str, Mapping[str, object] | None], Mapping[str, object]]


class Documents(Protocol):
    """The collections that workers read and write.

    Each write that changes a document gets a number, in the order in which writes become
    visible: who has seen number n has missed no write numbered below n. Writing a document
    that is already there, the same, is no write.
    """

    def read(self, collection: str, start: str, end: str) -> Iterator[dict[str, object]]:
        """The bodies within `[start, end)`, by timeperiod, then key; "" as end: no end."""
        ...

    def update(self, collection: str, keys: Sequence[tuple[str, str]], merge: Merge) -> int:
        """For each (key, timeperiod): the body becomes `merge(key, present body or None)`.

        Each is atomic; `merge` may be called again where another writer came between, and
        must be pure. Returns how many changed.
        """
        ...

    def bounds(self, collection: str, start: str, end: str) -> Bounds | None:
        """The bounds of `[start, end)`; None if nothing was ever written there."""
        ...

    def bounds_by_timeperiod(self, collection: str, start: str, end: str) -> dict[str, Bounds]:
        """The bounds of each timeperiod in `[start, end)` that was ever written to."""
        ...

    def changed_since(self, seq: int, limit: int) -> list[SourceChange]:
        """The newest change of each (collection, timeperiod) changed after `seq`, by number.

        Only the newest change of a timeperiod is remembered, so the cost is that of what
        changed.
        """
        ...

    def collections(self) -> dict[str, int]:
        """The collections and their numbers of documents."""
        ...


def unique_documents(write: SinkWrite) -> dict[tuple[str, str], Document]:
    """The documents of a sink write by (timeperiod, key).

    Raises InvalidValue for one that comes twice, which would lose a row, and for one outside
    the range that the write replaces.
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
