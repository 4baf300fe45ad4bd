"""Windows of local time: `[start, end)` on the clock of a time zone, also across midnight.

A window is open while the local clock shows a time within it. If such a time comes twice,
because the clock is set back, the window is open both times. If the clock skips the start, the
window opens at the end of the gap; if it skips all of the window, it does not open that day.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from synergy.schedule.definition import TimeWindow
from synergy.schedule.zones import zone

_DAY = timedelta(days=1)
_DAYS = 4  # the days that are searched; where a zone skips one, a change may be two days away
_SECOND = timedelta(seconds=1)


def is_open(window: TimeWindow, at: datetime) -> bool:
    """Whether the local clock shows a time within the window at that instant."""
    clock = at.astimezone(zone(window.zone)).time()
    if window.start < window.end:
        return window.start <= clock < window.end
    return clock >= window.start or clock < window.end


def next_change(window: TimeWindow, now: datetime) -> datetime:
    """The first instant after `now` at which the window opens, or closes."""
    utc = now.astimezone(UTC)
    is_open_now = is_open(window, utc)
    later = sorted(at for at in _candidates(window, utc) if at > utc)
    return next(at for at in later if is_open(window, at) != is_open_now)


def _candidates(window: TimeWindow, utc: datetime) -> Iterator[datetime]:
    """Instants of the next days at which the clock shows the start or the end, or is changed."""
    local = zone(window.zone)
    today = utc.astimezone(local).date()
    for day in (today + number * _DAY for number in range(-1, _DAYS)):
        for edge in (window.start, window.end):
            for fold in (0, 1):
                wall = datetime.combine(day, edge, local).replace(fold=fold)
                yield wall.astimezone(UTC)
    for day_on in (utc + number * _DAY for number in range(_DAYS)):
        yield from _clock_changes(local, day_on, day_on + _DAY)


def _clock_changes(local: ZoneInfo, low: datetime, high: datetime) -> Iterator[datetime]:
    """The instant of a clock change in `(low, high]`, which is at most a day; none without one."""
    before = low.astimezone(local).utcoffset()
    if high.astimezone(local).utcoffset() == before:
        return
    low, high = low.replace(microsecond=0), high.replace(microsecond=0)
    while high - low > _SECOND:
        middle = low + (high - low) // _SECOND // 2 * _SECOND
        if middle.astimezone(local).utcoffset() == before:
            low = middle
        else:
            high = middle
    yield high
