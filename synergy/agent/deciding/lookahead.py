"""Decisions about due times, computed shortly before they are due.

Deciding is a pure function of a row and an instant, so it can be done in idle time; at the due
time only the rows are written. A decision is used only for exactly the row that it was made from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from synergy.model.schedule import Schedule

HORIZON = timedelta(seconds=10)  # how far ahead decisions are made
FRESH = timedelta(seconds=1)  # how long after its instant a decision is still used

Decided = TypeVar("Decided")


class Lookahead(Generic[Decided]):
    """Decisions for one instant."""

    def __init__(self) -> None:
        self._at: datetime | None = None
        self._made: dict[str, tuple[Schedule, Decided]] = {}

    def is_to_look(self, at: datetime | None, now: datetime) -> bool:
        """Whether decisions for `at`, the next due time, are to be made now."""
        return at is not None and at != self._at and now < at <= now + HORIZON

    def look(
        self, rows: Sequence[Schedule], at: datetime, decide: Callable[[Schedule], Decided | None]
    ) -> None:
        """Makes and keeps decisions about these rows as of `at`; None is no decision."""
        self._at = at
        self._made.clear()
        for row in rows:
            made = decide(row)
            if made is not None:
                self._made[row.name] = (row, made)

    def of(self, row: Schedule, now: datetime) -> Decided | None:
        """Removes and returns the decision about a row, if there is one that still applies."""
        made_of, made = self._made.pop(row.name, (None, None))
        is_fresh = self._at is not None and self._at <= now <= self._at + FRESH
        return made if made_of == row and is_fresh else None
