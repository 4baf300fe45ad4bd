"""Request templates: plain text with `${name}`, filled in for a due time.

All values come from the due time, not from the time of sending, and follow the calendar of the
template's zone: a day may have 23 or 25 hours, or begin at 01:00. The text is not a language: an
unknown name stays as it is, and filled-in values are not expanded.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime, time, timedelta, tzinfo

OF_PERIODS: Mapping[str, str] = {
    **{name: name for name in ("timeperiod", "start", "end", "generation")},
    "state": "status",
}
"""The names with a value only if a period triggered the schedule, and their fields in the cause.

`state` also has one if a run of a free-run process triggered it.
"""

NAMES = (
    "endOfPreviousDay",
    "processTime",
    "startOfDay",
    "startOfDayOneWeekAgo",
    "startOfHour",
    "startOfPreviousDay",
    "todaysDate",
    "yesterdaysDate",
    "scheduledTime",
    "scheduleName",
    "runId",
    *OF_PERIODS,
)

_NAME = re.compile(r"\$\{([^{}]*)\}")
_WEEK = timedelta(days=7)
_LAST_MOMENT = timedelta(milliseconds=1)


def values(due_at: datetime, zone: tzinfo, **more: str) -> dict[str, str]:
    """The values of the names for a due time in a zone.

    `more` are those that do not depend on the time (`scheduleName`, `runId`, `timeperiod`, ...);
    they override the others.
    """
    instant = due_at.astimezone(UTC)
    local = instant.astimezone(zone)
    today = _start_of_day(local.date(), zone)
    before = (today.astimezone(UTC) - _LAST_MOMENT).astimezone(zone)
    hour = _existing(local.replace(minute=0, second=0, microsecond=0), zone)
    return {
        "endOfPreviousDay": _iso(before),
        "processTime": _iso(local),
        "startOfDay": _iso(today),
        "startOfDayOneWeekAgo": _iso(_start_of_day(local.date() - _WEEK, zone)),
        "startOfHour": _iso(hour),
        "startOfPreviousDay": _iso(_start_of_day(before.date(), zone)),
        "todaysDate": local.date().isoformat(),
        "yesterdaysDate": before.date().isoformat(),
        "scheduledTime": _iso(instant).replace("+00:00", "Z"),
        **more,
    }


def fill(text: str, values: Mapping[str, str]) -> str:
    """`text` with each `${name}` that has a value replaced by it, in one pass."""
    return _NAME.sub(lambda found: values.get(found[1], found[0]), text)


def unknown(text: str, known: Collection[str]) -> list[str]:
    """The unknown names in `${}`, each once, in the order of the text."""
    return [name for name in dict.fromkeys(_NAME.findall(text)) if name not in known]


def _start_of_day(day: date, zone: tzinfo) -> datetime:
    """The first midnight of the day, or the first instant after it if the clock skips it."""
    return _existing(datetime.combine(day, time(), zone), zone)


def _existing(local: datetime, zone: tzinfo) -> datetime:
    """The same instant as the clock shows it: different only for times that the clock skips."""
    return local.astimezone(UTC).astimezone(zone)


def _iso(instant: datetime) -> str:
    return instant.isoformat(timespec="milliseconds")
