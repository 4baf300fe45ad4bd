"""Templates: all names, days of 23 and 25 hours, and unusual texts."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synergy.schedule.request_template import NAMES, OF_PERIODS, fill, unknown, values

LOS_ANGELES = ZoneInfo("America/Los_Angeles")
MILLISECOND = timedelta(milliseconds=1)


def at(text: str, zone: str = "America/Los_Angeles") -> dict[str, str]:
    return values(datetime.fromisoformat(text), ZoneInfo(zone))


def test_all_names_of_a_due_time_in_los_angeles() -> None:
    assert at("2018-03-28T04:21:45.862Z") == {
        "endOfPreviousDay": "2018-03-26T23:59:59.999-07:00",
        "processTime": "2018-03-27T21:21:45.862-07:00",
        "startOfDay": "2018-03-27T00:00:00.000-07:00",
        "startOfDayOneWeekAgo": "2018-03-20T00:00:00.000-07:00",
        "startOfHour": "2018-03-27T21:00:00.000-07:00",
        "startOfPreviousDay": "2018-03-26T00:00:00.000-07:00",
        "todaysDate": "2018-03-27",
        "yesterdaysDate": "2018-03-26",
        "scheduledTime": "2018-03-28T04:21:45.862Z",
    }


def test_the_previous_day_may_have_23_hours() -> None:
    """2018-03-11 had 23 hours in Los Angeles."""
    found = at("2018-03-12T19:00:00Z")
    assert found["startOfDay"] == "2018-03-12T00:00:00.000-07:00"
    assert found["endOfPreviousDay"] == "2018-03-11T23:59:59.999-07:00"
    assert found["startOfPreviousDay"] == "2018-03-11T00:00:00.000-08:00"
    assert found["startOfDayOneWeekAgo"] == "2018-03-05T00:00:00.000-08:00"


def test_one_week_ago_is_seven_calendar_days() -> None:
    """168 hours before Monday 00:30 it was still Sunday, because of the clock change."""
    found = at("2018-03-12T07:30:00Z")
    assert found["processTime"] == "2018-03-12T00:30:00.000-07:00"
    assert found["startOfDayOneWeekAgo"] == "2018-03-05T00:00:00.000-08:00"


def test_the_previous_day_may_have_25_hours() -> None:
    """2018-11-04 had 25 hours in Los Angeles."""
    found = at("2018-11-05T08:00:00Z")
    assert found["processTime"] == found["startOfDay"] == "2018-11-05T00:00:00.000-08:00"
    assert found["startOfPreviousDay"] == "2018-11-04T00:00:00.000-07:00"
    assert at("2018-11-05T07:59:59.999Z")["todaysDate"] == "2018-11-04"


@pytest.mark.parametrize(("instant", "offset"), [("08:30:10", "-07:00"), ("09:30:10", "-08:00")])
def test_the_repeated_hour_keeps_its_offset(instant: str, offset: str) -> None:
    found = at(f"2018-11-04T{instant}Z")
    assert found["processTime"] == f"2018-11-04T01:30:10.000{offset}"
    assert found["startOfHour"] == f"2018-11-04T01:00:00.000{offset}"
    assert found["startOfDay"] == "2018-11-04T00:00:00.000-07:00"


def test_a_day_may_begin_at_01_00() -> None:
    """In Santiago 2026-09-05 24:00 was followed by 2026-09-06 01:00."""
    found = at("2026-09-06T12:00:00Z", "America/Santiago")
    assert found["startOfDay"] == "2026-09-06T01:00:00.000-03:00"
    assert found["endOfPreviousDay"] == "2026-09-05T23:59:59.999-04:00"
    assert found["yesterdaysDate"] == "2026-09-05"
    week = at("2026-09-13T12:00:00Z", "America/Santiago")
    assert week["startOfDayOneWeekAgo"] == "2026-09-06T01:00:00.000-03:00"


def test_a_day_may_end_twice() -> None:
    """In Santiago 2026-04-04 24:00 was 23:00 again; the day ends the second time."""
    found = at("2026-04-05T12:00:00Z", "America/Santiago")
    assert found["startOfDay"] == "2026-04-05T00:00:00.000-04:00"
    assert found["endOfPreviousDay"] == "2026-04-04T23:59:59.999-04:00"
    assert found["startOfPreviousDay"] == "2026-04-04T00:00:00.000-03:00"


def test_a_day_may_begin_twice() -> None:
    """In Havana 2026-11-01 01:00 was 00:00 again; the day begins the first time."""
    found = at("2026-11-01T05:30:00Z", "America/Havana")
    assert found["processTime"] == "2026-11-01T00:30:00.000-05:00"
    assert found["startOfHour"] == "2026-11-01T00:00:00.000-05:00"
    assert found["startOfDay"] == "2026-11-01T00:00:00.000-04:00"
    assert found["endOfPreviousDay"] == "2026-10-31T23:59:59.999-04:00"


def test_a_day_may_be_missing() -> None:
    """In Apia 2011-12-29 was followed by 2011-12-31: the previous day is one that existed."""
    found = at("2011-12-31T12:00:00+14:00", "Pacific/Apia")
    assert found["startOfDay"] == "2011-12-31T00:00:00.000+14:00"
    assert found["endOfPreviousDay"] == "2011-12-29T23:59:59.999-10:00"
    assert found["startOfPreviousDay"] == "2011-12-29T00:00:00.000-10:00"
    assert (found["todaysDate"], found["yesterdaysDate"]) == ("2011-12-31", "2011-12-29")


def test_an_hour_may_begin_at_half_past() -> None:
    """On Lord Howe Island 2026-10-04 02:00 was 02:30 at once."""
    found = at("2026-10-03T15:45:00Z", "Australia/Lord_Howe")
    assert found["processTime"] == "2026-10-04T02:45:00.000+11:00"
    assert found["startOfHour"] == "2026-10-04T02:30:00.000+11:00"


def test_milliseconds_are_truncated() -> None:
    found = at("2026-11-21T23:59:59.999999Z", "UTC")
    assert found["processTime"] == "2026-11-21T23:59:59.999+00:00"
    assert found["scheduledTime"] == "2026-11-21T23:59:59.999Z"


def test_values_that_do_not_depend_on_the_time_are_added() -> None:
    more = dict.fromkeys((*OF_PERIODS, "scheduleName", "runId"), "x")
    found = values(datetime(2026, 11, 21, tzinfo=UTC), UTC, **more, scheduledTime="y")
    assert set(found) == set(NAMES)
    assert (found["runId"], found["scheduledTime"]) == ("x", "y")


# The calendar, by plain arithmetic

ZONES = [
    "America/Los_Angeles", "Europe/Berlin", "Asia/Kathmandu", "Australia/Lord_Howe",
    "America/Santiago", "America/Havana", "Africa/Casablanca", "Asia/Beirut", "UTC",
]  # fmt: skip
seconds = st.integers(0, 65 * 366 * 86_400)  # 1970 to 2035
changes = st.sampled_from(
    [
        datetime(2026, month, day, tzinfo=UTC)
        for month, day in ((3, 8), (3, 29), (4, 5), (9, 6), (10, 4), (10, 25), (11, 1))
    ]
)
instants = st.one_of(
    st.builds(lambda s, ms: datetime.fromtimestamp(s, UTC) + ms * MILLISECOND, seconds,
              st.integers(0, 999)),
    st.builds(lambda day, minutes: day + timedelta(minutes=minutes), changes,
              st.integers(-2 * 1440, 2 * 1440)),
)  # fmt: skip


def first_of_day(day: date, zone: tzinfo) -> datetime:
    """The first existing minute of a day, found by trying all candidates."""
    minute = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(hours=15)
    while minute.astimezone(zone).date() < day:
        minute += timedelta(minutes=15)
    return minute  # in UTC: a repeated local time equals no time of another zone


@given(instants, st.sampled_from(ZONES))
def test_days_equal_a_walk_over_all_quarters_of_an_hour(due: datetime, name: str) -> None:
    zone = ZoneInfo(name)
    local = due.astimezone(zone)
    today = local.date()
    found = values(due, zone)
    read = {
        name: datetime.fromisoformat(found[name]) for name in NAMES if "T" in found.get(name, "")
    }
    assert found["todaysDate"] == today.isoformat()
    assert found["yesterdaysDate"] == (today - timedelta(days=1)).isoformat()
    assert read["processTime"] == read["scheduledTime"] == due
    assert read["startOfDay"] == first_of_day(today, zone)
    assert read["startOfPreviousDay"] == first_of_day(today - timedelta(days=1), zone)
    assert read["startOfDayOneWeekAgo"] == first_of_day(today - timedelta(days=7), zone)
    assert read["endOfPreviousDay"] == read["startOfDay"].astimezone(UTC) - MILLISECOND
    hour = read["startOfHour"].astimezone(zone)
    assert (hour.date(), hour.hour) == (today, local.hour)
    assert timedelta(0) <= due - hour < timedelta(hours=1.5)


@given(instants, st.sampled_from(ZONES))
def test_all_instants_have_milliseconds_and_a_numeric_offset(due: datetime, name: str) -> None:
    for key, text in values(due, ZoneInfo(name)).items():
        if key == "scheduledTime":
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", text)
        elif key.endswith("Date"):
            assert re.fullmatch(r"\d{4}-\d\d-\d\d", text)
        else:
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d", text)


# Filling in


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("", ""),
        ("no name", "no name"),
        ("${a}", "1"),
        ('{"x": "${a}", "y": "${a}${b}"}', '{"x": "1", "y": "1${a}"}'),
        ("${A} ${ a} ${a } ${}", "${A} ${ a} ${a } ${}"),
        ("${a:-x} ${a+1} ${a.b}", "${a:-x} ${a+1} ${a.b}"),
        ("$a {a} $${a} \\${a} ${{a}} ${a", "$a {a} $1 \\1 ${{a}} ${a"),
        ("${${a}}", "${1}"),
        ("${slash}", "\\1\\g<0>"),
    ],
)
def test_text_is_filled_in_one_pass_without_expressions(text: str, filled: str) -> None:
    assert fill(text, {"a": "1", "b": "${a}", "slash": "\\1\\g<0>"}) == filled


@given(st.text(st.sampled_from("${}ab \n\\")))
def test_filling_in_equals_replacing_each_name(text: str) -> None:
    assert fill(text, {"a": "1", "b": "2"}) == text.replace("${a}", "1").replace("${b}", "2")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("${a} ${b}", []),
        ("${c} ${a} ${d} ${c}", ["c", "d"]),
        ("${A} ${} ${ a }", ["A", "", " a "]),
        ("${a", []),
        ("$a {c}", []),
    ],
)
def test_unknown_names_are_listed_once_in_order(text: str, names: list[str]) -> None:
    assert unknown(text, ("a", "b")) == names


def test_all_known_names_are_filled_in() -> None:
    text = " ".join(f"${{{name}}}" for name in NAMES)
    assert unknown(text, NAMES) == []
    assert "$" not in fill(text, dict.fromkeys(NAMES, "x"))


def test_a_large_text_with_unclosed_placeholders_is_left_unchanged() -> None:
    assert fill("${" * 4_000_000, {}) == "${" * 4_000_000
    assert unknown("${" + "a" * 8_000_000, ()) == []
