"""Periods as people write them: many forms are understood, one is printed.

`2015`, `2015-05`, `2015-05-17` and `2015-05-17T10` name a year, a month, a day and an hour; a space
may replace the `T`, and `:00`, `:00:00` and `Z` (or another zero offset) may follow the hour. Ten
digits are a canonical timeperiod: it names a period of the qualifier that is asked for, and nothing
else. Six and eight digits are refused, as the last ones may have been forgotten.

What does not name a period of the qualifier is refused, with the nearest form that does. Only in a
range may a coarser period stand for all its periods of the qualifier.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import NamedTuple

from synergy.errors import InvalidValue
from synergy.timeperiod.qualifier import Qualifier

_CANONICAL = re.compile(r"[0-9]{10}")
_WRITTEN = re.compile(
    r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2})(?:[Tt ]([0-9]{2})"
    r"(?::([0-5][0-9])(?::([0-5][0-9](?:\.[0-9]+)?))?)?"
    r"([Zz]|[+-][0-9]{2}(?::?[0-5][0-9])?)?)?)?)?"
)
_PARTS = (Qualifier.YEARLY, Qualifier.MONTHLY, Qualifier.DAILY, Qualifier.HOURLY)
_UNIT = {
    Qualifier.HOURLY: "an hour",
    Qualifier.DAILY: "a day",
    Qualifier.MONTHLY: "a month",
    Qualifier.YEARLY: "a year",
}


class _Named(NamedTuple):
    """The period that a text names, whatever the process."""

    qualifier: Qualifier
    ordinal: int


def parse_period(qualifier: Qualifier, text: str) -> int:
    """The ordinal of a period of exactly this qualifier, as people write it.

    Raises InvalidValue, with what was expected, for any other text.
    """
    if _is_canonical(text):
        return qualifier.parse(text.strip(" "))
    named = _named(qualifier, text)
    if named.qualifier is not qualifier:
        raise _misfit(qualifier, text, named)
    return named.ordinal


def parse_between(qualifier: Qualifier, first: str, end: str | None = None) -> tuple[int, int]:
    """The half-open range of ordinals from the start of one period to the start of another.

    Without an end it is the first period alone. A coarser period begins with its first period of
    the qualifier, and alone covers all of them. Raises InvalidValue for an empty range, and for a
    period that is finer than the qualifier.
    """
    begin, after = _span(qualifier, first)
    if end is None:
        return begin, after
    stop, _ = _span(qualifier, end)
    if stop <= begin:
        raise InvalidValue(
            f"{first.strip(' ')} to {end.strip(' ')} is empty: the end is not included, "
            f"so it must be later than the beginning"
        )
    return begin, stop


def parse_range(qualifier: Qualifier, text: str) -> tuple[int, int]:
    """The range of `parse_between` from a text: `FROM..TO`, or one period."""
    first, dots, end = text.partition("..")
    return parse_between(qualifier, first, end if dots else None)


def parse_hour(text: str) -> int:
    """The ordinal of the hour with which a period of any qualifier begins."""
    if _is_canonical(text):
        return Qualifier.HOURLY.cast(text.strip(" "))
    named = _named(Qualifier.HOURLY, text)
    return named.qualifier.down(named.ordinal, Qualifier.HOURLY)[0]


def parse_named(text: str) -> tuple[Qualifier, int]:
    """The qualifier and the ordinal of the period that a text names by itself.

    Raises InvalidValue for ten digits that name an hour as well as a day.
    """
    if not _is_canonical(text):
        return _named(Qualifier.HOURLY, text)
    digits = text.strip(" ")
    day = f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}"
    if digits.endswith("000000"):
        qualifier = Qualifier.YEARLY
    elif digits.endswith("0000"):
        qualifier = Qualifier.MONTHLY
    elif digits.endswith("00"):
        raise InvalidValue(f"{digits} is an hour or a day: write {day}T00 or {day}")
    else:
        qualifier = Qualifier.HOURLY
    return qualifier, qualifier.parse(digits)


def _is_canonical(text: str) -> bool:
    return _CANONICAL.fullmatch(text.strip(" ")) is not None


def _span(qualifier: Qualifier, text: str) -> tuple[int, int]:
    """The periods of the qualifier that a text names: one, or all those of a coarser period."""
    if _is_canonical(text):
        ordinal = qualifier.parse(text.strip(" "))
        return ordinal, ordinal + 1
    named = _named(qualifier, text)
    if named.qualifier.rank < qualifier.rank:
        raise _misfit(qualifier, text, named)
    return named.qualifier.down(named.ordinal, qualifier)


def _named(wanted: Qualifier, text: str) -> _Named:
    """The period that a text names; `wanted` is for the message if there is none."""
    match = _WRITTEN.fullmatch(text.strip(" "))
    if match is None:
        raise InvalidValue(wanted.malformed(text))
    *parts, minute, second, offset = match.groups()
    digits = "".join(part for part in parts if part)
    qualifier = _PARTS[len(digits) // 2 - 2]
    try:
        ordinal = qualifier.parse(digits.ljust(10, "0"))
    except InvalidValue:
        raise InvalidValue(wanted.malformed(text)) from None
    if offset is not None and offset.strip("Zz+-0:"):
        raise InvalidValue(
            f"{text!r} is not UTC, as periods are: expected "
            f"{_iso(qualifier, _without(offset, minute, ordinal))}"
        )
    if (minute or second) and float(minute) + float(second or 0):
        raise InvalidValue(
            f"{text!r} is not the beginning of an hour: expected {_iso(qualifier, ordinal)}"
        )
    return _Named(qualifier, ordinal)


def _without(offset: str, minute: str | None, hour: int) -> int:
    """The ordinal of the hour of UTC that holds a time of another offset."""
    digits = offset[1:].replace(":", "").ljust(4, "0")
    east = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    local = Qualifier.HOURLY.start(hour) + timedelta(minutes=int(minute or 0))
    return Qualifier.HOURLY.at(local + east if offset[0] == "-" else local - east)


def _misfit(wanted: Qualifier, text: str, named: _Named) -> InvalidValue:
    """The refusal of a period that is finer or coarser than those of the qualifier."""
    hour, _ = named.qualifier.down(named.ordinal, Qualifier.HOURLY)
    nearest = Qualifier.HOURLY.up(hour, wanted)
    return InvalidValue(
        f"{text!r} is {_UNIT[named.qualifier]}, and {wanted.value} timeperiods are expected here: "
        f"for example {_iso(wanted, nearest)} ({wanted.timeperiod(nearest)})"
    )


def _iso(qualifier: Qualifier, ordinal: int) -> str:
    """A period in the form of ISO 8601, as far as its qualifier goes."""
    name = qualifier.timeperiod(ordinal)
    year, month, day, hour = name[:4], name[4:6], name[6:8], name[8:]
    match qualifier:
        case Qualifier.YEARLY:
            return year
        case Qualifier.MONTHLY:
            return f"{year}-{month}"
        case Qualifier.DAILY:
            return f"{year}-{month}-{day}"
        case Qualifier.HOURLY:
            return f"{year}-{month}-{day}T{hour}"
