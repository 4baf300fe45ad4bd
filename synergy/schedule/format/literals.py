"""The values in definitions: durations, instants, dates, times of day.

Functions that read raise InvalidValue with the expected form. `spelled_` functions write the
canonical form, which is read back to an equal value; `readable_` functions write for people.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from difflib import get_close_matches

from synergy.errors import InvalidValue

LONGEST = timedelta(days=3660)
"""Ten years: a longer duration is a mistake, and would overflow dates."""

_SENSELESS = 10**15  # seconds; numbers from here on, and NaN, are no durations
_DURATION = re.compile(r"([0-9]{1,12})\s*([smhd])", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,12}(\.[0-9]{1,9})?", re.ASCII)
_UNITS = {"d": 86_400, "h": 3600, "m": 60, "s": 1}
_CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_INSTANT = re.compile(
    r"(\d{4}-\d\d-\d\d)"
    r"(?:[Tt ](\d\d:\d\d(?::\d\d)?)(?:[.,](\d{1,9}))?\s?([Zz]|[+-]\d\d:?\d\d)?)?",
    re.ASCII,
)
_ALMOST_A_SECOND = timedelta(microseconds=999_999)
_FIRST_YEAR, _LAST_YEAR = 1970, 2999


def suggestion(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown word."""
    words = sorted(known)
    near = get_close_matches(word, words, 1) or [w for w in words if w.lower() == word.lower()]
    if near:
        return f"did you mean {near[0]}?"
    return f"expected one of {', '.join(words)}" if words else "there are none"


def shown(value: object) -> str:
    """A value for messages: short, and named as JSON and YAML do."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {value!r:.40}"
        case str():
            return repr(value) if len(value) <= 60 else f"{value[:60]!r}..."
        case date():
            return f"the date {value}"
        case Mapping():
            return "a mapping"
        case Sequence():
            return "a list"
        case _:
            return f"a {type(value).__name__}"


def shown_clock(value: object) -> str:
    """As `shown`, where a time of day was expected: YAML 1.1 reads 22:00 as the number 1320."""
    if isinstance(value, int) and not isinstance(value, bool) and 60 <= value < 1440:
        return f"{shown(value)}, as which YAML reads {value // 60}:{value % 60:02} without quotes"
    return shown(value)


def duration(value: object) -> timedelta:
    """A duration up to `LONGEST`, from seconds, as number or text, or from a text such as '5m'."""
    seconds = _seconds(value)
    if seconds is None:
        raise InvalidValue(
            f"expected a duration such as '60s', '5m', '48h', '7d', not {shown(value)}"
        )
    if not 0 <= seconds <= LONGEST.total_seconds():
        raise InvalidValue(f"expected at least 0 and at most ten years, not {shown(value)}")
    return timedelta(seconds=seconds)


def spelled_duration(value: timedelta) -> str | float:
    """The duration in the largest exact unit; as a number, if it is not whole seconds."""
    seconds = value.total_seconds()
    if not seconds.is_integer():
        return seconds
    unit = next((u for u, size in _UNITS.items() if seconds and seconds % size == 0), "s")
    return f"{int(seconds) // _UNITS[unit]}{unit}"


def readable_duration(value: timedelta) -> str:
    """The duration in days, hours, minutes and seconds, such as '1d' or '1h30m'."""
    rest, words = value.total_seconds(), list[str]()
    for unit in "dhm":
        number, rest = divmod(rest, _UNITS[unit])
        words += [f"{number:.0f}{unit}"] if number else []
    return "".join([*words, *([f"{rest:g}s"] if rest or not words else [])])


def instant(value: object, zone: tzinfo = UTC) -> datetime:
    """An instant in UTC, from a text such as '2026-11-22T00:00:00Z' or from a date.

    `T`, fraction, `Z` and the time of day may be missing; an instant without an offset is in
    `zone`.
    """
    try:
        found = _instant(value)
        if found is None:
            raise InvalidValue(
                f"expected an instant such as '2026-11-22T00:00:00Z', not {shown(value)}"
            )
        read = (found if found.tzinfo else found.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidValue(f"there is no such instant as {shown(value)}") from None
    _check_year(read.year)
    return read


def whole_second(value: object) -> datetime:
    """An instant in UTC without a fraction."""
    found = instant(value)
    if found.microsecond:
        raise InvalidValue(f"expected whole seconds, not {shown(value)}")
    return found


def calendar_date(value: object) -> date:
    """A date, from a text such as '2026-11-22' or from a date."""
    if isinstance(value, str) and _DATE.fullmatch(value.strip()):
        try:
            value = date.fromisoformat(value.strip())
        except ValueError:
            raise InvalidValue(f"there is no such date as {shown(value)}") from None
    if not isinstance(value, date) or isinstance(value, datetime):
        raise InvalidValue(f"expected a date such as '2026-11-22', not {shown(value)}")
    _check_year(value.year)
    return value


def clock(value: object) -> time:
    """A time of day, to the minute, from a text such as '22:00'."""
    found = _CLOCK.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise InvalidValue(f"expected a time such as '22:00' in quotes, not {shown_clock(value)}")
    return time(int(found[1]), int(found[2]))


def _check_year(year: int) -> None:
    if not _FIRST_YEAR <= year <= _LAST_YEAR:
        raise InvalidValue(f"expected a year from {_FIRST_YEAR} to {_LAST_YEAR}, not {year}")


def spelled_instant(value: datetime) -> str:
    """The instant in UTC, such as '2026-11-22T00:00:00Z'."""
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def readable_instant(value: datetime) -> str:
    """The instant to the second; a fraction is left out."""
    return spelled_instant(value.replace(microsecond=0))


def readable_earliest(value: datetime) -> str:
    """The first whole second that is not before the instant."""
    return readable_instant(value + _ALMOST_A_SECOND)


def _seconds(value: object) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if abs(value) < _SENSELESS else None
    if not isinstance(value, str):
        return None
    text = value.strip()
    if _NUMBER.fullmatch(text):
        return float(text)
    found = _DURATION.fullmatch(text)
    return None if found is None else float(int(found[1]) * _UNITS[found[2]])


def _instant(value: object) -> datetime | None:
    """An instant, perhaps without a zone; None if the value has none of the forms."""
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):  # as YAML reads 2026-11-22 without quotes
        return datetime.combine(value, time.min)
    found = _INSTANT.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        return None
    day, clock, fraction, zone = found.groups()
    if fraction and (clock is None or len(clock) == 5):
        return None  # a fraction of a minute
    micros = f".{fraction[:6]:0<6}" if fraction else ""
    return datetime.fromisoformat(f"{day}T{clock or '00:00'}{micros}{(zone or '').upper()}")
