"""Cron lines in two dialects, and the local times that they match.

The due times of a schedule, with zone and summer time, are computed in `schedule.due`.

Five fields are *Unix* cron: 0 and 7 are Sunday, and a day is due when *either* day field
matches, unless one of the two begins with `*`. Six or seven fields are *Quartz*: seconds come
first, exactly one of day of month and day of week is `?`, 1 is Sunday, and the last field is
the year. Where Quartz leaves the meaning open: `31W` matches no day in a month of 30 days, a range
may pass the end of its field (`FRI-MON`), and `L`, `W` and `#` may be items of lists.

APScheduler's cron trigger is not used: it follows the rules of neither dialect, and runs at times
that do not exist or twice where clocks are set; `docs/decisions/0005-dependencies.md` has the list.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from synergy.schedule.cron.days import days, month_of, months_of
from synergy.schedule.cron.field_parser import QUARTZ, UNIX, Field
from synergy.schedule.cron.field_parser import parse as parse_field

HORIZON = 100  # years; 29 February comes on a given weekday at least every 40
NEVER = datetime(9999, 1, 1, tzinfo=UTC)  # the next instant of a trigger that has none

_MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_ON_THE_MINUTE = parse_field(QUARTZ[0], "0")
_TICK = timedelta(seconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """Due at the local times that its fields match; `year` is None if every year matches."""

    dialect: Literal["unix", "quartz"]
    second: Field
    minute: Field
    hour: Field
    day: Field
    month: Field
    weekday: Field
    year: Field | None = None

    def __str__(self) -> str:
        """The canonical form: numbers, single blanks, and a year only if it is restricted."""
        first = () if self.dialect == "unix" else (self.second,)
        last = () if self.year is None else (self.year,)
        fields = (*first, self.minute, self.hour, self.day, self.month, self.weekday, *last)
        return "cron " + " ".join(field.text for field in fields)

    @property
    def is_either(self) -> bool:
        """Whether one matching day field is enough."""
        starred = self.day.text.startswith("*") or self.weekday.text.startswith("*")
        return self.dialect == "unix" and not starred

    @property
    def is_rhythm(self) -> bool:
        """Whether it follows elapsed time, and not the clock.

        It does if its second, minute or hour begins with `*` or, in Quartz, with a step from a
        start: Quartz users write `*/15` as `0/15`, which has to mean the same.
        """
        return self.minute.is_rhythm or self.hour.is_rhythm or self.second.is_rhythm

    def next_after(self, instant: datetime) -> datetime:
        """The first due instant in UTC strictly later than `instant`; NEVER if there is none."""
        start = instant.astimezone(UTC).replace(microsecond=0, tzinfo=None) + _TICK
        found = self.next_local(start, start.year + HORIZON)
        return NEVER if found is None else found.replace(tzinfo=UTC)

    def next_local(self, start: datetime, last_year: int) -> datetime | None:
        """The first matching local time that is not before `start`, a naive whole second.

        None if there is none up to the end of `last_year`.
        """
        if self._has_month(start) and self._days(start.year, start.month) >> start.day & 1:
            time = self._time(start.hour, start.minute, start.second)
            if time is not None:
                hour, minute, second = time
                return start.replace(hour=hour, minute=minute, second=second)
        found = self._date(start.year, start.month, start.day + 1, min(last_year, 9998))
        if found is None:
            return None
        fields = (self.hour, self.minute, self.second)
        hour, minute, second = (_first(field.numbers, 0) for field in fields)
        year, month, day = found
        return start.replace(year, month, day, hour, minute, second)

    def has_days(self) -> bool:
        """Whether any day ever matches."""
        if self.year is None:
            return any(
                days(self.day, self.weekday, self.is_either, shape)
                for month in range(1, 13)
                if self.month.numbers >> month & 1
                for shape in months_of(month)
            )
        return self._date(_first(self.year.numbers, 0), 1, 1, 9998) is not None

    def _has_month(self, at: datetime) -> bool:
        in_year = self.year is None or self.year.numbers >> at.year & 1
        return bool(self.month.numbers >> at.month & 1 and in_year)

    def _days(self, year: int, month: int) -> int:
        return days(self.day, self.weekday, self.is_either, month_of(year, month))

    def _time(self, hour: int, minute: int, second: int) -> tuple[int, int, int] | None:
        """The first matching time of a day that is not before this one."""
        found = _first(self.hour.numbers, hour)
        if found > hour:
            return found, _first(self.minute.numbers, 0), _first(self.second.numbers, 0)
        if found == hour:
            found = _first(self.minute.numbers, minute)
            if found == minute:
                at = _first(self.second.numbers, second)
                if at >= 0:
                    return hour, minute, at
                found = _first(self.minute.numbers, minute + 1)
            if found >= 0:
                return hour, found, _first(self.second.numbers, 0)
            found = _first(self.hour.numbers, hour + 1)
        if found < 0:
            return None
        return found, _first(self.minute.numbers, 0), _first(self.second.numbers, 0)

    def _date(self, year: int, month: int, day: int, last_year: int) -> tuple[int, int, int] | None:
        """The first matching date that is not before this one; `day` may be past the month."""
        while year <= last_year:
            if self.year is None or self.year.numbers >> year & 1:
                at = _first(self.month.numbers, month)
                while at > 0:
                    found = _first(self._days(year, at), day if at == month else 1)
                    if found > 0:
                        return year, at, found
                    at = _first(self.month.numbers, at + 1)
            elif self.year.numbers >> year == 0:
                return None
            year, month, day = year + 1, 1, 1
        return None


def parse(text: str) -> Cron:
    """The parsed line; raises ValueError, with the reason, also if no day ever matches it."""
    words = text.split()
    if len(words) == 1 and words[0].startswith("@"):
        words = _macro(words[0]).split()
    match len(words):
        case 5:
            cron = _unix(words)
        case 6 | 7:
            cron = _quartz(words)
        case _:
            raise ValueError(
                f"cron has five fields (Unix), or six or seven (Quartz), not {len(words)}"
            )
    if not cron.has_days():
        raise ValueError(_never(cron))
    return cron


def _unix(words: list[str]) -> Cron:
    minute, hour, day, month, weekday = map(parse_field, UNIX, words)
    return Cron(
        dialect="unix",
        second=_ON_THE_MINUTE,
        minute=minute,
        hour=hour,
        day=day,
        month=month,
        weekday=weekday,
    )


def _quartz(words: list[str]) -> Cron:
    open_days = [words[3], words[5]].count("?")
    fields = list(map(parse_field, QUARTZ, words))
    if open_days != 1:
        raise ValueError(
            "with seconds (Quartz), exactly one of day of month and day of week must be '?';"
            f" here {'both are' if open_days else 'none is'}"
        )
    second, minute, hour, day, month, weekday, *year = fields
    return Cron(
        dialect="quartz",
        second=second,
        minute=minute,
        hour=hour,
        day=day,
        month=month,
        weekday=weekday,
        year=year[0] if year and year[0].text != "*" else None,
    )


def _macro(word: str) -> str:
    try:
        return _MACROS[word.lower()]
    except KeyError:
        raise ValueError(f"{word!r} is none of {', '.join(_MACROS)}") from None


def _never(cron: Cron) -> str:
    year = "" if cron.year is None else f" in {cron.year.text}"
    if cron.weekday.text in ("*", "?"):
        return f"month {cron.month.text} has no day {cron.day.text}{year}"
    if cron.day.text in ("*", "?"):
        return f"month {cron.month.text} has no weekday {cron.weekday.text}{year}"
    return (
        f"month {cron.month.text} has no day {cron.day.text}"
        f" that is a weekday {cron.weekday.text}{year}"
    )


def _first(numbers: int, low: int) -> int:
    """The smallest of `numbers`, a bit mask, that is not below `low`; -1 if there is none."""
    rest = numbers >> low
    return low + (rest & -rest).bit_length() - 1 if rest else -1
