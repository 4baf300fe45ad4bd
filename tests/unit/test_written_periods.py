"""Periods as people write them: what is understood, and what is refused with which advice."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synergy.errors import InvalidValue
from synergy.timeperiod import Qualifier, parse_between, parse_hour, parse_period, parse_range

HOURLY, DAILY, MONTHLY, YEARLY = Qualifier

qualifiers = st.sampled_from(Qualifier)
hours = st.integers(HOURLY.parse("1971010100"), HOURLY.parse("9990123123"))
instants = hours.map(HOURLY.start)
ISO = {HOURLY: "%Y-%m-%dT%H", DAILY: "%Y-%m-%d", MONTHLY: "%Y-%m", YEARLY: "%Y"}


@pytest.mark.parametrize(
    ("qualifier", "text", "expected"),
    [
        (YEARLY, "2015", "2015000000"),
        (YEARLY, "2015000000", "2015000000"),
        (MONTHLY, "2015-05", "2015050000"),
        (MONTHLY, "2015050000", "2015050000"),
        (DAILY, "2015-05-17", "2015051700"),
        (DAILY, "  2015-05-17 ", "2015051700"),
        (DAILY, "2015051700", "2015051700"),
        (DAILY, "2016-02-29", "2016022900"),
        (HOURLY, "2015051710", "2015051710"),
        (HOURLY, " 2015051700 ", "2015051700"),
        (HOURLY, "2015-05-17T10", "2015051710"),
        (HOURLY, "2015-05-17t10", "2015051710"),
        (HOURLY, "2015-05-17 10", "2015051710"),
        (HOURLY, "2015-05-17T10Z", "2015051710"),
        (HOURLY, "2015-05-17T10:00", "2015051710"),
        (HOURLY, "2015-05-17T10:00Z", "2015051710"),
        (HOURLY, "2015-05-17T10:00z", "2015051710"),
        (HOURLY, "2015-05-17T10:00+00:00", "2015051710"),
        (HOURLY, "2015-05-17T10:00-0000", "2015051710"),
        (HOURLY, "2015-05-17T10:00+00", "2015051710"),
        (HOURLY, "2015-05-17 10:00:00", "2015051710"),
        (HOURLY, "2015-05-17T00:00:00.000Z", "2015051700"),
    ],
)
def test_a_period_is_understood_in_many_forms(
    qualifier: Qualifier, text: str, expected: str
) -> None:
    assert qualifier.timeperiod(parse_period(qualifier, text)) == expected


@pytest.mark.parametrize(
    ("qualifier", "text", "advice"),
    [
        (
            DAILY,
            "2015-05-17T10",
            "is an hour, and daily timeperiods are expected here: for "
            "example 2015-05-17 (2015051700)",
        ),
        (DAILY, "2015-05-17T00:00Z", "example 2015-05-17 (2015051700)"),
        (
            DAILY,
            "2015-05",
            "is a month, and daily timeperiods are expected here: for example "
            "2015-05-01 (2015050100)",
        ),
        (
            HOURLY,
            "2015-05-17",
            "is a day, and hourly timeperiods are expected here: for example "
            "2015-05-17T00 (2015051700)",
        ),
        (HOURLY, "2015", "for example 2015-01-01T00 (2015010100)"),
        (MONTHLY, "2015-05-17", "for example 2015-05 (2015050000)"),
        (YEARLY, "2015-05", "for example 2015 (2015000000)"),
        (DAILY, "2015051710", "expected YYYYMMDD00 or YYYY-MM-DD, for example 2015051700"),
        (HOURLY, "2015050000", "for example 2015050100"),
        (HOURLY, "2015-05-17T10:30", "not the beginning of an hour: expected 2015-05-17T10"),
        (HOURLY, "2015-05-17T10:00:01", "not the beginning of an hour: expected 2015-05-17T10"),
        (HOURLY, "2015-05-17T10:00:00.5Z", "not the beginning of an hour"),
        (HOURLY, "2015-05-17T10:00+02:00", "is not UTC, as periods are: expected 2015-05-17T08"),
        (HOURLY, "2015-05-17T23:00-05:00", "is not UTC, as periods are: expected 2015-05-18T04"),
        (HOURLY, "2015-05-17T10:00+05:30", "is not UTC, as periods are: expected 2015-05-17T04"),
        (HOURLY, "2015-05-17T10:30+0530", "is not UTC, as periods are: expected 2015-05-17T05"),
        (DAILY, "2015-05-17T00:00+02:00", "is not UTC, as periods are: expected 2015-05-16T22"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_nearest_form(
    qualifier: Qualifier, text: str, advice: str
) -> None:
    with pytest.raises(InvalidValue) as refused:
        parse_period(qualifier, text)
    assert repr(text) in str(refused.value)
    assert advice in str(refused.value)


NO_PERIODS = [
    "-",
    "yesterday",
    "15",
    "201",
    "20155",
    "201505",
    "20150517",
    "20150517T10",
    "2015-0517",
    "2015-5",
    "2015-13",
    "2015-00",
    "2015-02-29",
    "2015-05-00",
    "2015-05-32",
    "2015-05-17T24",
    "2015-05-17T1",
    "2015-05-17T10:60",
    "2015-05-17T10:00:60",
    "2015-05-17T",
    "2015-05-17Z",
    "2015-05-17T10-",
    "2015/05/17",
    "17.05.2015",
    "1969",
    "9999-01-01",
    "1969-12-31T23",
    "0000-01-01T00:00+01:00",
    "0001-01-01T00:00+14:00",
    "2015051710Z",
    "20150517100000",
    "2015-05-17T10..2015-05-17T11",
    "-2015",
    "+2015-05",
    "２０１５",
    "2015-05-17T10:00\x00",
]


@pytest.mark.parametrize("qualifier", Qualifier)
@pytest.mark.parametrize("text", ["", " ", "2015-05-17  10", "2015-05-17T10:00 Z", *NO_PERIODS])
def test_what_is_no_period_is_refused_with_what_was_expected(
    qualifier: Qualifier, text: str
) -> None:
    with pytest.raises(InvalidValue, match="is not a timeperiod: expected YYYY"):
        parse_period(qualifier, text)


@given(qualifiers, instants)
def test_iso_and_digits_name_the_same_period(qualifier: Qualifier, instant: datetime) -> None:
    ordinal = qualifier.at(instant)
    assert parse_period(qualifier, instant.strftime(ISO[qualifier])) == ordinal
    assert parse_period(qualifier, qualifier.timeperiod(ordinal)) == ordinal


@given(qualifiers, qualifiers, instants)
def test_only_the_own_granularity_is_a_period(
    qualifier: Qualifier, written: Qualifier, instant: datetime
) -> None:
    text = instant.strftime(ISO[written])
    if written is qualifier:
        parse_period(qualifier, text)
    else:
        with pytest.raises(InvalidValue, match=f"{qualifier.value} timeperiods are expected"):
            parse_period(qualifier, text)


@given(instants, st.integers(-14 * 60, 14 * 60).filter(bool))
def test_the_advice_for_another_offset_is_the_hour_of_utc(instant: datetime, east: int) -> None:
    sign, (hours, minutes) = "-+"[east > 0], divmod(abs(east), 60)
    written = f"{instant + timedelta(minutes=east):%Y-%m-%dT%H:%M}{sign}{hours:02}:{minutes:02}"
    with pytest.raises(InvalidValue, match=f"expected {instant:%Y-%m-%dT%H}$"):
        parse_period(HOURLY, written)


@given(st.text(max_size=30), qualifiers)
def test_any_text_is_a_period_or_refused(text: str, qualifier: Qualifier) -> None:
    for parse in (parse_period, parse_range):
        with suppress(InvalidValue):  # no other exception
            parse(qualifier, text)


# Ranges


def names(qualifier: Qualifier, text: str) -> tuple[str, str]:
    first, end = parse_range(qualifier, text)
    return qualifier.timeperiod(first), qualifier.timeperiod(end)


@pytest.mark.parametrize(
    ("qualifier", "text", "expected"),
    [
        (HOURLY, "2026112122..2026112201", ("2026112122", "2026112201")),
        (HOURLY, "2026112123", ("2026112123", "2026112200")),
        (HOURLY, "2026112100", ("2026112100", "2026112101")),
        (HOURLY, "2015-05-17T22..2015-05-18 01:00", ("2015051722", "2015051801")),
        (HOURLY, "2015-05-17..2015-05-18", ("2015051700", "2015051800")),
        (HOURLY, "2015-05-17", ("2015051700", "2015051800")),
        (HOURLY, "2015-05..2015-06-02T03", ("2015050100", "2015060203")),
        (HOURLY, "2015051705..2015-05-18", ("2015051705", "2015051800")),
        (HOURLY, "2016", ("2016010100", "2017010100")),
        (DAILY, "2026022800 .. 2026030100", ("2026022800", "2026030100")),
        (DAILY, "2015-05", ("2015050100", "2015060100")),
        (DAILY, "2015-05-30..2015-06", ("2015053000", "2015060100")),
        (MONTHLY, "2026120000", ("2026120000", "2027010000")),
        (MONTHLY, "2015..2017", ("2015010000", "2017010000")),
        (YEARLY, "2015000000..2027", ("2015000000", "2027000000")),
    ],
)
def test_a_range_is_half_open_and_a_coarser_period_stands_for_its_members(
    qualifier: Qualifier, text: str, expected: tuple[str, str]
) -> None:
    assert names(qualifier, text) == expected


REFUSED_HOURS = [
    "..",
    "2026112100..",
    "..2026112100",
    "2026112100..2026112100",
    "2026112200..2026112100",
    "2015-05-17..2015-05-17",
    "2015-05-18..2015-05-17",
    "2015-05-17T00..2015-05-17",
    "2015..2015-01-01T00",
    "2026112100...2026112200",
    "2026112100-2026112200",
    "2026110000..2026112200",
    "2015-05-17T10:30..2015-05-18",
]
REFUSED_DAYS = ["2015-05-17T00..2015-05-18T00", "2015-05-17T00", "2015051710"]


@pytest.mark.parametrize(
    ("qualifier", "text"),
    [
        (HOURLY, ""),
        *((HOURLY, text) for text in REFUSED_HOURS),
        *((DAILY, text) for text in REFUSED_DAYS),
        (MONTHLY, "2015-05-17"),
    ],
)
def test_empty_finer_and_malformed_ranges_are_refused(qualifier: Qualifier, text: str) -> None:
    with pytest.raises(InvalidValue):
        parse_range(qualifier, text)


@given(qualifiers, qualifiers, instants)
def test_a_single_coarser_period_covers_what_its_own_range_covers(
    finer: Qualifier, coarser: Qualifier, instant: datetime
) -> None:
    if coarser.rank < finer.rank:
        finer, coarser = coarser, finer
    ordinal = coarser.at(instant)
    texts = [coarser.start(ordinal + by).strftime(ISO[coarser]) for by in (0, 1)]
    expected = coarser.down(ordinal, finer)
    assert parse_range(finer, texts[0]) == expected
    assert parse_range(finer, "..".join(texts)) == expected
    assert parse_between(finer, *texts) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2015", "2015010100"),
        ("2015-05", "2015050100"),
        ("2015-05-17", "2015051700"),
        ("2015-05-17T10:00Z", "2015051710"),
        ("2015000000", "2015010100"),
        ("2015051710", "2015051710"),
    ],
)
def test_a_bound_is_the_hour_with_which_a_period_begins(text: str, expected: str) -> None:
    assert HOURLY.timeperiod(parse_hour(text)) == expected


@pytest.mark.parametrize("text", ["", "tomorrow", "2015-05-17T10:30", "2015-05-17T10:00+01:00"])
def test_a_bound_that_is_no_hour_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="expected"):
        parse_hour(text)
