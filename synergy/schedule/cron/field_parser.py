"""One field of a cron line: how each dialect writes it, and which numbers it stands for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from synergy.schedule.cron.days import FromEnd, LastWeekday, NearestWorkday, NthWeekday, Special

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_PART = re.compile(r"(\*|([0-9]+|[a-z]+)(-([0-9]+|[a-z]+))?)(/([0-9]+))?", re.ASCII)
_FROM_END = re.compile(r"l(?:-([0-9]+))?(w)?", re.ASCII)
_NEAREST = re.compile(r"([0-9]+)w", re.ASCII)
_LAST = re.compile(r"([0-9]+|[a-z]{3})l", re.ASCII)
_NTH = re.compile(r"([0-9]+|[a-z]{3})#([0-9]+)", re.ASCII)
_OF_MONTH = (_FROM_END, _NEAREST)
_OF_WEEK = (_LAST, _NTH)


@dataclass(frozen=True, eq=False)
class Kind:
    """What a field may hold; `names` stand for the numbers from `low` on."""

    label: str
    low: int
    high: int
    names: tuple[str, ...] = ()
    is_quartz: bool = False

    @property
    def is_day(self) -> bool:
        return self.label.startswith("day")

    def bit(self, number: int) -> int:
        """The bit for a number as written; weekdays are counted from Sunday, 0."""
        return 1 << ((number - self.low) % 7 if self.names == _WEEKDAYS else number)


_YEAR = Kind("year", 1970, 2099, is_quartz=True)
_UNIX_WEEKDAY = Kind("day of week", 0, 7, _WEEKDAYS)

UNIX = (
    Kind("minute", 0, 59),
    Kind("hour", 0, 23),
    Kind("day of month", 1, 31),
    Kind("month", 1, 12, _MONTHS),
    _UNIX_WEEKDAY,
)
QUARTZ = (
    Kind("second", 0, 59, is_quartz=True),
    Kind("minute", 0, 59, is_quartz=True),
    Kind("hour", 0, 23, is_quartz=True),
    Kind("day of month", 1, 31, is_quartz=True),
    Kind("month", 1, 12, _MONTHS, is_quartz=True),
    Kind("day of week", 1, 7, _WEEKDAYS, is_quartz=True),
    _YEAR,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A parsed field.

    `text` is the canonical spelling; bit n of `numbers` is set when n matches, for weekdays
    counted from Sunday, 0; `specials` are the days that depend on the month. `is_rhythm` is whether
    the field begins with `*`, or with a step from a start (`a/n`). Such a field means a spacing,
    not a time on the clock.
    """

    text: str
    numbers: int = field(hash=False)
    specials: tuple[Special, ...] = field(default=(), hash=False)
    is_rhythm: bool = field(default=False, hash=False)


class _Part(NamedTuple):
    text: str
    numbers: int
    special: Special | None = None
    is_rhythm: bool = False


@lru_cache(maxsize=4_096)
def parse(kind: Kind, word: str) -> Field:
    """The parsed field; the same object each time, so that many lines share it.

    Raises ValueError with the reason.
    """
    if word == "?" and kind.is_quartz and kind.is_day:
        return Field(text="?", numbers=_mask(kind, range(kind.low, kind.high + 1)))
    parts = [_part(kind, part) for part in word.split(",")]
    numbers = 0
    for part in parts:
        numbers |= part.numbers
    return Field(
        text=",".join(part.text for part in parts),
        numbers=numbers,
        specials=tuple(part.special for part in parts if part.special is not None),
        is_rhythm=parts[0].is_rhythm,
    )


def _part(kind: Kind, word: str) -> _Part:
    lower = word.lower()
    special = _special(kind, lower) if kind.is_quartz and kind.is_day else None
    if special is not None:
        return _Part(str(special), 0, special)
    if kind.is_quartz and kind.label == "day of week" and lower == "l":
        lower = "sat"  # in Quartz a lone L is the last day of each week
    if word == "?" or any(form.fullmatch(lower) for form in (*_OF_MONTH, *_OF_WEEK)):
        raise ValueError(_misplaced(kind, word))
    found = _PART.fullmatch(lower)
    if found is None:
        raise ValueError(f"{word!r} is not understood in the {kind.label}")
    whole, first, _, last, _, step = found.groups()
    if whole == "*":
        return _span(kind, word, "*", kind.low, kind.high, step)
    low = _number(kind, first)
    if last is not None:
        high = _number(kind, last)
        return _span(kind, word, f"{low}-{high}", low, high, step)
    if step is None:
        return _Part(str(0 if low == 7 and kind is _UNIX_WEEKDAY else low), kind.bit(low))
    if not kind.is_quartz:
        raise ValueError(_bad_step(kind, word))
    return _span(kind, word, str(low), low, kind.high, step)


def _span(kind: Kind, word: str, text: str, low: int, high: int, step: str | None) -> _Part:
    """The numbers from `low` to `high`; in Quartz a span may pass the end of its field."""
    stride = 1 if step is None else int(step)
    size = kind.high - kind.low + 1
    if stride < 1:
        raise ValueError(_bad_step(kind, word))
    if kind.is_quartz and stride > size:
        raise ValueError(f"the step of {word!r} is longer than the {kind.label}: 1 to {size}")
    if low > high and (not kind.is_quartz or kind is _YEAR):
        raise ValueError(f"{word!r} in the {kind.label} runs backwards")
    last = high if low <= high else high + size
    numbers = ((number - kind.low) % size + kind.low for number in range(low, last + 1, stride))
    suffix = "" if step is None else f"/{stride}"
    return _Part(text + suffix, _mask(kind, numbers), is_rhythm="-" not in text)


def _special(kind: Kind, word: str) -> Special | None:
    if kind.names:
        return _special_weekday(kind, word)
    if found := _FROM_END.fullmatch(word):
        back, is_workday = found.groups()
        if back is not None and not 1 <= int(back) <= 30:
            raise ValueError(f"L-{back}: L-n reaches back 1 to 30 days from the last")
        return FromEnd(int(back or 0), is_workday is not None)
    if found := _NEAREST.fullmatch(word):
        return NearestWorkday(_number(kind, found[1]))
    return None


def _special_weekday(kind: Kind, word: str) -> Special | None:
    if found := _LAST.fullmatch(word):
        return LastWeekday(_number(kind, found[1]) - 1)
    if found := _NTH.fullmatch(word):
        if not 1 <= int(found[2]) <= 5:
            raise ValueError(f"#{found[2]}: a weekday comes at most five times a month, #1 to #5")
        return NthWeekday(_number(kind, found[1]) - 1, int(found[2]))
    return None


def _number(kind: Kind, word: str) -> int:
    if word in kind.names:
        return kind.names.index(word) + kind.low
    if not word.isdigit() or not kind.low <= int(word) <= kind.high:
        sunday = " (1 is SUN)" if kind.low == 1 and kind.names == _WEEKDAYS else ""
        raise ValueError(
            f"the {kind.label} must be {kind.low} to {kind.high}{sunday}, not {word!r}"
        )
    return int(word)


def _mask(kind: Kind, numbers: Iterable[int]) -> int:
    mask = 0
    for number in numbers:
        mask |= kind.bit(number)
    return mask


def _bad_step(kind: Kind, word: str) -> str:
    before = "*, a number or a range" if kind.is_quartz else "* or a range"
    return f"{word!r} in the {kind.label}: a step is at least 1, after {before}"


def _misplaced(kind: Kind, word: str) -> str:
    """The mistake of a word that is valid in another field or dialect."""
    if not kind.is_quartz:
        return f"{word!r} in the {kind.label} is Quartz syntax, which needs six or seven fields"
    if not kind.is_day:
        return f"{word!r} is for the day fields, not for the {kind.label}"
    if word == "?":
        return f"'?' in the {kind.label} stands alone"
    home = "day of month" if kind.names else "day of week"
    return f"{word!r} is for the {home}, not for the {kind.label}"
