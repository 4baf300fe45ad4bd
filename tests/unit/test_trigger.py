"""Semantics A2: the meaning and canonical form of trigger strings; malformed ones are refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synergy.errors import InvalidValue
from synergy.schedule.trigger import Every, Trigger, parse

THURSDAY = datetime(2014, 5, 1, 13, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def test_the_example_of_the_semantics() -> None:
    due = parse("at 5-18:00,4-18:05,1-9:01").next_after(THURSDAY)
    assert due - THURSDAY == timedelta(days=1, hours=5, minutes=5)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("every 600", "every 600"),
        ("  every \t 0600 ", "every 600"),
        ("at 5-18:00,4-18:05,1-9:01", "at 1-09:01, 4-18:05, 5-18:00"),
        ("at *-7:05", "at 07:05"),
        ("at  5 - 18:00 ,18:00", "at 18:00"),
        ("at 1-08:00, 1-08:00", "at 1-08:00"),
        ("cron  */5 *  * * *", "cron */5 * * * *"),
        ("cron 00 08 * JAN-mar Mon", "cron 0 8 * 1-3 1"),
        ("cron 0 0 * * 7", "cron 0 0 * * 0"),
        ("cron 0 0 1,15 * 5-7", "cron 0 0 1,15 * 5-7"),
    ],
)
def test_equivalent_triggers_have_one_canonical_form(text: str, canonical: str) -> None:
    assert str(parse(text)) == canonical
    assert parse(canonical) == parse(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "expected"),
        ("every", "whole seconds"),
        ("every 0", "must be 1"),
        ("every -5", "whole seconds"),
        ("every 1h", "without a unit"),
        ("every 1.5", "whole seconds"),
        ("every 99999999999", "must be 1 to"),
        ("every ٣", "whole seconds"),
        ("Every 5", "expected"),
        ("every5", "expected"),
        ("600", "expected"),
        ("at", "not a time"),
        ("at 7-10:00", "0 (Monday) to 6 (Sunday)"),
        ("at 24:00", "not a time of day"),
        ("at 10:60", "not a time of day"),
        ("at 10:5", "not a time"),
        ("at 10:00,", "not a time"),
        ("at 10:00;11:00", "not a time"),
        ("cron * * * *", "five fields (Unix), or six or seven (Quartz), not 4"),
        ("cron 60 * * * *", "minute must be 0 to 59"),
        ("cron * 24 * * *", "hour must be 0 to 23, not '24'"),
        ("cron * * 0 * *", "day of month must be 1 to 31"),
        ("cron * * * 13 *", "month must be 1 to 12"),
        ("cron * * * * 8", "day of week must be 0 to 7"),
        ("cron * * * * fri-tue", "backwards"),
        ("cron */0 * * * *", "a step is at least 1"),
        ("cron 5/10 * * * *", "a step"),
        ("cron 1,,2 * * * *", "not understood"),
        ("cron 0 0 L * *", "'L' in the day of month is Quartz"),
        ("cron 0 0 30 2 *", "month 2 has no day 30"),
        ("cron 0 0 31 4,6,9,11 *", "has no day 31"),
    ],
)
def test_malformed_triggers_are_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        parse(text)
    assert reason in str(refused.value)
    assert repr(text) in str(refused.value)


def test_every_is_aligned_to_the_epoch() -> None:
    trigger = parse("every 3600")
    assert trigger.next_after(THURSDAY) == THURSDAY + timedelta(hours=1)
    assert trigger.next_after(THURSDAY - timedelta(seconds=1)) == THURSDAY
    assert parse("every 7").next_after(datetime(1970, 1, 1, tzinfo=UTC)) == datetime(
        1970, 1, 1, 0, 0, 7, tzinfo=UTC
    )


@pytest.mark.parametrize(
    ("text", "after", "due"),
    [
        ("at 13:00", THURSDAY, datetime(2014, 5, 2, 13, 0, tzinfo=UTC)),
        ("at 3-13:00", THURSDAY, datetime(2014, 5, 8, 13, 0, tzinfo=UTC)),
        ("at 3-13:01", THURSDAY, datetime(2014, 5, 1, 13, 1, tzinfo=UTC)),
        ("at 00:00", datetime(2015, 12, 31, 23, 59, tzinfo=UTC), datetime(2016, 1, 1, tzinfo=UTC)),
        ("cron 0 0 13 * 5", THURSDAY, datetime(2014, 5, 2, tzinfo=UTC)),  # a Friday, not a 13th
        ("cron 0 0 13 * 1", datetime(2014, 5, 12, tzinfo=UTC), datetime(2014, 5, 13, tzinfo=UTC)),
        ("cron 0 0 */2 * 5", THURSDAY, datetime(2014, 5, 9, tzinfo=UTC)),  # odd day and Friday
        ("cron 0 0 * * 0", THURSDAY, datetime(2014, 5, 4, tzinfo=UTC)),
        ("cron 0 0 * * 7", THURSDAY, datetime(2014, 5, 4, tzinfo=UTC)),
        ("cron 0 9 29 2 *", THURSDAY, datetime(2016, 2, 29, 9, tzinfo=UTC)),
        ("cron 59 23 31 12 *", THURSDAY, datetime(2014, 12, 31, 23, 59, tzinfo=UTC)),
    ],
)
def test_at_and_cron_have_the_expected_next_due_time(
    text: str, after: datetime, due: datetime
) -> None:
    assert parse(text).next_after(after) == due


def test_the_zone_of_the_given_instant_does_not_matter() -> None:
    from zoneinfo import ZoneInfo

    local = THURSDAY.astimezone(ZoneInfo("Asia/Tokyo"))
    for text in ("every 7", "at 3-20:00", "cron 7 4 * * *"):
        assert parse(text).next_after(local) == parse(text).next_after(THURSDAY)


# Properties. A field is drawn as its text and the numbers that it means, so that the expected
# result is computed without the code under test.

Drawn = tuple[str, frozenset[int]]


@st.composite
def cron_fields(draw: st.DrawFn, low: int, high: int) -> Drawn:
    number = st.integers(low, 28 if high == 31 else high)  # so that no drawn day is impossible
    match draw(st.sampled_from(["*", "step", "list", "range"])):
        case "*":
            return "*", frozenset(range(low, high + 1))
        case "step":
            step = draw(st.integers(1, high))
            return f"*/{step}", frozenset(range(low, high + 1, step))
        case "list":
            numbers = draw(st.lists(number, min_size=1, max_size=4))
            return ",".join(map(str, numbers)), frozenset(numbers)
        case _:
            first, last = sorted((draw(number), draw(number)))
            step = draw(st.integers(1, 4))
            return f"{first}-{last}/{step}", frozenset(range(first, last + 1, step))


@st.composite
def crons(draw: st.DrawFn) -> list[Drawn]:
    spans = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 7)]
    return [draw(cron_fields(low, high)) for low, high in spans]


def is_due(fields: list[Drawn], minute: datetime) -> bool:
    """Whether a minute is due by the manual of Unix cron."""
    minutes, hours, days, months, weekdays = (numbers for _, numbers in fields)
    sunday_is_7 = minute.isoweekday()
    by_day = minute.day in days
    by_weekday = sunday_is_7 in weekdays or sunday_is_7 % 7 in weekdays
    starred = fields[2][0].startswith("*") or fields[4][0].startswith("*")
    return (
        minute.minute in minutes
        and minute.hour in hours
        and minute.month in months
        and ((by_day and by_weekday) if starred else (by_day or by_weekday))
    )


instants = st.datetimes(
    datetime(2000, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC)  # noqa: DTZ001
)  # fmt: skip
times = st.tuples(
    st.sampled_from(["", "*-", *(f"{day}-" for day in range(7))]),
    st.integers(0, 23),
    st.integers(0, 59),
)
ats = st.lists(times, min_size=1, max_size=5)


def at_text(items: list[tuple[str, int, int]]) -> str:
    return "at " + ",".join(f"{day}{hour}:{minute:02}" for day, hour, minute in items)


def triggers() -> st.SearchStrategy[Trigger]:
    texts = st.one_of(
        st.integers(1, 10**7).map(lambda n: f"every {n}"),
        ats.map(at_text),
        crons().map(lambda fields: "cron " + " ".join(text for text, _ in fields)),
    )
    return texts.map(parse)


@given(triggers())
def test_printing_and_reading_back_changes_nothing(trigger: Trigger) -> None:
    again = parse(str(trigger))
    assert again == trigger
    assert str(again) == str(trigger)


@given(triggers(), instants, st.timedeltas(timedelta(0), timedelta(days=2)))
def test_the_next_due_time_is_later_and_never_decreases(
    trigger: Trigger, instant: datetime, step: timedelta
) -> None:
    due = trigger.next_after(instant)
    assert instant < due
    assert due < trigger.next_after(due)
    later = trigger.next_after(instant + step)
    assert later >= due
    if instant + step < due:
        assert later == due  # nothing was skipped on the way


@given(st.integers(1, 10**6), instants)
def test_every_is_due_at_multiples_of_its_seconds(seconds: int, instant: datetime) -> None:
    due = Every(seconds).next_after(instant)
    assert due.timestamp() % seconds == 0
    assert due - instant <= timedelta(seconds=seconds)


def first_minute(instant: datetime) -> datetime:
    return instant.replace(second=0, microsecond=0) + MINUTE


@given(ats, instants)
def test_at_agrees_with_a_walk_over_all_minutes(
    items: list[tuple[str, int, int]], instant: datetime
) -> None:
    def matches(minute: datetime) -> bool:
        return any(
            (minute.hour, minute.minute) == (hour, at) and day in ("", "*-", f"{minute.weekday()}-")
            for day, hour, at in items
        )

    minute = first_minute(instant)
    while not matches(minute):
        minute += MINUTE
    assert parse(at_text(items)).next_after(instant) == minute


@given(crons(), instants)
def test_cron_agrees_with_a_walk_over_all_minutes(fields: list[Drawn], instant: datetime) -> None:
    due = parse("cron " + " ".join(text for text, _ in fields)).next_after(instant)
    assert is_due(fields, due)
    assert (due.second, due.microsecond) == (0, 0)
    minute = first_minute(instant)
    for _ in range(3 * 1440):
        if minute >= due:
            break
        assert not is_due(fields, minute)
        minute += MINUTE
