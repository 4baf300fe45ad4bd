"""The days of a month that a cron line matches.

A month has one of 28 shapes: its length, and the weekday of its first day. The days of a line are
computed once for each shape and cached. Sets of numbers are bit masks: bit n stands for n. Weekdays
are counted from Sunday, 0, as in both dialects. `field_parser` understands how days are written,
`L` and `#` included.
"""

from __future__ import annotations

from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from synergy.schedule.cron.field_parser import Field

_LENGTHS = (0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class Month(NamedTuple):
    """The shape of a month: the weekday of its first day, and its length in days."""

    first: int
    length: int

    def weekday(self, day: int) -> int:
        return (self.first + day - 1) % 7

    def nearest_workday(self, day: int) -> int:
        """`day`, or the nearest Monday to Friday in the same month."""
        match self.weekday(day):
            case 6:
                return day - 1 if day > 1 else 3
            case 0:
                return day + 1 if day < self.length else day - 2
            case _:
                return day


class FromEnd(NamedTuple):
    """`L`, `L-n`, `LW`, `L-nW`: so many days before the last day, or the workday nearest it."""

    back: int
    is_workday: bool

    def __str__(self) -> str:
        return "L" + (f"-{self.back}" if self.back else "") + ("W" if self.is_workday else "")

    def day(self, month: Month) -> int:
        """The day, or 0 when this month has none."""
        day = max(0, month.length - self.back)
        return month.nearest_workday(day) if day and self.is_workday else day


class NearestWorkday(NamedTuple):
    """`15W`: the workday nearest that day; a month without the day has none."""

    target: int

    def __str__(self) -> str:
        return f"{self.target}W"

    def day(self, month: Month) -> int:
        """The day, or 0 when this month has none."""
        return month.nearest_workday(self.target) if self.target <= month.length else 0


class LastWeekday(NamedTuple):
    """`6L`: the last Friday."""

    weekday: int

    def __str__(self) -> str:
        return f"{self.weekday + 1}L"

    def day(self, month: Month) -> int:
        """The day of the month."""
        return month.length - (month.weekday(month.length) - self.weekday) % 7


class NthWeekday(NamedTuple):
    """`6#3`: the third Friday."""

    weekday: int
    nth: int

    def __str__(self) -> str:
        return f"{self.weekday + 1}#{self.nth}"

    def day(self, month: Month) -> int:
        """The day, or 0 when this month has none."""
        day = 1 + (self.weekday - month.first) % 7 + 7 * (self.nth - 1)
        return day if day <= month.length else 0


Special = FromEnd | NearestWorkday | LastWeekday | NthWeekday


def month_of(year: int, month: int) -> Month:
    """The shape of that month of that year."""
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return Month(date(year, month, 1).isoweekday() % 7, _LENGTHS[month] + (month == 2 and is_leap))


def months_of(month: int) -> list[Month]:
    """Every shape that this month has in some year."""
    lengths = (28, 29) if month == 2 else (_LENGTHS[month],)
    return [Month(first, length) for first in range(7) for length in lengths]


@lru_cache(maxsize=65_536)
def days(day: Field, weekday: Field, is_either: bool, month: Month) -> int:
    """The days of such a month that match; with `is_either` one matching field is enough."""
    by_day = day.numbers & (1 << month.length + 1) - 1
    by_weekday = 0
    for number in range(1, month.length + 1):
        by_weekday |= (weekday.numbers >> month.weekday(number) & 1) << number
    for special in day.specials:
        by_day |= 1 << special.day(month)
    for special in weekday.specials:
        by_weekday |= 1 << special.day(month)
    # A special sets bit 0 if this month has no such day. Fields with specials are never joined by
    # "or", and the other field is then `?`, which has no bit 0: so the result has none either.
    return by_day | by_weekday if is_either else by_day & by_weekday
