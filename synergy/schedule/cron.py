"""Unix cron: five fields, checked here, calculated by APScheduler.

APScheduler numbers weekdays from Monday and lets both day fields decide together, and Unix
cron does neither. So the fields are checked and spelled out here, and the library is asked
only for what it is good at: the next instant that a set of numbers matches.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from apscheduler.triggers.cron import CronTrigger

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_LONGEST_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_PART = re.compile(r"(\*|([0-9]+|[a-z]+)(-([0-9]+|[a-z]+))?)(/([0-9]+))?", re.ASCII)
_TICK = timedelta(microseconds=1)


class Fields(NamedTuple):
    """The five fields in canonical spelling: numbers, lower case, no blanks."""

    minute: str
    hour: str
    day: str
    month: str
    weekday: str


class _Kind(NamedTuple):
    """What a field may hold; `names` stand for the numbers from `low` on."""

    label: str
    low: int
    high: int
    names: list[str]


_KINDS = (
    _Kind("minute", 0, 59, []),
    _Kind("hour", 0, 23, []),
    _Kind("day of month", 1, 31, []),
    _Kind("month", 1, 12, _MONTHS),
    _Kind("day of week", 0, 7, _WEEKDAYS),
)


def parse(text: str) -> Fields:
    """Raises ValueError, with the reason, for anything but five fields that can ever match."""
    words = text.lower().split()
    if len(words) in (6, 7):
        raise ValueError(f"cron with {len(words)} fields (with seconds) is not supported yet")
    if len(words) != 5:
        raise ValueError(f"cron has five fields, not {len(words)}")
    fields = Fields(*(_canonical(*pair) for pair in zip(_KINDS, words, strict=True)))
    _refuse_impossible(fields)
    return fields


def next_after(fields: Fields, instant: datetime) -> datetime:
    """The first minute that matches and begins strictly later than `instant`."""
    found: list[datetime] = [
        calculator.get_next_fire_time(None, instant.astimezone(UTC) + _TICK)
        for calculator in _calculators(fields)
    ]
    return min(found)


def _canonical(kind: _Kind, word: str) -> str:
    return ",".join(_part(kind, part) for part in word.split(","))


def _part(kind: _Kind, part: str) -> str:
    found = _PART.fullmatch(part)
    if found is None:
        raise ValueError(f"{part!r} is not understood in the {kind.label}")
    whole, first, _, last, _, step = found.groups()
    if step is not None and (int(step) < 1 or (first and not last)):
        raise ValueError(f"{part!r} in the {kind.label}: a step is at least 1, of a range or of *")
    suffix = "" if step is None else f"/{int(step)}"
    if whole == "*":
        return f"*{suffix}"
    low = _number(kind, first)
    if last is None:
        return "0" if kind.high == 7 and low == 7 else str(low)
    high = _number(kind, last)
    if low > high:
        raise ValueError(f"{part!r} in the {kind.label} runs backwards")
    return f"{low}-{high}{suffix}"


def _number(kind: _Kind, word: str) -> int:
    if word in kind.names:
        return kind.names.index(word) + kind.low
    if not word.isdigit() or not kind.low <= int(word) <= kind.high:
        raise ValueError(f"the {kind.label} must be {kind.low} to {kind.high}, not {word!r}")
    return int(word)


def _members(kind: _Kind, field: str) -> set[int]:
    """The numbers that a canonical field stands for."""
    members: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        low, high = (kind.low, kind.high) if span == "*" else (int(first), int(last or first))
        members.update(range(low, high + 1, int(step or 1)))
    return members


def _is_either(fields: Fields) -> bool:
    """Whether one matching day field is enough."""
    return not (fields.day.startswith("*") or fields.weekday.startswith("*"))


def _refuse_impossible(fields: Fields) -> None:
    if _is_either(fields):
        return
    longest = max(_LONGEST_MONTH[month - 1] for month in _members(_KINDS[3], fields.month))
    if min(_members(_KINDS[2], fields.day)) > longest:
        raise ValueError(f"month {fields.month} has no day {fields.day}")


@lru_cache(maxsize=256)
def _calculators(fields: Fields) -> tuple[CronTrigger, ...]:
    """Calculators whose earliest answer is the next due minute.

    Imported here, because most processes never use cron and should not pay for it.
    """
    from apscheduler.triggers.cron import CronTrigger

    numbers = [_spelled(_members(*pair)) for pair in zip(_KINDS[:4], fields, strict=False)]
    minute, hour, day, month = numbers
    weekdays = {number % 7 for number in _members(_KINDS[4], fields.weekday)}
    weekday = ",".join(_WEEKDAYS[number] for number in sorted(weekdays))
    pairs = [(day, None), (None, weekday)] if _is_either(fields) else [(day, weekday)]
    return tuple(
        CronTrigger(
            minute=minute, hour=hour, month=month, day=day, day_of_week=weekday, timezone=UTC
        )
        for day, weekday in pairs
    )


def _spelled(members: set[int]) -> str:
    return ",".join(map(str, sorted(members)))
