"""Cursors: the positions in lists at which the next pages begin."""

from __future__ import annotations

from synergy.errors import InvalidValue

HIGHEST = (1 << 62) - 1  # above the number of any row
_DIGITS = len(str(HIGHEST))


def number_of(cursor: str) -> int:
    """The number in a cursor, at most `HIGHEST`; raises InvalidValue for any other text."""
    if not (cursor.isascii() and cursor.isdigit()):
        raise invalid_cursor(cursor)
    digits = cursor.lstrip("0") or "0"
    return min(int(digits), HIGHEST) if len(digits) <= _DIGITS else HIGHEST


def invalid_cursor(cursor: str) -> InvalidValue:
    """The error for a text that is not a cursor of this list."""
    return InvalidValue(f"{cursor!r} is not a cursor: use the one that the last page returned")
