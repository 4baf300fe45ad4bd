"""Windows of local time across clock changes, against a reference that walks through minutes."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synergy.schedule.definition import TimeWindow
from synergy.schedule.time_window import is_open, next_change
from tests.unit.schedule.kit import MINUTE

# Zones, and a day near a clock change.
CHANGES = [
    ("UTC", datetime(2026, 3, 29, tzinfo=UTC)),
    ("Europe/Berlin", datetime(2026, 3, 29, 1, tzinfo=UTC)),
    ("Europe/Berlin", datetime(2026, 10, 25, 1, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 11, 1, 6, tzinfo=UTC)),
    ("America/Santiago", datetime(2026, 9, 6, 4, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 10, 3, 15, 30, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 4, 4, 15, tzinfo=UTC)),
    ("Pacific/Apia", datetime(2011, 12, 30, 10, tzinfo=UTC)),
]


def shows(window: TimeWindow, at: datetime) -> bool:
    """Whether the local minute lies in the window, counted from its start."""
    clock = at.astimezone(ZoneInfo(window.zone))
    first, last = (edge.hour * 60 + edge.minute for edge in (window.start, window.end))
    return (clock.hour * 60 + clock.minute - first) % 1440 < (last - first) % 1440


def walked(window: TimeWindow, now: datetime) -> datetime:
    """The first later minute at which the window opens or closes."""
    later = now.replace(second=0, microsecond=0)
    while shows(window, later) == shows(window, now):
        later += MINUTE
    return later


@pytest.mark.parametrize(
    ("zone", "start", "end", "now", "expected"),
    [
        # Berlin, 2026-03-29: 02:00 to 03:00 does not exist, at 01:00Z
        ("Europe/Berlin", "02:15", "02:45", "2026-03-29T00:00Z", "2026-03-30T00:15Z"),
        ("Europe/Berlin", "02:30", "03:30", "2026-03-29T00:00Z", "2026-03-29T01:00Z"),
        ("Europe/Berlin", "01:30", "02:30", "2026-03-29T00:45Z", "2026-03-29T01:00Z"),
        # Berlin, 2026-10-25: 02:00 to 03:00 comes twice, from 00:00Z and from 01:00Z
        ("Europe/Berlin", "02:15", "02:45", "2026-10-25T00:15Z", "2026-10-25T00:45Z"),
        ("Europe/Berlin", "02:15", "02:45", "2026-10-25T00:45Z", "2026-10-25T01:15Z"),
        ("Europe/Berlin", "02:15", "02:45", "2026-10-25T01:15Z", "2026-10-25T01:45Z"),
        ("Europe/Berlin", "02:30", "03:30", "2026-10-25T00:30Z", "2026-10-25T01:00Z"),
        # Samoa has no 2011-12-30
        ("Pacific/Apia", "09:00", "17:00", "2011-12-30T04:00Z", "2011-12-30T19:00Z"),
        # across midnight
        ("UTC", "22:00", "06:00", "2026-03-10T23:00Z", "2026-03-11T06:00Z"),
        ("UTC", "22:00", "06:00", "2026-03-10T06:00Z", "2026-03-10T22:00Z"),
        ("UTC", "00:00", "06:00", "2026-03-10T06:00Z", "2026-03-11T00:00Z"),
        ("UTC", "18:00", "00:00", "2026-03-10T18:00Z", "2026-03-11T00:00Z"),
    ],
)
def test_the_next_change_is_when_a_window_opens_or_closes(zone, start, end, now, expected):
    window = TimeWindow(time.fromisoformat(start), time.fromisoformat(end), zone)
    assert next_change(window, datetime.fromisoformat(now)) == datetime.fromisoformat(expected)


@given(
    place=st.sampled_from(CHANGES),
    start=st.integers(0, 1439),
    length=st.integers(1, 1439),
    minutes=st.integers(-2880, 1440),
    seconds=st.integers(0, 59),
)
def test_windows_equal_a_walk_over_all_minutes(place, start, length, minutes, seconds):
    zone, change = place
    edges = [time(minute // 60, minute % 60) for minute in (start, (start + length) % 1440)]
    window = TimeWindow(*edges, zone)
    now = change + minutes * MINUTE + timedelta(seconds=seconds)
    assert is_open(window, now) == shows(window, now)
    assert next_change(window, now) == walked(window, now)
