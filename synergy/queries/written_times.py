"""Ranges of time as people write them, for lists of what happened.

A time is an instant (`2026-11-22T10:30`, with an offset or in the given zone; a date is its
midnight), `now`, or a distance from now (`2 hours ago`). Some words name a span: `today`,
`yesterday`, `last night` (18:00 of yesterday to 06:00 of today), and `last hour` or `last 3 days`,
which end now. Hyphens may stand for the spaces. A day is 24 hours, unless a zone says otherwise for
`today` and `yesterday`.

The range is half-open. A span alone in `from` gives its end as well; otherwise it means its
beginning.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from synergy.errors import InvalidValue
from synergy.model.time_range import TimeRange
from synergy.schedule.format.literals import instant
from synergy.schedule.zones import zone

NIGHT = time(18), time(6)  # of yesterday and of today
TIME_HELP = (
    "2026-11-22T10:30, 2026-11-22, now, today, yesterday, last night, last hour, last 3 days, "
    "2 hours ago"
)
_DAY = timedelta(days=1)
_UNITS = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": _DAY,
    "week": timedelta(weeks=1),
}
_DISTANCE = rf"(?:([0-9]{{1,6}}) )?({'|'.join(_UNITS)})s?"
_LAST = re.compile(f"last {_DISTANCE}", re.ASCII)
_AGO = re.compile(f"(?:an? )?{_DISTANCE} ago", re.ASCII)


def parse_times(begin: str | None, end: str | None, zone_name: str, now: datetime) -> TimeRange:
    """The range of time from `begin` to before `end`; None or "" is no limit.

    Raises InvalidValue for an unknown zone, for what is no time, and for an empty range.
    """
    there = zone(zone_name or "UTC")
    first, last = _parse("from", begin, there, now) if begin else (None, None)
    if end:
        last, _ = _parse("to", end, there, now)
    if first is not None and last is not None and last <= first:
        raise InvalidValue(f"from {begin} to {end} is empty: the end is not included")
    return TimeRange(first, last)


def _parse(
    name: str, text: str, there: ZoneInfo, now: datetime
) -> tuple[datetime, datetime | None]:
    """The instant that a text names; with its end, if it names a span."""
    try:
        return _words(" ".join(re.split(r"[ _-]+", text.strip().lower())), there, now) or (
            instant(text, there),
            None,
        )
    except OverflowError:
        raise InvalidValue(f"{name}: {text!r} is before the year 1") from None
    except InvalidValue as error:
        raise InvalidValue(f"{name}: {error}; or one of: {TIME_HELP}") from None


def _words(words: str, there: ZoneInfo, now: datetime) -> tuple[datetime, datetime | None] | None:
    """The time that words name; None if they name none."""
    today = now.astimezone(there).date()
    yesterday = today - _DAY
    match words:
        case "now":
            return now, None
        case "today":
            return _at(today, time.min, there), _at(today + _DAY, time.min, there)
        case "yesterday":
            return _at(yesterday, time.min, there), _at(today, time.min, there)
        case "last night":
            return _at(yesterday, NIGHT[0], there), _at(today, NIGHT[1], there)
    if found := _LAST.fullmatch(words):
        return now - _distance(found), now
    if found := _AGO.fullmatch(words):
        return now - _distance(found), None
    return None


def _at(day: date, clock: time, there: ZoneInfo) -> datetime:
    return datetime.combine(day, clock, there).astimezone(UTC)


def _distance(found: re.Match[str]) -> timedelta:
    return int(found[1] or 1) * _UNITS[found[2]]
