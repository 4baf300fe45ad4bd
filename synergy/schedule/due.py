"""The due times of a trigger in a zone, where clocks are set forward and back.

A trigger matches local times; some local times do not exist, and some come twice. The rules:

- A *rhythm* (a cron line whose second, minute or hour begins with `*` or with Quartz's `a/n`)
  follows elapsed time: it is due whenever the clock shows a matching time. Times that the clock
  skips are not due, times that it shows twice are due twice.
- Anything *fixed* (`at`, `calendar_interval`, other cron lines) is due once for each matching
  local time: the first time that the clock shows it, or, if the clock skips it, at the first
  instant after the gap. Several times within one gap, or at its end, are one due time.
- A gap of more than three hours is no summer time but a day that a country skipped. Due times
  within it are not run, but reported as skipped, once for the gap.
- `every` and `interval` do not depend on the clock.
- A jitter delays each due time that is run.

The search goes from one matching local time to the next, and looks up the zone's offset only for
that time, before and after a possible change of the clock (PEP 495). So the search always ends, and
its cost does not depend on the length of the wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple
from zoneinfo import ZoneInfo

from synergy.errors import InvalidValue
from synergy.schedule.cron.line import HORIZON, Cron
from synergy.schedule.format.literals import readable_duration
from synergy.schedule.interval import CalendarInterval, Interval, Jitter, TimeTrigger, own_jitter
from synergy.schedule.trigger import At, Every

_Fixed = At | Cron | CalendarInterval

_TICK = timedelta(seconds=1)
_LONGEST_MOVE = timedelta(hours=3)
_UTC = ZoneInfo("UTC")
_COMPARED = 100
_COMPARED_FROM = datetime(2000, 1, 1, tzinfo=UTC)
_NAMED = 3  # the most times that a remark names; "and more" stands for others


@dataclass(frozen=True, slots=True)
class Due:
    """A due time.

    `at` is the instant, in UTC; `local` is what the clock of the zone shows then, or None if the
    due time `is_skipped` because there was no such local time. `remark` is the effect of a change
    of the clock, or of jitter, on this due time, in words; usually "".
    """

    at: datetime
    local: datetime | None
    is_skipped: bool
    remark: str


class _Change(NamedTuple):
    """A change of the clock: the instant, and the local times before and after it."""

    at: datetime
    old: datetime  # naive; what it would have shown
    new: datetime  # naive; what it shows


def next_due(
    trigger: TimeTrigger, zone: ZoneInfo, after: datetime, jitter: Jitter | None = None
) -> Due | None:
    """The first due time strictly later than `after`; an interval may have a jitter of its own.

    None if the trigger is not due in the next hundred years, as after the last year it names.
    """
    return _next_due(trigger, zone, after.astimezone(UTC), jitter or own_jitter(trigger))


@lru_cache(10_000)
def _next_due(
    trigger: TimeTrigger, zone: ZoneInfo, after: datetime, jitter: Jitter | None
) -> Due | None:
    """The same for an instant in UTC; cached, because many schedules share their due times."""
    if jitter is not None:
        due = _delayed(trigger, zone, after, jitter)
    else:
        due = _undelayed(trigger, zone, after)
    assert due is None or due.at > after  # else a schedule would be due without end
    return due


def _undelayed(trigger: TimeTrigger, zone: ZoneInfo, after: datetime) -> Due | None:
    if isinstance(trigger, Every | Interval):
        at = trigger.next_after(after)
        return None if at is None else Due(at, at.astimezone(zone), False, "")
    wall = after.astimezone(zone)
    if isinstance(trigger, Cron) and trigger.is_rhythm:
        return _rhythmic(trigger, zone, wall)
    return _fixed(trigger, zone, wall)


def _delayed(trigger: TimeTrigger, zone: ZoneInfo, after: datetime, jitter: Jitter) -> Due | None:
    """The earliest delayed due time later than `after`; undelayed, it may lie before that."""
    found: Due | None = None
    due = _undelayed(trigger, zone, after - jitter.most)
    while due is not None and (found is None or due.at < found.at):
        late = due if due.is_skipped else _late(due, jitter.delay(due.at), zone)
        if late.at > after and (found is None or late.at < found.at):
            found = late
        due = _undelayed(trigger, zone, due.at)
    return found


def _late(due: Due, by: timedelta, zone: ZoneInfo) -> Due:
    if not by:
        return due
    assert due.local is not None
    remark = f"jitter delays {_clock(due.local)} by {readable_duration(by)}"
    at = due.at + by
    return Due(at, at.astimezone(zone), False, "; ".join(filter(None, (due.remark, remark))))


def dues(
    trigger: TimeTrigger,
    zone: ZoneInfo,
    after: datetime,
    until: datetime,
    limit: int,
    jitter: Jitter | None = None,
) -> Iterator[Due]:
    """The due times in `(after, until]`, strictly increasing; the first `limit` of them."""
    for _ in range(limit):
        due = next_due(trigger, zone, after, jitter)
        if due is None or due.at > until:
            return
        yield due
        after = due.at


def require_due(trigger: TimeTrigger, zone: ZoneInfo, now: datetime) -> Due:
    """The next due time; raises InvalidValue if there is none, as when a year is over.

    For new and edited triggers only: a stored one may have come to its end.
    """
    due = next_due(trigger, zone, now)
    if due is None:
        raise InvalidValue(f"trigger '{trigger}' is never due in {zone.key}: {_why_never(trigger)}")
    return due


def shortest_spacing(trigger: TimeTrigger) -> timedelta | None:
    """The shortest time between due times of a trigger; None if it has one due time at most.

    It is that of the first `_COMPARED` due times, on a clock that is never set.
    """
    if isinstance(trigger, Every):
        return timedelta(seconds=trigger.seconds)
    if isinstance(trigger, Interval):
        return trigger.length
    start = _COMPARED_FROM
    if isinstance(trigger, CalendarInterval):
        start = datetime.combine(trigger.start, time(), UTC) - _TICK
    found: list[datetime] = []
    while len(found) < _COMPARED and (due := _undelayed(trigger, _UTC, start)) is not None:
        found.append(start := due.at)
    return min((after - before for before, after in pairwise(found)), default=None)


def _why_never(trigger: TimeTrigger) -> str:
    if isinstance(trigger, Interval | CalendarInterval):
        return "no due time is left before its end"
    year = trigger.year if isinstance(trigger, Cron) else None
    return f"the year {year.text} is over" if year else "its local time never comes"


def _next_local(trigger: _Fixed, start: datetime, last_year: int) -> datetime | None:
    if isinstance(trigger, Cron):
        return trigger.next_local(start, last_year)
    return trigger.next_local(start)


def _fixed(trigger: _Fixed, zone: ZoneInfo, wall: datetime) -> Due | None:
    start = _naive(wall)
    if wall.fold:
        start = _change(start, zone).old - _TICK  # the second pass is over
    found = _next_local(trigger, start + _TICK, wall.year + HORIZON)
    if found is None:
        return None
    before, behind = _offsets(found, zone)
    if before < behind:
        return _in_gap(trigger, found, _change(found, zone), zone)
    remark = f"{_clock(found)} comes twice, runs the first time" if before > behind else ""
    return _due(found, before, zone, remark)


def _in_gap(trigger: _Fixed, found: datetime, gap: _Change, zone: ZoneInfo) -> Due:
    """The due time of all local times within the gap, of which `found` is the first."""
    also_due = _next_local(trigger, gap.new, gap.new.year) == gap.new
    if gap.new - gap.old <= _LONGEST_MOVE:
        return Due(gap.at, _aware(gap, zone), False, _moved(trigger, found, gap, also_due))
    if also_due:
        remark = f"{_clock(found)} on {found.date()} does not exist and is skipped"
        return Due(gap.at, _aware(gap, zone), False, remark)
    return Due(gap.at, None, True, "no such local time")


def _moved(trigger: _Fixed, found: datetime, gap: _Change, also_due: bool) -> str:
    missing: list[str] = []
    local: datetime | None = found
    while local is not None and local < gap.new and len(missing) <= _NAMED:
        missing.append(_clock(local))
        local = _next_local(trigger, local + _TICK, gap.new.year)
    if len(missing) > _NAMED:
        missing[_NAMED - 1 :] = ["more"]
    *firsts, last = missing
    names = f"{', '.join(firsts)} and {last} do" if firsts else f"{last} does"
    once = "once " if firsts or also_due else ""
    other_day = f" on {gap.new.date()}" if gap.new.date() != found.date() else ""
    return f"{names} not exist on {found.date()}, runs {once}at {_clock(gap.new)}{other_day}"


def _rhythmic(trigger: Cron, zone: ZoneInfo, wall: datetime) -> Due | None:
    last_year = wall.year + HORIZON
    start = _naive(wall) + _TICK
    before, behind = _offsets(_naive(wall), zone)
    if before > behind:
        # Within a fold: the rest of this pass, then, after the first one, all of the second.
        fold = _change(_naive(wall), zone)
        passes = ((start, behind),) if wall.fold else ((start, before), (fold.new, behind))
        for begin, offset in passes:
            found = trigger.next_local(begin, last_year)
            if found is not None and found < fold.old:
                return _due(found, offset, zone, f"{_clock(found)} comes twice, runs both times")
        start = fold.old
    found = trigger.next_local(start, last_year)
    while found is not None:
        before, behind = _offsets(found, zone)
        if before >= behind:
            remark = f"{_clock(found)} comes twice, runs both times" if before > behind else ""
            return _due(found, before, zone, remark)
        found = trigger.next_local(_change(found, zone).new, last_year)
    return None


def _due(local: datetime, offset: timedelta, zone: ZoneInfo, remark: str) -> Due:
    at = (local - offset).replace(tzinfo=UTC)
    return Due(at, at.astimezone(zone), False, remark)


def _naive(wall: datetime) -> datetime:
    return wall.replace(microsecond=0, tzinfo=None, fold=0)


def _aware(change: _Change, zone: ZoneInfo) -> datetime:
    return change.at.astimezone(zone)


def _offsets(local: datetime, zone: ZoneInfo) -> tuple[timedelta, timedelta]:
    """The offsets on both sides of the change of the clock that concerns this local time.

    They are equal almost always; the second is greater in a gap and less in a fold.
    """
    before, behind = zone.utcoffset(local), zone.utcoffset(local.replace(fold=1))
    assert before is not None
    assert behind is not None
    return before, behind


def _change(local: datetime, zone: ZoneInfo) -> _Change:
    """The change of the clock that skips or repeats the time `local`."""
    before, behind = _offsets(local, zone)
    low = (local - max(before, behind)).replace(tzinfo=UTC)  # still before the change
    high = (local - min(before, behind)).replace(tzinfo=UTC)  # the change, or after it
    while high - low > _TICK:
        middle = low + (high - low) // _TICK // 2 * _TICK
        if middle.astimezone(zone).utcoffset() == before:
            low = middle
        else:
            high = middle
    naive = high.replace(tzinfo=None)
    return _Change(high, naive + before, naive + behind)


def _clock(local: datetime) -> str:
    return f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"
