"""Pages of lists."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

SEARCHED = 10_000  # rows that are read for one page, at most
STEP = 1000  # rows that are read at a time

Item = TypeVar("Item")


class Numbered(Protocol):
    """A row with its number in the store's order."""

    @property
    def seq(self) -> int: ...


Row = TypeVar("Row", bound=Numbered)

Read = Callable[[int, str | None], tuple[list[Row], str | None]]
"""Returns at most so many rows from a cursor on, and the cursor of the next ones or None."""


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """Items of a list, and the cursor of the next page or None."""

    items: tuple[Item, ...]
    next: str | None


def searched(
    read: Read[Row], is_wanted: Callable[[Row], bool], limit: int, cursor: str | None
) -> Page[Row]:
    """A page of the wanted rows, for a condition that has no index.

    After `SEARCHED` rows the page ends, with fewer rows than `limit`, even none, and a next page.
    """
    found: list[Row] = []
    for _ in range(0, SEARCHED, STEP):
        rows, cursor = read(STEP, cursor)
        found += filter(is_wanted, rows)
        if len(found) > limit:
            return Page(tuple(found[:limit]), str(found[limit - 1].seq))
        if cursor is None:
            break
    return Page(tuple(found), cursor)
