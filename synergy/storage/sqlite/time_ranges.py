"""Ranges of time in queries of rows that are numbered in the order of their creation."""

from __future__ import annotations

from synergy.model.time_range import EVER, TimeRange
from synergy.storage.instants import micros
from synergy.storage.sqlite.database import Database

_END = 1 << 62  # later than any instant, and higher than the number of any row


def between(database: Database, query: str, within: TimeRange) -> dict[str, int]:
    """The bindings `begin`, `end` (of times), `low` and `high` (of numbers; not included).

    `query` finds the numbers of a range of time. With them a page is read in the order of numbers,
    by the same indexes as without a range.
    """
    if within == EVER:
        return {"begin": -_END, "end": _END, "low": 0, "high": _END}
    times = {
        "begin": -_END if within.begin is None else micros(within.begin),
        "end": _END if within.end is None else micros(within.end),
    }
    low, high = database.fetch(query, times)[0]
    return {**times, "low": low or 0, "high": high or 0}
