"""When schedules are due across clock changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from synergy.errors import InvalidValue
from synergy.schedule.due import Due, dues, next_due, require_due
from synergy.schedule.trigger import parse

BERLIN = ZoneInfo("Europe/Berlin")
APIA = ZoneInfo("Pacific/Apia")
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def due(text: str, zone: str, after: str) -> Due:
    found = next_due(parse(text), ZoneInfo(zone), utc(after))
    assert found is not None
    return found


# Expression, zone, beginning, and all due times until an end.
VECTORS = [
    ("cron 30 2 * * *", "Europe/Berlin", "2026-03-28T12:00", "2026-03-30T12:00",
     ["2026-03-29T01:00", "2026-03-30T00:30"]),
    ("cron 0 2,3 * * *", "Europe/Berlin", "2026-03-28T12:00", "2026-03-29T12:00",
     ["2026-03-29T01:00"]),
    ("cron 30 2 * * *", "Europe/Berlin", "2026-10-24T12:00", "2026-10-26T12:00",
     ["2026-10-25T00:30", "2026-10-26T01:30"]),
    ("cron */30 * * * *", "Europe/Berlin", "2026-10-24T23:59", "2026-10-25T02:30",
     ["2026-10-25T00:00", "2026-10-25T00:30", "2026-10-25T01:00", "2026-10-25T01:30",
      "2026-10-25T02:00", "2026-10-25T02:30"]),
    ("cron 30 1 * * *", "America/New_York", "2026-10-31T12:00", "2026-11-02T12:00",
     ["2026-11-01T05:30", "2026-11-02T06:30"]),
    ("cron 0 0 * * 0", "America/Santiago", "2026-09-01T00:00", "2026-09-10T00:00",
     ["2026-09-06T04:00"]),
    ("cron 15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00", "2026-10-04T20:00",
     ["2026-10-03T15:30", "2026-10-04T15:15"]),
    ("cron 45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00", "2026-04-05T20:00",
     ["2026-04-04T14:45", "2026-04-05T15:15"]),
    ("cron 0 12 * * *", "Pacific/Apia", "2011-12-29T12:00", "2011-12-31T12:00",
     ["2011-12-29T22:00", "skipped 2011-12-30T10:00", "2011-12-30T22:00"]),
    ("cron 0 9 29 2 *", "UTC", "2026-01-01T00:00", "2031-01-01T00:00",
     ["2028-02-29T09:00"]),
]  # fmt: skip
# Further cases, in the same form.
MORE = [
    # `*` in minutes or hours: skipped local times are not due, repeated ones are due twice.
    ("cron */30 2 * * *", "Europe/Berlin", "2026-03-28T12:00", "2026-03-30T12:00",
     ["2026-03-30T00:00", "2026-03-30T00:30"]),
    ("cron */30 2 * * *", "Europe/Berlin", "2026-10-24T12:00", "2026-10-25T12:00",
     ["2026-10-25T00:00", "2026-10-25T00:30", "2026-10-25T01:00", "2026-10-25T01:30"]),
    ("cron 0 * * * *", "Australia/Lord_Howe", "2026-10-03T14:00", "2026-10-03T17:00",
     ["2026-10-03T14:30", "2026-10-03T16:00", "2026-10-03T17:00"]),
    # Quartz: `0/30` is `*/30`; the same holds for `*` in seconds.
    ("cron 0 0/30 2 * * ?", "Europe/Berlin", "2026-03-28T12:00", "2026-03-30T00:10",
     ["2026-03-30T00:00"]),
    ("cron 0/30 30 2 * * ?", "Europe/Berlin", "2026-10-25T00:00", "2026-10-25T12:00",
     ["2026-10-25T00:30", "2026-10-25T00:30:30", "2026-10-25T01:30", "2026-10-25T01:30:30"]),
    # Quartz, fixed: each local second once.
    ("cron 0,30 30 2 * * ?", "Europe/Berlin", "2026-10-25T00:00", "2026-10-25T12:00",
     ["2026-10-25T00:30", "2026-10-25T00:30:30"]),
    ("cron 0,30 30 2 * * ?", "Europe/Berlin", "2026-03-28T12:00", "2026-03-29T12:00",
     ["2026-03-29T01:00"]),
    ("cron 0 30-45/5 2 * * ?", "Europe/Berlin", "2026-03-28T12:00", "2026-03-29T12:00",
     ["2026-03-29T01:00"]),
    # `at` is fixed.
    ("at 02:30", "Europe/Berlin", "2026-03-28T12:00", "2026-03-30T12:00",
     ["2026-03-29T01:00", "2026-03-30T00:30"]),
    ("at 6-02:30", "Europe/Berlin", "2026-10-20T12:00", "2026-11-02T12:00",
     ["2026-10-25T00:30", "2026-11-01T01:30"]),
    ("at 4-12:00", "Pacific/Apia", "2011-12-25T12:00", "2012-01-07T12:00",
     ["skipped 2011-12-30T10:00", "2012-01-05T22:00"]),
    # Of two due times at the end of a skipped day, the one that exists is due.
    ("cron 0 0 * * *", "Pacific/Apia", "2011-12-29T09:00", "2011-12-31T09:00",
     ["2011-12-29T10:00", "2011-12-30T10:00"]),
    ("cron */5 * 30 12 *", "Pacific/Apia", "2011-12-01T00:00", "2012-12-01T00:00", []),
    # All due times in one gap are due once.
    ("cron 0,12,59 0-23 30 12 *", "Pacific/Apia", "2011-12-01T00:00", "2012-12-01T00:00",
     ["skipped 2011-12-30T10:00"]),
    # Gaps of up to three hours move due times (Casey: 02:00 to 05:00; Troll: two hours).
    ("cron 0 2,4 * * *", "Antarctica/Casey", "2009-10-17T12:00", "2009-10-18T16:00",
     ["2009-10-17T18:00", "2009-10-18T15:00"]),
    ("at 01:30, 02:30", "Antarctica/Troll", "2026-03-28T12:00", "2026-03-29T12:00",
     ["2026-03-29T01:00"]),
    ("at 01:30, 02:30", "Antarctica/Troll", "2026-10-24T12:00", "2026-10-25T12:00",
     ["2026-10-24T23:30", "2026-10-25T00:30"]),
    # `every` does not depend on local time.
    ("every 86400", "Pacific/Apia", "2011-12-29T12:00", "2011-12-31T12:00",
     ["2011-12-30T00:00", "2011-12-31T00:00"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "zone", "after", "until", "expected"), VECTORS + MORE)
def test_due_times_across_clock_changes(
    text: str, zone: str, after: str, until: str, expected: list[str]
) -> None:
    found = dues(parse(text), ZoneInfo(zone), utc(after), utc(until), 100)
    assert [(each.at, each.is_skipped) for each in found] == [
        (utc(at.removeprefix("skipped ")), at.startswith("skipped")) for at in expected
    ]


@pytest.mark.parametrize(
    ("text", "zone", "after", "remark"),
    [
        ("cron 30 2 * * *", "Europe/Berlin", "2026-03-28T12:00",
         "02:30 does not exist on 2026-03-29, runs at 03:00"),
        ("at 02:30", "Europe/Berlin", "2026-03-28T12:00",
         "02:30 does not exist on 2026-03-29, runs at 03:00"),
        ("cron 0 2,3 * * *", "Europe/Berlin", "2026-03-28T12:00",
         "02:00 does not exist on 2026-03-29, runs once at 03:00"),
        ("cron 0,10 2 * * *", "Europe/Berlin", "2026-03-28T12:00",
         "02:00 and 02:10 do not exist on 2026-03-29, runs once at 03:00"),
        ("cron 0,10,20 2 * * *", "Europe/Berlin", "2026-03-28T12:00",
         "02:00, 02:10 and 02:20 do not exist on 2026-03-29, runs once at 03:00"),
        ("cron 0-59 2 * * *", "Europe/Berlin", "2026-03-28T12:00",
         "02:00, 02:01 and more do not exist on 2026-03-29, runs once at 03:00"),
        ("cron 15 30 2 * * ?", "Europe/Berlin", "2026-03-28T12:00",
         "02:30:15 does not exist on 2026-03-29, runs at 03:00"),
        ("cron 0 0 * * 0", "America/Santiago", "2026-09-01T00:00",
         "00:00 does not exist on 2026-09-06, runs at 01:00"),
        ("cron 30 1 * * *", "America/New_York", "2026-10-31T12:00",
         "01:30 comes twice, runs the first time"),
        ("cron */30 1 * * *", "America/New_York", "2026-11-01T05:00",
         "01:30 comes twice, runs both times"),
        ("cron */30 1 * * *", "America/New_York", "2026-11-01T06:00",
         "01:30 comes twice, runs both times"),
        ("cron 0 12 * * *", "Pacific/Apia", "2011-12-30T00:00", "no such local time"),
        ("cron 0 0 * * *", "Pacific/Apia", "2011-12-30T00:00",
         "00:00 on 2011-12-30 does not exist and is skipped"),
        ("cron 30 3 * * *", "Europe/Berlin", "2026-03-28T12:00", ""),
        ("cron 0 3 * * *", "Europe/Berlin", "2026-03-28T12:00", ""),
        ("cron 0 3 * * *", "Europe/Berlin", "2026-10-24T12:00", ""),
        ("every 3600", "Europe/Berlin", "2026-10-25T00:30", ""),
    ],
)  # fmt: skip
def test_a_remark_explains_the_effect_of_a_clock_change(
    text: str, zone: str, after: str, remark: str
) -> None:
    assert due(text, zone, after).remark == remark


def test_the_remark_names_the_next_day_if_the_gap_ends_on_it() -> None:
    # Nuuk sets its clocks forward at 23:00, to 00:00.
    found = due("cron 30 23 * * *", "America/Nuuk", "2025-03-29T12:00")
    assert found.at == utc("2025-03-30T01:00")
    assert found.remark == "23:30 does not exist on 2025-03-29, runs at 00:00 on 2025-03-30"


def test_the_local_time_of_a_due_time_is_what_the_clock_shows() -> None:
    moved = due("cron 30 2 * * *", "Europe/Berlin", "2026-03-28T12:00")
    assert moved.local is not None
    assert moved.local.isoformat() == "2026-03-29T03:00:00+02:00"
    skipped = due("cron 0 12 * * *", "Pacific/Apia", "2011-12-30T00:00")
    assert skipped.local is None
    second_pass = due("cron */30 2 * * *", "Europe/Berlin", "2026-10-25T01:10")
    assert second_pass.local is not None
    assert second_pass.local.isoformat() == "2026-10-25T02:30:00+01:00"


@pytest.mark.parametrize("after", ["2026-10-25T00:30", "2026-10-25T01:00", "2026-10-25T01:30"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cron 30 2 * * *", "2026-10-26T01:30"),
        ("cron 0 3 * * *", "2026-10-25T02:00"),  # the first minute after the second pass
        ("cron 30 2,3 * * *", "2026-10-25T02:30"),
        ("cron 0 0 */12 * * ?", "2026-10-25T11:00"),
    ],
)
def test_a_repeated_local_time_is_due_the_first_time_only(
    text: str, expected: str, after: str
) -> None:
    assert due(text, "Europe/Berlin", after).at == utc(expected)


def test_the_next_due_time_is_strictly_later() -> None:
    trigger, at = parse("cron 30 2 * * *"), utc("2026-07-01T00:30")
    just_before = next_due(trigger, BERLIN, at - timedelta(microseconds=1))
    assert just_before == next_due(trigger, BERLIN, at - DAY + SECOND)
    assert just_before is not None
    assert just_before.at == at
    for after in (at, at + timedelta(microseconds=1)):
        later = next_due(trigger, BERLIN, after)
        assert later is not None
        assert later.at == at + DAY


def test_due_times_exclude_after_include_until_and_obey_the_limit() -> None:
    trigger = parse("cron 0 * * * *")
    after = utc("2026-01-01T00:00")

    def between(hours: int, limit: int) -> list[int]:
        until = after + timedelta(hours=hours)
        return [each.at.hour for each in dues(trigger, BERLIN, after, until, limit)]

    assert between(3, 10) == [1, 2, 3]
    assert between(3, 2) == [1, 2]
    assert between(3, 0) == []
    assert between(0, 10) == []
    assert between(-1, 10) == []
    almost = utc("2026-01-01T02:59:59")
    assert len(list(dues(trigger, BERLIN, after, almost, 10))) == 2


@pytest.mark.parametrize(
    ("text", "after", "due_at"),
    [
        # 29 February on a Sunday: 2032, 2060, 2088, and then, as 2100 is no leap year, 2128.
        ("cron 0 0 29 2 */7", "2026-01-01T00:00", "2032-02-29T00:00"),
        ("cron 0 0 29 2 */7", "2032-02-29T00:00", "2060-02-29T00:00"),
        ("cron 0 0 29 2 */7", "2088-02-29T00:00", "2128-02-29T00:00"),
        ("cron 0 0 0 ? 2 1#5", "2088-02-29T00:00", "2128-02-29T00:00"),
        ("cron 0 0 0 31 12 ? 2099", "1999-12-31T00:00", "2099-12-31T00:00"),
    ],
)
def test_rare_days_are_found_decades_ahead(text: str, after: str, due_at: str) -> None:
    assert due(text, "UTC", after).at == utc(due_at)


@pytest.mark.parametrize(
    ("text", "zone", "after", "reason"),
    [
        ("cron 0 0 0 1 1 ? 2025", "UTC", "2026-01-01T00:00", "the year 2025 is over"),
        ("cron 0 0 0 1 1 ? 2026", "UTC", "2026-01-01T00:00", "the year 2026 is over"),
        ("cron * * * * * ? 2020-2025", "Europe/Berlin", "2025-12-31T23:00",
         "the year 2020-2025 is over"),
        # The hour from 2 to 3 of this Sunday is the one that the clock leaves out.
        ("cron 0 * 2 ? 3 1L", "Europe/Berlin", "2026-01-01T00:00", "local time never comes"),
    ],
)  # fmt: skip
def test_a_trigger_that_is_never_due_again_is_refused_with_the_reason(
    text: str, zone: str, after: str, reason: str
) -> None:
    trigger, place, now = parse(text), ZoneInfo(zone), utc(after)
    assert next_due(trigger, place, now) is None
    assert list(dues(trigger, place, now, now + 1000 * DAY, 10)) == []
    with pytest.raises(InvalidValue, match=reason):
        require_due(trigger, place, now)


def test_a_year_ends_with_its_local_last_second() -> None:
    trigger = parse("cron * * * * * ? 2025")
    before_the_last = utc("2025-12-31T22:59:58")
    assert require_due(trigger, BERLIN, before_the_last).at == utc("2025-12-31T22:59:59")


def test_a_skipped_last_day_is_reported_before_the_end() -> None:
    trigger = parse("cron 0 0 12 30 12 ? 2011")
    (only,) = dues(trigger, APIA, utc("2011-01-01T00:00"), utc("2013-01-01T00:00"), 10)
    assert only == Due(utc("2011-12-30T10:00"), None, True, "no such local time")
