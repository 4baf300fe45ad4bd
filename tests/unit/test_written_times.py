"""Ranges of time as people write them: instants, words and distances, in a zone."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synergy.errors import InvalidValue
from synergy.model.time_range import EVER, TimeRange
from synergy.queries.written_times import parse_times

NOW = datetime(2026, 11, 24, 2, 30, tzinfo=UTC)  # a Tuesday; in Los Angeles still Monday


def at(text: str) -> datetime | None:
    return datetime.fromisoformat(text).replace(tzinfo=UTC) if text else None


@pytest.mark.parametrize(
    ("begin", "end", "zone", "expected"),
    [
        ("2026-11-22T10:30", "2026-11-22T11:00Z", "", "2026-11-22T10:30 2026-11-22T11:00"),
        ("2026-11-22", "2026-11-23", "", "2026-11-22 2026-11-23"),
        ("2026-11-22", "2026-11-23", "Europe/Berlin", "2026-11-21T23:00 2026-11-22T23:00"),
        ("2026-11-22 10:30:15.5", "", "America/New_York", "2026-11-22T15:30:15.5 "),
        ("2026-11-22T10:30+02:00", "", "America/New_York", "2026-11-22T08:30 "),
        ("", "2026-11-22T10:30", "Asia/Kolkata", " 2026-11-22T05:00"),
        ("now", "", "", "2026-11-24T02:30 "),
        ("", "now", "", " 2026-11-24T02:30"),
        ("today", "", "", "2026-11-24 2026-11-25"),
        ("yesterday", "", "", "2026-11-23 2026-11-24"),
        ("Yesterday ", "", "America/Los_Angeles", "2026-11-22T08:00 2026-11-23T08:00"),
        ("yesterday", "now", "", "2026-11-23 2026-11-24T02:30"),
        ("yesterday", "today", "", "2026-11-23 2026-11-24"),
        ("2026-11-20", "yesterday", "", "2026-11-20 2026-11-23"),
        ("last night", "", "", "2026-11-23T18:00 2026-11-24T06:00"),
        ("last-night", "", "Europe/Berlin", "2026-11-23T17:00 2026-11-24T05:00"),
        ("last_night", "", "America/Los_Angeles", "2026-11-23T02:00 2026-11-23T14:00"),
        ("last hour", "", "", "2026-11-24T01:30 2026-11-24T02:30"),
        ("last 3 days", "", "", "2026-11-21T02:30 2026-11-24T02:30"),
        ("last week", "2 days ago", "", "2026-11-17T02:30 2026-11-22T02:30"),
        ("90 minutes ago", "", "", "2026-11-24T01:00 "),
        ("2 hours ago", "an hour ago", "", "2026-11-24T00:30 2026-11-24T01:30"),
        ("1-day-ago", "", "Europe/Berlin", "2026-11-23T02:30 "),
    ],
)
def test_times_are_instants_words_or_distances_in_their_zone(
    begin: str, end: str, zone: str, expected: str
) -> None:
    first, last = expected.split(" ")
    assert parse_times(begin, end, zone, NOW) == TimeRange(at(first), at(last))


@pytest.mark.parametrize(
    ("now", "word", "expected"),
    [
        # Berlin left summer time in the night to 25 October 2026, and enters it on 28 March 2027.
        ("2026-10-25T20:00", "today", "2026-10-24T22:00 2026-10-25T23:00"),
        ("2026-10-25T20:00", "last night", "2026-10-24T16:00 2026-10-25T05:00"),
        ("2027-03-28T20:00", "today", "2027-03-27T23:00 2027-03-28T22:00"),
        ("2027-03-28T20:00", "last night", "2027-03-27T17:00 2027-03-28T04:00"),
        ("2027-03-28T20:00", "2027-03-28T02:30", "2027-03-28T01:30 "),  # skipped
        ("2026-10-25T20:00", "2026-10-25T02:30", "2026-10-25T00:30 "),  # doubled
    ],
)
def test_days_and_nights_of_a_clock_change_have_their_length(
    now: str, word: str, expected: str
) -> None:
    first, last = expected.split(" ")
    present = datetime.fromisoformat(now).replace(tzinfo=UTC)
    assert parse_times(word, "", "Europe/Berlin", present) == TimeRange(at(first), at(last))


@pytest.mark.parametrize("nothing", [None, ""])
def test_without_times_there_is_no_limit(nothing: str | None) -> None:
    assert parse_times(nothing, nothing, "", NOW) == EVER


@pytest.mark.parametrize(
    ("begin", "end", "zone", "reason"),
    [
        ("soon", "", "", "from: expected an instant"),
        ("", "soon", "", "to: expected an instant"),
        ("soon", "", "", "last night, last hour"),
        ("2026-02-30", "", "", "from: there is no such instant"),
        ("2026-11-22T25:00", "", "", "from: there is no such instant"),
        ("2026111210", "", "", "from: expected an instant"),
        ("last 9999999 days", "", "", "from: expected an instant"),
        ("last 999999 weeks", "", "", "before the year 1"),
        ("today", "yesterday", "", "is empty: the end is not included"),
        ("2026-11-22", "2026-11-22", "", "is empty"),
        ("", "", "Europe/Berln", "did you mean Europe/Berlin?"),
        ("today", "", "CEST", "there is no time zone"),
    ],
)
def test_what_is_no_time_or_no_zone_is_refused(
    begin: str, end: str, zone: str, reason: str
) -> None:
    with pytest.raises(InvalidValue) as refused:
        parse_times(begin, end, zone, NOW)
    assert reason in str(refused.value)


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_text_is_a_time_or_refused(begin: str, end: str) -> None:
    with suppress(InvalidValue):  # no other exception
        parse_times(begin, end, "Europe/Berlin", NOW)


@given(st.integers(1, 999), st.sampled_from(["minute", "hour", "day", "week"]))
def test_a_distance_back_ends_now_or_never(number: int, unit: str) -> None:
    begin = NOW - number * timedelta(**{f"{unit}s": 1})
    assert parse_times(f"last {number} {unit}s", "", "", NOW) == TimeRange(begin, NOW)
    assert parse_times(f"{number} {unit}s ago", "", "", NOW) == TimeRange(begin, None)
