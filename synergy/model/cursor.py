"""Cursors: what a page of a list says of where the next one begins."""

from __future__ import annotations

from synergy.errors import InvalidValue

HIGHEST = (1 << 62) - 1  # that the number of anything can be
_DIGITS = len(str(HIGHEST))


def number_of(cursor: str) -> int:
    """The number that a cursor is, at most `HIGHEST`. Raises InvalidValue for what is none."""
    if not (cursor.isascii() and cursor.isdigit()):
        raise no_cursor(cursor)
    digits = cursor.lstrip("0") or "0"
    return min(int(digits), HIGHEST) if len(digits) <= _DIGITS else HIGHEST


def no_cursor(cursor: str) -> InvalidValue:
    """The error for a cursor that no page ever came with."""
    return InvalidValue(f"{cursor!r} is no cursor: take the one that came with the last page")
