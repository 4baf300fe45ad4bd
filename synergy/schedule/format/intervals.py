"""Reads the triggers `interval` and `calendar_interval`; `every 60` is for `schedule.trigger`."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import TypeVar

from synergy.schedule.definition import Times
from synergy.schedule.format import literals
from synergy.schedule.format.field_reader import NO_TIME, FieldReader, Location, reader_of
from synergy.schedule.format.literals import shown
from synergy.schedule.interval import DAYS, MONTHS, SECONDS, CalendarInterval, Interval

MOST_MONTHS = 120  # ten years, the limit of durations too

Moment = TypeVar("Moment", date, datetime)

_SHORTEST_MONTH = timedelta(days=28)


def read_interval(value: object, location: Location, seed: str) -> Times | None:
    """A trigger `interval`; None without valid length and start. `seed`: the schedule's name."""
    fields = reader_of(value, location, like="{weeks: 2, start: 2026-01-05T08:00:00Z}")
    fields.required("start")
    length = timedelta(seconds=_total(fields, SECONDS, int(literals.LONGEST.total_seconds())))
    if not any(map(fields.has, SECONDS)):
        fields.location.mistake(
            "the length is missing: expected weeks, days, hours, minutes or seconds"
        )
    start = fields.literal("start", literals.whole_second)
    found = Interval(
        length=length,
        start=start or datetime(1970, 1, 1, tzinfo=UTC),
        end=_end(fields, start, fields.literal("end", literals.whole_second)),
        jitter=_jitter(fields, length),
        seed=seed,
    )
    fields.done()
    return Times(found) if length and start else None


def read_calendar_interval(value: object, location: Location, seed: str) -> Times | None:
    """A trigger `calendar_interval`; None without valid length and start. `seed`: as above."""
    fields = reader_of(value, location, like="{months: 3, start: 2026-01-31}")
    fields.required("start")
    months, days = _months_and_days(fields)
    start = fields.literal("start", literals.calendar_date)
    found = CalendarInterval(
        months=months,
        days=days,
        at=fields.literal("time", literals.clock) or time(),
        start=start or date(1970, 1, 1),
        end=_end(fields, start, fields.literal("end", literals.calendar_date)),
        is_last_day=_is_last_day(fields, months),
        jitter=_jitter(fields, months * _SHORTEST_MONTH + timedelta(days=days)),
        seed=seed,
    )
    fields.done()
    return Times(found) if start and (months or days) else None


def _months_and_days(fields: FieldReader) -> tuple[int, int]:
    """The interval in months, or in days; both together are refused as hard to predict."""
    months = _total(fields, MONTHS, MOST_MONTHS)
    days = _total(fields, DAYS, literals.LONGEST.days)
    if not any(map(fields.has, (*MONTHS, *DAYS))):
        fields.location.mistake("the interval is missing: expected years, months, weeks or days")
    elif months and days:
        fields.location.mistake("expected years and months, or weeks and days, not both")
    return months, 0 if months else days


def _total(fields: FieldReader, units: dict[str, int], most: int) -> int:
    """The sum of the fields in the smallest of these units; 0 if it is invalid."""
    total = sum(fields.integer(unit, 0, 1, most // size) * size for unit, size in units.items())
    if total > most:
        fields.location.mistake("the interval is more than ten years")
    return total if total <= most else 0


def _end(fields: FieldReader, start: Moment | None, end: Moment | None) -> Moment | None:
    if start is not None and end is not None and end < start:
        fields.mistake("end", "it is before the start")
    return end


def _is_last_day(fields: FieldReader, months: int) -> bool:
    day = fields.get("day")
    if day is None:
        return False
    if day != "last":
        fields.mistake(
            "day", f"expected last, not {shown(day)}: any other day is that of the start"
        )
    elif not months:
        fields.mistake("day", "the last day is one of a month: expected years or months")
    return True


def _jitter(fields: FieldReader, length: timedelta) -> timedelta:
    """The jitter: at most half of the interval, so that due times keep their order."""
    jitter = fields.duration("jitter", NO_TIME, least=NO_TIME)
    if jitter.microseconds:
        fields.mistake("jitter", f"expected whole seconds, not {shown(fields.get('jitter'))}")
    elif length and jitter > length / 2:
        most = literals.readable_duration(length / 2)
        fields.mistake("jitter", f"expected at most half of the interval, {most}")
    return jitter
