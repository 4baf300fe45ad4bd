"""Triggers as text, as in `process interval NAME 'every 60'`: `every`, `at` and `cron`.

`every N` is due at the multiples of N seconds since the Unix epoch, so it needs no state: all
processes compute the same instants, and a restart shifts nothing. `at [D-]HH:MM, ...` is due each
week, or each day where D is missing or `*`; D 0 is Monday. `cron` takes both dialects of
`synergy.schedule.cron.line`.

A trigger is a value: equal triggers are due at the same instants, `str` writes the one
canonical form, and `parse` reads it back to an equal value. It does not know its zone. Managed
processes go by UTC and use `next_after`. Schedules, those of free-run processes included, have a
zone, in which clocks are set, and use `synergy.schedule.due`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from synergy.errors import InvalidValue
from synergy.schedule.cron import line
from synergy.schedule.cron.line import Cron

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST = 366 * 86_400  # seconds; beyond that a date is meant, not a spacing
_TICK = timedelta(seconds=1)
_TIME = re.compile(r"(?:([0-9*])\s*-\s*)?([0-9]{1,2})\s*:\s*([0-9]{2})", re.ASCII)
_EXPECTED = "expected 'every SECONDS', 'at [D-]HH:MM, ...' or 'cron FIELDS'"


@dataclass(frozen=True, slots=True)
class Every:
    """Due at each multiple of `seconds` since the Unix epoch."""

    seconds: int

    def __str__(self) -> str:
        return f"every {self.seconds}"

    def next_after(self, instant: datetime) -> datetime:
        """The first due instant strictly later than `instant`."""
        spacing = timedelta(seconds=self.seconds)
        return _EPOCH + ((instant - _EPOCH) // spacing + 1) * spacing


@dataclass(frozen=True, slots=True, order=True)
class TimeOfDay:
    """A minute of each day, or of one weekday (0 = Monday); -1 means each day."""

    weekday: int
    hour: int
    minute: int

    def __str__(self) -> str:
        day = "" if self.weekday < 0 else f"{self.weekday}-"
        return f"{day}{self.hour:02}:{self.minute:02}"

    def next_local(self, start: datetime) -> datetime:
        """The first such minute that does not begin before `start`, a naive whole second."""
        today = start.replace(hour=self.hour, minute=self.minute, second=0)
        ahead = 0 if self.weekday < 0 else (self.weekday - start.weekday()) % 7
        found = today + timedelta(days=ahead)
        if found >= start:
            return found
        return found + timedelta(days=1 if self.weekday < 0 else 7)


@dataclass(frozen=True, slots=True)
class At:
    """Due at each of these times; they are sorted and none contains another."""

    times: tuple[TimeOfDay, ...]

    def __str__(self) -> str:
        return "at " + ", ".join(map(str, self.times))

    def next_after(self, instant: datetime) -> datetime:
        """The first due instant in UTC strictly later than `instant`."""
        start = instant.astimezone(UTC).replace(microsecond=0, tzinfo=None) + _TICK
        return self.next_local(start).replace(tzinfo=UTC)

    def next_local(self, start: datetime) -> datetime:
        """The first such local time that is not before `start`, a naive whole second."""
        return min(time.next_local(start) for time in self.times)


Trigger = Every | At | Cron


def parse(text: str) -> Trigger:
    """The trigger that `text` describes.

    Raises InvalidValue, with the reason, for anything that is not one of the three forms.
    """
    try:
        return _parse(text)
    except ValueError as error:
        raise InvalidValue(f"trigger {text!r}: {error}") from None


def _parse(text: str) -> Trigger:
    word, rest = [*text.split(maxsplit=1), "", ""][:2]
    match word:
        case "every":
            return _every(rest.strip())
        case "at":
            return _at(rest.split(","))
        case "cron":
            return line.parse(rest)
        case _:
            raise ValueError(_EXPECTED)


def _every(number: str) -> Every:
    if not re.fullmatch(r"[0-9]+", number):
        raise ValueError("after 'every' comes a number of whole seconds, without a unit")
    seconds = int(number)
    if not 1 <= seconds <= _LONGEST:
        raise ValueError(f"the seconds must be 1 to {_LONGEST}")
    return Every(seconds)


def _at(items: Iterable[str]) -> At:
    times = {_time_of_day(item.strip()) for item in items}
    daily = {(time.hour, time.minute) for time in times if time.weekday < 0}
    needed = (t for t in times if t.weekday < 0 or (t.hour, t.minute) not in daily)
    return At(tuple(sorted(needed)))


def _time_of_day(item: str) -> TimeOfDay:
    found = _TIME.fullmatch(item)
    if found is None:
        raise ValueError(f"{item!r} is not a time: expected [D-]HH:MM")
    day, hour, minute = found.groups()
    weekday = -1 if day in (None, "*") else int(day)
    if weekday > 6:
        raise ValueError(f"day {day} of {item!r} must be 0 (Monday) to 6 (Sunday) or *")
    if int(hour) > 23 or int(minute) > 59:
        raise ValueError(f"{item!r} is not a time of day: 00:00 to 23:59")
    return TimeOfDay(weekday, int(hour), int(minute))
