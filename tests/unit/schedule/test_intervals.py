"""When `interval` and `calendar_interval` are due, by examples."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from synergy.errors import InvalidValue
from synergy.schedule.due import dues, next_due, require_due
from synergy.schedule.format.describe import describe
from synergy.schedule.interval import CalendarInterval, Interval, TimeTrigger, own_jitter

BERLIN, NEW_YORK, APIA = map(ZoneInfo, ("Europe/Berlin", "America/New_York", "Pacific/Apia"))
LONG = timedelta(days=40_000)
TWO_WEEKS = Interval(length=timedelta(days=14), start=datetime(2026, 3, 16, 8, tzinfo=UTC))
QUARTERS = CalendarInterval(months=3, at=time(6), start=date(2023, 11, 30), is_last_day=True)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def local(trigger: TimeTrigger, zone: ZoneInfo, after: datetime, number: int) -> list[str]:
    """The local times of the next due times; `-` for a local time that does not exist."""
    found = dues(trigger, zone, after, after + LONG, number)
    return [f"{due.local:%Y-%m-%d %H:%M %Z}" if due.local else "-" for due in found]


def test_an_interval_of_two_weeks_is_336_hours() -> None:
    assert local(TWO_WEEKS, BERLIN, utc("2026-01-01"), 3) == [
        "2026-03-16 09:00 CET",
        "2026-03-30 10:00 CEST",
        "2026-04-13 10:00 CEST",
    ]


def test_a_calendar_interval_of_two_weeks_keeps_the_time_of_day() -> None:
    trigger = CalendarInterval(days=14, at=time(8), start=date(2026, 3, 16))
    assert local(trigger, BERLIN, utc("2026-01-01"), 3) == [
        "2026-03-16 08:00 CET",
        "2026-03-30 08:00 CEST",
        "2026-04-13 08:00 CEST",
    ]


@pytest.mark.parametrize("zone", [BERLIN, NEW_YORK])
def test_day_last_is_the_last_day_of_every_third_month(zone: ZoneInfo) -> None:
    shown = [text[:16] for text in local(QUARTERS, zone, utc("2023-01-01"), 6)]
    assert shown == [
        "2023-11-30 06:00",
        "2024-02-29 06:00",
        "2024-05-31 06:00",
        "2024-08-31 06:00",
        "2024-11-30 06:00",
        "2025-02-28 06:00",
    ]


@pytest.mark.parametrize(
    ("start", "months", "days"),
    [
        (date(2026, 1, 31), 1, ["01-31", "03-31", "05-31", "07-31", "08-31"]),
        (date(2026, 1, 30), 1, ["01-30", "03-30", "04-30", "05-30", "06-30"]),
        (date(2026, 1, 28), 1, ["01-28", "02-28", "03-28", "04-28", "05-28"]),
        (date(2024, 2, 29), 12, ["02-29"] * 5),
    ],
)
def test_a_month_without_the_day_is_left_out(start: date, months: int, days: list[str]) -> None:
    trigger = CalendarInterval(months=months, start=start)
    assert [text[5:10] for text in local(trigger, BERLIN, utc("2023-01-01"), 5)] == days
    assert trigger.leaves_out_months is (start.day > 28)


def test_a_yearly_trigger_on_29_february_is_due_in_leap_years_only() -> None:
    trigger = CalendarInterval(months=12, start=date(2088, 2, 29))
    assert [text[:4] for text in local(trigger, BERLIN, utc("2088-01-01"), 4)] == [
        "2088", "2092", "2096", "2104",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("zone", "start", "at", "expected"),
    [
        (BERLIN, date(2026, 3, 28), time(2, 30),
         ["2026-03-28 02:30 CET", "2026-03-29 03:00 CEST", "2026-03-30 02:30 CEST"]),
        (BERLIN, date(2026, 10, 24), time(2, 30),
         ["2026-10-24 02:30 CEST", "2026-10-25 02:30 CEST", "2026-10-26 02:30 CET"]),
        (NEW_YORK, date(2026, 3, 7), time(2),
         ["2026-03-07 02:00 EST", "2026-03-08 03:00 EDT", "2026-03-09 02:00 EDT"]),
        (NEW_YORK, date(2026, 10, 31), time(1, 59),
         ["2026-10-31 01:59 EDT", "2026-11-01 01:59 EDT", "2026-11-02 01:59 EST"]),
        (ZoneInfo("America/Nuuk"), date(2024, 3, 29), time(23, 30),
         ["2024-03-29 23:30 -02", "2024-03-31 00:00 -01", "2024-03-31 23:30 -01"]),
        (APIA, date(2011, 12, 29), time(12),
         ["2011-12-29 12:00 -10", "-", "2011-12-31 12:00 +14"]),
    ],
)  # fmt: skip
def test_skipped_local_times_move_and_repeated_ones_are_due_once(
    zone: ZoneInfo, start: date, at: time, expected: list[str]
) -> None:
    trigger = CalendarInterval(days=1, at=at, start=start)
    assert local(trigger, zone, utc("2011-01-01"), 3) == expected


def test_an_interval_is_due_within_the_day_that_samoa_skipped() -> None:
    trigger = Interval(length=timedelta(hours=6), start=utc("2011-12-30 04:00"))
    assert local(trigger, APIA, utc("2011-12-30 03:59"), 3) == [
        "2011-12-29 18:00 -10",
        "2011-12-31 00:00 +14",
        "2011-12-31 06:00 +14",
    ]


def test_an_interval_is_due_at_its_start_and_at_its_end() -> None:
    end = TWO_WEEKS.start + 2 * TWO_WEEKS.length
    trigger = Interval(length=TWO_WEEKS.length, start=TWO_WEEKS.start, end=end)
    just_before = TWO_WEEKS.start - timedelta(microseconds=1)
    found = [due.at for due in dues(trigger, BERLIN, just_before, end + LONG, 9)]
    assert found == [TWO_WEEKS.start, TWO_WEEKS.start + TWO_WEEKS.length, end]


@pytest.mark.parametrize("ahead", [timedelta(microseconds=1), timedelta(seconds=1), LONG])
@pytest.mark.parametrize("zone", [BERLIN, NEW_YORK])
def test_a_due_time_is_found_from_just_before_it(zone: ZoneInfo, ahead: timedelta) -> None:
    trigger = CalendarInterval(days=1, at=time(6), start=date(2026, 3, 16))
    at = datetime(2026, 3, 16, 6, tzinfo=zone).astimezone(UTC)
    due = next_due(trigger, zone, at - ahead)
    assert due is not None
    assert due.at == at


@pytest.mark.parametrize(("end", "count"), [(date(2024, 5, 31), 3), (date(2024, 5, 30), 2)])
def test_a_due_time_on_the_end_date_is_the_last(end: date, count: int) -> None:
    trigger = CalendarInterval(
        months=3, at=time(6), start=QUARTERS.start, end=end, is_last_day=True
    )
    assert len(local(trigger, BERLIN, utc("2023-01-01"), 9)) == count


@pytest.mark.parametrize(
    "trigger",
    [
        Interval(length=timedelta(days=1), start=utc("2026-01-01"), end=utc("2026-02-01")),
        CalendarInterval(days=1, start=date(2026, 1, 1), end=date(2026, 2, 1)),
    ],
)
def test_a_trigger_that_has_ended_is_refused(trigger: TimeTrigger) -> None:
    with pytest.raises(InvalidValue, match="never due in UTC: no due time is left before its end"):
        require_due(trigger, ZoneInfo("UTC"), utc("2026-02-02"))


def calls_of(work: Callable[[], object]) -> int:
    """Returns the number of function calls."""
    count = 0

    def profile(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    "trigger",
    [
        Interval(length=timedelta(hours=36), start=utc("1970-01-01 05:00")),
        CalendarInterval(days=1, at=time(6), start=date(1970, 1, 1)),
        CalendarInterval(months=1, at=time(6), start=date(1970, 1, 31)),
        CalendarInterval(months=1, at=time(6), start=date(1970, 1, 31), is_last_day=True),
    ],
)
def test_the_cost_does_not_grow_with_the_distance_from_the_start(trigger: TimeTrigger) -> None:
    def cost(after: str) -> int:
        return calls_of(lambda: next_due(trigger, BERLIN, utc(after)))

    cost("1969-01-01")  # imports
    assert cost("2960-05-01 12:00") <= cost("1971-05-01 12:00") + 20


JITTERY = Interval(
    length=timedelta(hours=1), start=utc("2026-01-01"), jitter=timedelta(minutes=30), seed="nightly"
)


def test_the_jitter_of_a_due_time_never_changes() -> None:
    """The key of a run contains its due time, so another delay would create another run."""
    delays = [
        own_jitter(JITTERY).delay(utc(f"2026-01-01 0{hour}:00")).total_seconds()
        for hour in range(4)
    ]
    assert delays == [572, 1386, 1421, 1463]


def test_jitter_spreads_schedules_and_is_described() -> None:
    other = Interval(
        length=JITTERY.length, start=JITTERY.start, jitter=JITTERY.jitter, seed="other"
    )
    mine, theirs = (next_due(one, BERLIN, utc("2026-01-01 00:59")) for one in (JITTERY, other))
    assert mine is not None
    assert theirs is not None
    assert mine.at != theirs.at
    assert mine.remark == "jitter delays 02:00 by 23m6s"


def test_jitter_may_delay_a_due_time_past_a_skipped_day() -> None:
    trigger = CalendarInterval(
        days=1, at=time(18), start=date(2011, 12, 29), jitter=timedelta(hours=12), seed="t"
    )
    assert local(trigger, APIA, utc("2011-12-29"), 3) == [
        "-", "2011-12-31 03:37 +14", "2011-12-31 19:44 +14",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("trigger", "words"),
    [
        (TWO_WEEKS, "every 2 weeks from 2026-03-16T08:00:00Z"),
        (JITTERY, "every hour from 2026-01-01T00:00:00Z, up to 30m later"),
        (QUARTERS, "at 06:00 on the last day every 3 months from 2023-11-30, Europe/Berlin"),
        (CalendarInterval(days=10, start=date(2026, 1, 1), end=date(2026, 5, 1)),
         "at 00:00 every 10 days from 2026-01-01 to 2026-05-01, Europe/Berlin"),
        (CalendarInterval(months=24, start=date(2026, 1, 1)),
         "at 00:00 every 2 years from 2026-01-01, Europe/Berlin"),
    ],
)  # fmt: skip
def test_intervals_are_described_in_words(trigger: TimeTrigger, words: str) -> None:
    assert describe(trigger, BERLIN) == words
