"""Semantics A1: timeperiods, their arithmetic, and their string order."""

from __future__ import annotations

import calendar
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synergy.errors import InvalidValue
from synergy.timeperiod import Qualifier

HOURLY, DAILY, MONTHLY, YEARLY = Qualifier

instants = st.datetimes(
    datetime(1970, 1, 1), datetime(2200, 12, 31, 23, 59), timezones=st.just(UTC)  # noqa: DTZ001
)  # fmt: skip
qualifiers = st.sampled_from(Qualifier)
FORMATS = {HOURLY: "%Y%m%d%H", DAILY: "%Y%m%d00", MONTHLY: "%Y%m0000", YEARLY: "%Y000000"}


def moved(qualifier: Qualifier, timeperiod: str, by: int) -> str:
    return qualifier.timeperiod(qualifier.parse(timeperiod) + by)


def test_granularity_falls_from_yearly_to_hourly() -> None:
    assert [q.rank for q in (HOURLY, DAILY, MONTHLY, YEARLY)] == [0, 1, 2, 3]
    assert Qualifier("daily") is DAILY


@pytest.mark.parametrize(
    ("qualifier", "timeperiod", "by", "expected"),
    [
        (MONTHLY, "2010100000", 25, "2012110000"),
        (MONTHLY, "2012110000", -25, "2010100000"),
        (MONTHLY, "2026120000", 1, "2027010000"),
        (HOURLY, "2026123123", 1, "2027010100"),
        (HOURLY, "2027010100", -1, "2026123123"),
        (HOURLY, "2024022823", 1, "2024022900"),
        (HOURLY, "2026022823", 1, "2026030100"),
        (DAILY, "2024022800", 1, "2024022900"),
        (DAILY, "2024022900", 366, "2025030100"),
        (DAILY, "2100022800", 1, "2100030100"),
        (DAILY, "2000022800", 1, "2000022900"),
        (DAILY, "2026043000", 1, "2026050100"),
        (YEARLY, "2024000000", -24, "2000000000"),
        (YEARLY, "2024000000", 0, "2024000000"),
    ],
)
def test_increments_carry_by_the_calendar(
    qualifier: Qualifier, timeperiod: str, by: int, expected: str
) -> None:
    assert moved(qualifier, timeperiod, by) == expected


@pytest.mark.parametrize(
    ("timeperiod", "qualifier", "expected"),
    [
        ("2026112113", DAILY, "2026112100"),
        ("2026112113", MONTHLY, "2026110000"),
        ("2026112113", YEARLY, "2026000000"),
        ("2026112100", MONTHLY, "2026110000"),
        ("2026000000", MONTHLY, "2026010000"),
        ("2026000000", DAILY, "2026010100"),
        ("2026000000", HOURLY, "2026010100"),
        ("2024020000", HOURLY, "2024020100"),
        ("2024020000", DAILY, "2024020100"),
    ],
)
def test_casting_up_truncates_and_down_gives_the_first_member(
    timeperiod: str, qualifier: Qualifier, expected: str
) -> None:
    assert qualifier.timeperiod(qualifier.cast(timeperiod)) == expected


def test_the_qualifier_decides_what_an_ambiguous_timeperiod_means() -> None:
    day, hour = DAILY.parse("2026112100"), HOURLY.parse("2026112100")
    assert DAILY.start(day) == HOURLY.start(hour)
    assert DAILY.start(day + 1) - DAILY.start(day) == timedelta(days=1)
    assert HOURLY.start(hour + 1) - HOURLY.start(hour) == timedelta(hours=1)


@pytest.mark.parametrize(
    ("qualifier", "timeperiod"),
    [
        (DAILY, "2026112101"),
        (DAILY, "2026110000"),
        (MONTHLY, "2026110100"),
        (MONTHLY, "2026000000"),
        (YEARLY, "2026010000"),
        (HOURLY, "2026110000"),
        (HOURLY, "2026000000"),
    ],
)
def test_a_timeperiod_of_another_qualifier_is_refused(
    qualifier: Qualifier, timeperiod: str
) -> None:
    with pytest.raises(InvalidValue, match=f"{timeperiod}.*{qualifier.value}.*for example"):
        qualifier.parse(timeperiod)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026",
        "202611210",
        "20261121000",
        "2026112124",
        "2026113200",
        "2026022900",
        "2026130000",
        "2026000100",  # a day without a month
        "2026110005",  # an hour without a day
        "0000000000",
        "1969123123",
        "9999000000",
        "2026-11-21",
        " 026112100",
        "+026112100",
        "２０２６１１２１００",
        "2026112１00",
        "2026_12100",
    ],
)
@pytest.mark.parametrize("qualifier", Qualifier)
def test_invalid_timeperiods_are_refused(qualifier: Qualifier, text: str) -> None:
    for read in (qualifier.parse, qualifier.cast):
        with pytest.raises(InvalidValue, match="is not a"):
            read(text)


def test_an_instant_without_a_zone_is_refused() -> None:
    for qualifier in Qualifier:
        with pytest.raises(TypeError):
            qualifier.at(datetime(2026, 1, 1))  # noqa: DTZ001


def test_casting_in_the_wrong_direction_is_refused() -> None:
    with pytest.raises(ValueError, match="finer"):
        YEARLY.up(2026, MONTHLY)
    with pytest.raises(ValueError, match="finer"):
        DAILY.up(20_000, HOURLY)
    with pytest.raises(ValueError, match="coarser"):
        HOURLY.down(400_000, DAILY)
    with pytest.raises(ValueError, match="coarser"):
        MONTHLY.down(24_000, YEARLY)


@given(qualifiers, instants)
def test_the_period_of_an_instant_contains_the_instant(
    qualifier: Qualifier, instant: datetime
) -> None:
    ordinal = qualifier.at(instant)
    assert qualifier.start(ordinal) <= instant < qualifier.start(ordinal + 1)
    assert qualifier.timeperiod(ordinal) == instant.strftime(FORMATS[qualifier])
    assert qualifier.at(instant.astimezone(ZoneInfo("Pacific/Auckland"))) == ordinal


@given(qualifiers, instants)
def test_printing_and_parsing_are_inverse(qualifier: Qualifier, instant: datetime) -> None:
    ordinal = qualifier.at(instant)
    assert qualifier.parse(qualifier.timeperiod(ordinal)) == ordinal
    assert qualifier.at(qualifier.start(ordinal)) == ordinal


@given(qualifiers, instants, instants)
def test_string_order_is_time_order(qualifier: Qualifier, one: datetime, other: datetime) -> None:
    first, second = sorted((qualifier.at(one), qualifier.at(other)))
    texts = qualifier.timeperiod(first), qualifier.timeperiod(second)
    assert (first < second) == (texts[0] < texts[1])
    assert (qualifier.start(first) < qualifier.start(second)) == (first < second)


@given(qualifiers, qualifiers, instants)
def test_up_and_down_agree_with_the_calendar(
    one: Qualifier, other: Qualifier, instant: datetime
) -> None:
    finer, coarser = sorted((one, other), key=lambda q: q.rank)
    member, parent = finer.at(instant), coarser.at(instant)
    assert finer.up(member, coarser) == parent
    first, end = coarser.down(parent, finer)
    assert first <= member < end
    assert finer.start(first) == coarser.start(parent)
    assert finer.start(end) == coarser.start(parent + 1)
    assert finer.cast(coarser.timeperiod(parent)) == first
    assert coarser.cast(finer.timeperiod(member)) == parent


@given(instants)
def test_months_have_as_many_days_as_in_the_calendar(instant: datetime) -> None:
    first, end = MONTHLY.down(MONTHLY.at(instant), DAILY)
    assert end - first == calendar.monthrange(instant.year, instant.month)[1]
