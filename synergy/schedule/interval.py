"""Triggers that repeat from a start on: `interval` and `calendar_interval`.

APScheduler computes the repetitions. Its constructors read the clock and the local zone unless they
are given a start and a zone, so both are always given; they never get a jitter, which would be
drawn anew in each call.

A calendar interval is computed in UTC, whose clock is never set, and yields local times. Which
instants these are in the schedule's zone is decided by `synergy.schedule.due`, by one rule for all
triggers; APScheduler would leave out local times that do not exist.

APScheduler is imported by the first trigger that needs it, because it takes 5 MB and few processes
have such a trigger.
"""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

from synergy.schedule.format.literals import spelled_duration, spelled_instant
from synergy.schedule.trigger import Trigger

if TYPE_CHECKING:
    from apscheduler.triggers.calendarinterval import CalendarIntervalTrigger
    from apscheduler.triggers.interval import IntervalTrigger

NO_JITTER = timedelta(0)

_TICK = timedelta(seconds=1)
DAYS = {"weeks": 7, "days": 1}
MONTHS = {"years": 12, "months": 1}
SECONDS = {"weeks": 604_800, "days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Due at `start` and each time that `length` has elapsed since, up to `end`.

    All of it is whole seconds. `seed` is the name of the schedule, see `Jitter`.
    """

    length: timedelta
    start: datetime
    end: datetime | None = None
    jitter: timedelta = NO_JITTER
    seed: str = ""

    def __str__(self) -> str:
        return _shown("interval", self.fields)

    @property
    def count_and_unit(self) -> tuple[int, str]:
        """The length in the largest unit that leaves no rest, as `(2, "weeks")`."""
        return _largest(int(self.length.total_seconds()), SECONDS)

    @property
    def fields(self) -> dict[str, object]:
        """The canonical form, as fields of a schedule file."""
        return _fields(
            self.count_and_unit,
            start=spelled_instant(self.start),
            end=self.end and spelled_instant(self.end),
            jitter=self.jitter,
        )

    def next_after(self, instant: datetime) -> datetime | None:
        """The first due instant in UTC strictly later than `instant`; None after the end."""
        earliest = instant.astimezone(UTC).replace(microsecond=0) + _TICK
        found: datetime | None = _elapsing(self).get_next_fire_time(None, earliest)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarInterval:
    """Due at a time of day on `start` and every so many months, or days, after it, up to `end`.

    Either `months` or `days` is 0. A month without the day of `start` is left out; with
    `is_last_day` the last day of each month is meant, from the month of `start` on.
    `seed` is the name of the schedule, see `Jitter`.
    """

    months: int = 0
    days: int = 0
    at: time = time()
    start: date
    end: date | None = None
    is_last_day: bool = False
    jitter: timedelta = NO_JITTER
    seed: str = ""

    def __str__(self) -> str:
        return _shown("calendar_interval", self.fields)

    @property
    def count_and_unit(self) -> tuple[int, str]:
        """The interval in the largest unit that leaves no rest, as `(3, "months")`."""
        return _largest(self.months, MONTHS) if self.months else _largest(self.days, DAYS)

    @property
    def fields(self) -> dict[str, object]:
        """The canonical form, as fields of a schedule file."""
        return _fields(
            self.count_and_unit,
            day="last" if self.is_last_day else None,
            time=f"{self.at:%H:%M}",
            start=self.start.isoformat(),
            end=self.end and self.end.isoformat(),
            jitter=self.jitter,
        )

    @property
    def leaves_out_months(self) -> bool:
        """Whether some of its months lack the day of the start."""
        if not self.months or self.is_last_day:
            return False
        months = {(self.start.month - 1 + self.months * n) % 12 + 1 for n in range(12)}
        return any(monthrange(2001, month)[1] < self.start.day for month in months)

    def next_local(self, start: datetime) -> datetime | None:
        """The first such local time that is not before `start`, a naive whole second.

        None after the end.
        """
        previous = self._counted_before(start.date())
        while True:
            counted: datetime = _by_calendar(self).get_next_fire_time(previous, start)
            previous = counted.date()
            found = counted.replace(tzinfo=None)
            if self.is_last_day:
                found = found.replace(day=monthrange(found.year, found.month)[1])
            if self.end is not None and found.date() > self.end:
                return None
            if found >= start:
                return found

    @property
    def first_counted(self) -> date:
        """The date that APScheduler counts from; for last days, the first of the month."""
        return self.start.replace(day=1) if self.is_last_day else self.start

    def _counted_before(self, day: date) -> date | None:
        """The last counted date before this one, or one shortly before; None if there is none.

        APScheduler steps from one date to the next; from here it need not start at the first.
        """
        first = self.first_counted
        if self.days:
            passed = ((day - first).days - 1) // self.days
            return first + timedelta(days=passed * self.days) if passed >= 0 else None
        passed = ((day.year - first.year) * 12 + day.month - first.month - 1) // self.months
        while passed >= 0:
            years, month = divmod(first.month - 1 + passed * self.months, 12)
            if first.day <= monthrange(first.year + years, month + 1)[1]:
                return date(first.year + years, month + 1, first.day)
            passed -= 1  # that month lacks the day
        return None


TimeTrigger = Trigger | Interval | CalendarInterval


@dataclass(frozen=True, slots=True)
class Jitter:
    """A delay of each due time by whole seconds, at most `most`; `seed` is the schedule's name."""

    most: timedelta
    seed: str

    def delay(self, at: datetime) -> timedelta:
        """The delay of the due time `at`.

        It depends on the schedule's name and the due time alone. So all agents compute the same
        one, and schedules with the same due times are spread.
        """
        text = f"{self.seed} {at.timestamp():.0f}"
        drawn = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
        return drawn % (int(self.most.total_seconds()) + 1) * _TICK


def own_jitter(trigger: TimeTrigger) -> Jitter | None:
    """The jitter of an interval; None for one without, and for other triggers."""
    if isinstance(trigger, Interval | CalendarInterval) and trigger.jitter:
        return Jitter(trigger.jitter, trigger.seed)
    return None


@lru_cache(1_000)
def _elapsing(interval: Interval) -> IntervalTrigger:
    from apscheduler.triggers.interval import IntervalTrigger

    return IntervalTrigger(
        seconds=int(interval.length.total_seconds()),
        start_date=interval.start,
        end_date=interval.end,
        timezone=UTC,
    )


@lru_cache(1_000)
def _by_calendar(interval: CalendarInterval) -> CalendarIntervalTrigger:
    """The trigger without its end, which applies to the due date, not to the counted date."""
    from apscheduler.triggers.calendarinterval import CalendarIntervalTrigger

    return CalendarIntervalTrigger(
        months=interval.months,
        days=interval.days,
        hour=interval.at.hour,
        minute=interval.at.minute,
        start_date=interval.first_counted,
        timezone=UTC,
    )


def _largest(number: int, units: dict[str, int]) -> tuple[int, str]:
    unit = next(unit for unit, size in units.items() if number % size == 0)
    return number // units[unit], unit


def _fields(count_and_unit: tuple[int, str], **others: object) -> dict[str, object]:
    count, unit = count_and_unit
    written = {
        name: spelled_duration(value) if isinstance(value, timedelta) else value
        for name, value in others.items()
        if value
    }
    return {unit: count, **written}


def _shown(kind: str, fields: dict[str, object]) -> str:
    return f"{kind} {{{', '.join(f'{name}: {value}' for name, value in fields.items())}}}"
