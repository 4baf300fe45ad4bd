"""Decisions about due times that are made a little before they are due.

Deciding is a pure function of a row and an instant, so it can be done while nothing else is to
be done; when the time has come only the rows are written. A decision counts only for the very
row that it was made of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from synergy.model.schedule import Schedule

HORIZON = timedelta(seconds=10)  # how far ahead is looked
FRESH = timedelta(seconds=1)  # a decision that comes later than that is made anew

Decided = TypeVar("Decided")


class Lookahead(Generic[Decided]):
    """Decisions for one instant."""

    def __init__(self) -> None:
        self._at: datetime | None = None
        self._made: dict[str, tuple[Schedule, Decided]] = {}

    def is_to_look(self, at: datetime | None, now: datetime) -> bool:
        """Whether decisions for `at`, when something is due next, are to be made now."""
        return at is not None and at != self._at and now < at <= now + HORIZON

    def look(
        self, rows: Sequence[Schedule], at: datetime, decide: Callable[[Schedule], Decided | None]
    ) -> None:
        """Decides about these as of `at`; None is no decision."""
        self._at = at
        self._made.clear()
        for row in rows:
            made = decide(row)
            if made is not None:
                self._made[row.name] = (row, made)

    def of(self, row: Schedule, now: datetime) -> Decided | None:
        """The decision about a row that was made ahead, if it still counts; it is given once."""
        made_of, made = self._made.pop(row.name, (None, None))
        is_fresh = self._at is not None and self._at <= now <= self._at + FRESH
        return made if made_of == row and is_fresh else None
