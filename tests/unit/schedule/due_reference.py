"""A slow reference for due times: it walks through time and reads the clock of the zone.

It shares nothing with the code under test: each line is drawn as a text together with a predicate
for its local times, and the only arithmetic is adding one step to an instant in UTC.
"""

from __future__ import annotations

import calendar
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)
ZONES = (
    "Europe/Berlin",
    "America/New_York",
    "America/Santiago",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Asia/Kathmandu",
    "UTC",
)


@dataclass(frozen=True)
class Line:
    """A trigger as people write it, and whether a naive local time matches it."""

    text: str
    matches: Callable[[datetime], bool]
    is_rhythm: bool = False


@dataclass(frozen=True)
class Expected:
    at: datetime
    is_skipped: bool
    is_remarked: bool


def walk(
    line: Line, zone: ZoneInfo, start: datetime, end: datetime, step: timedelta
) -> list[Expected]:
    """Returns all due times in `(start, end]`, which are whole steps in UTC."""
    found = []
    at, shown = start, start.astimezone(zone).replace(tzinfo=None, fold=0)
    while at < end:
        at += step
        wall = at.astimezone(zone)
        before, shown = shown, wall.replace(tzinfo=None, fold=0)
        missing = [local for local in between(before, shown, step) if line.matches(local)]
        if line.matches(shown) and (line.is_rhythm or wall.fold == 0):
            is_twice = wall.utcoffset() != wall.replace(fold=1 - wall.fold).utcoffset()
            is_moved = bool(missing) and not line.is_rhythm
            found.append(Expected(at, is_skipped=False, is_remarked=is_twice or is_moved))
        elif missing and not line.is_rhythm:
            is_long = shown - before - step > timedelta(hours=3)
            found.append(Expected(at, is_skipped=is_long, is_remarked=True))
    return found


def between(before: datetime, shown: datetime, step: timedelta) -> list[datetime]:
    """Returns the local times that the clock skipped."""
    missing = []
    while before + step < shown:
        before += step
        missing.append(before)
    return missing


def changes(zone: ZoneInfo) -> list[datetime]:
    """Returns the first minute after each change of the clock, from 2005 to 2037."""
    found = []
    at = datetime(2005, 1, 1, tzinfo=UTC)
    while at.year < 2038:
        offset, later = at.astimezone(zone).utcoffset(), at + timedelta(days=7)
        if later.astimezone(zone).utcoffset() != offset:
            for step in (timedelta(days=1), timedelta(hours=1), MINUTE):
                while (at + step).astimezone(zone).utcoffset() == offset:
                    at += step
            found.append(at + MINUTE)
        at = later
    return found


# Fields, drawn as their text and the numbers that it means.

Drawn = tuple[str, frozenset[int]]


@st.composite
def fields(draw: st.DrawFn, low: int, high: int, often: tuple[int, int]) -> Drawn:
    """A field; its numbers are mostly taken from the span `often`."""
    number = st.one_of(st.integers(*often), st.integers(*often), st.integers(low, high))
    match draw(st.sampled_from(["*", "step", "list", "list", "range"])):
        case "*":
            return "*", frozenset(range(low, high + 1))
        case "step":
            step = draw(st.sampled_from([2, 3, 5, 15, 20, 30]))
            step = min(step, high - low + 1)
            return f"*/{step}", frozenset(range(low, high + 1, step))
        case "list":
            numbers = draw(st.lists(number, min_size=1, max_size=3))
            return ",".join(map(str, numbers)), frozenset(numbers)
        case _:
            first, last = sorted((draw(number), draw(number)))
            step = draw(st.integers(1, 4))
            return f"{first}-{last}/{step}", frozenset(range(first, last + 1, step))


@st.composite
def steps_from(draw: st.DrawFn, low: int, high: int) -> Drawn:
    """Quartz's `a/n`."""
    start, step = draw(st.integers(low, high)), draw(st.integers(1, high - low))
    return f"{start}/{step}", frozenset(range(start, high + 1, step))


minutes = fields(0, 59, (0, 59))
hours = fields(0, 23, (0, 4))
EVERY_DAY = ("*", frozenset(range(32)))
days = st.one_of(st.just(EVERY_DAY), fields(1, 31, (1, 31)))
weekdays = st.one_of(st.just(EVERY_DAY), fields(0, 7, (0, 6)))


@st.composite
def unix_lines(draw: st.DrawFn) -> Line:
    minute, hour, day, weekday = draw(minutes), draw(hours), draw(days), draw(weekdays)
    sundays = {number % 7 for number in weekday[1]}
    is_and = day[0].startswith("*") or weekday[0].startswith("*")

    def matches(at: datetime) -> bool:
        if at.minute not in minute[1] or at.hour not in hour[1]:
            return False
        by_day, by_weekday = at.day in day[1], at.isoweekday() % 7 in sundays
        return (by_day and by_weekday) if is_and else (by_day or by_weekday)

    text = f"cron {minute[0]} {hour[0]} {day[0]} * {weekday[0]}"
    return Line(text, matches, minute[0].startswith("*") or hour[0].startswith("*"))


@st.composite
def quartz_lines(draw: st.DrawFn) -> Line:
    """Lines with seconds, due on each day."""
    second = draw(st.one_of(fields(0, 59, (0, 59)), steps_from(0, 59), st.just(only(0))))
    minute = draw(st.one_of(fields(0, 59, (0, 59)), steps_from(0, 59)))
    hour = draw(st.one_of(hours, steps_from(0, 23)))

    def matches(at: datetime) -> bool:
        return at.second in second[1] and at.minute in minute[1] and at.hour in hour[1]

    is_rhythm = any(begins_a_rhythm(text) for text, _ in (second, minute, hour))
    return Line(f"cron {second[0]} {minute[0]} {hour[0]} * * ?", matches, is_rhythm)


def begins_a_rhythm(text: str) -> bool:
    """`*`, `*/n` and `a/n`, but not `a-b/n` or `a,b`."""
    start, slash, _ = text.partition("/")
    return start == "*" or (start.isdigit() and slash == "/")


def only(number: int) -> Drawn:
    return str(number), frozenset([number])


@st.composite
def at_lines(draw: st.DrawFn) -> Line:
    times = draw(
        st.lists(
            st.tuples(st.integers(-1, 6), st.integers(0, 4), st.integers(0, 59)),
            min_size=1,
            max_size=4,
        )
    )

    def matches(at: datetime) -> bool:
        return any(
            (at.hour, at.minute) == (hour, minute) and day in (-1, at.weekday())
            for day, hour, minute in times
        )

    items = (f"{'*' if day < 0 else day}-{hour}:{minute:02}" for day, hour, minute in times)
    return Line("at " + ",".join(items), matches)


# Days that depend on the month, by looking at all of its days.


def month_days(at: date) -> list[date]:
    length = calendar.monthrange(at.year, at.month)[1]
    return [at.replace(day=number) for number in range(1, length + 1)]


def is_from_end(at: date, back: int) -> bool:
    return month_days(at)[::-1][back : back + 1] == [at]


def is_nearest_workday(at: date, target: int) -> bool:
    """Whether `at` is the workday of its month nearest to the day `target`, if that exists."""
    month = month_days(at)
    if not 1 <= target <= len(month):
        return False
    workdays = [day for day in month if day.isoweekday() <= 5]
    return min(workdays, key=lambda day: abs(day.day - target)) == at


def is_last_weekday(at: date, isoweekday: int) -> bool:
    return [day for day in month_days(at) if day.isoweekday() == isoweekday][-1] == at


def is_nth_weekday(at: date, isoweekday: int, nth: int) -> bool:
    same = [day for day in month_days(at) if day.isoweekday() == isoweekday]
    return same[nth - 1 : nth] == [at]
