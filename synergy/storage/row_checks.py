"""Checks all rows of a store, for every engine."""

from __future__ import annotations

from collections.abc import Callable

from synergy.storage.malformed import MalformedRow
from synergy.storage.protocol.rows import Rows

PORTION = 2_000  # rows per read
SHOWN = 1_000  # malformed rows that are listed


def check_all(rows: Rows, progress: Callable[[int], object]) -> tuple[int, list[MalformedRow]]:
    """The number of rows, and the malformed ones, at most `SHOWN`; `progress` gets the number."""
    count = 0
    found: list[MalformedRow] = []
    for kind in rows.kinds():
        part = rows.check(kind, None, PORTION)
        while True:
            count += part.count
            found += part.malformed[: SHOWN - len(found)]
            progress(count)
            if part.last is None:
                break
            part = rows.check(kind, part.last, PORTION)
    return count, found
