"""Both dialects of cron: the due times of lines, and their canonical form."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synergy.schedule.cron.line import NEVER, Cron
from synergy.schedule.trigger import parse
from tests.unit.schedule.due_reference import (
    is_from_end,
    is_last_weekday,
    is_nearest_workday,
    is_nth_weekday,
    month_days,
)

SECOND = timedelta(seconds=1)


def cron(text: str) -> Cron:
    trigger = parse(f"cron {text}")
    assert isinstance(trigger, Cron)
    return trigger


def first(text: str, count: int, start: str = "2026-01-01") -> list[str]:
    """The first due instants from the beginning of that day on, as ISO 8601 without the zone."""
    instant = datetime.fromisoformat(start).replace(tzinfo=UTC) - SECOND
    found = []
    for _ in range(count):
        instant = cron(text).next_after(instant)
        found.append(f"{instant:%Y-%m-%dT%H:%M:%S}")
    return found


@pytest.mark.parametrize(
    ("text", "canonical", "dialect"),
    [
        ("30 2 * * 1-5", "30 2 * * 1-5", "unix"),
        ("00 08 * JAN-mar Mon", "0 8 * 1-3 1", "unix"),
        ("@hourly", "0 * * * *", "unix"),
        ("@daily", "0 0 * * *", "unix"),
        ("@Midnight", "0 0 * * *", "unix"),
        ("@weekly", "0 0 * * 0", "unix"),
        ("@monthly", "0 0 1 * *", "unix"),
        ("@yearly", "0 0 1 1 *", "unix"),
        ("@annually", "0 0 1 1 *", "unix"),
        ("0 0 12 ? * mon-FRI", "0 0 12 ? * 2-6", "quartz"),
        ("0 0 12 1w * ?", "0 0 12 1W * ?", "quartz"),
        ("0 0 12 lw,l,l-03,L-2w * ?", "0 0 12 LW,L,L-3,L-2W * ?", "quartz"),
        ("0 0 12 ? * friL", "0 0 12 ? * 6L", "quartz"),
        ("0 0 12 ? jan fri#2,6#02", "0 0 12 ? 1 6#2,6#2", "quartz"),
        ("0 0 12 ? * L", "0 0 12 ? * 7", "quartz"),
        ("0 0/05 * * * ?", "0 0/5 * * * ?", "quartz"),
        ("0 0 12 * * ? *", "0 0 12 * * ?", "quartz"),
        ("0 0 12 * * ? 2026-2030/2", "0 0 12 * * ? 2026-2030/2", "quartz"),
    ],
)
def test_cron_lines_have_a_dialect_and_a_canonical_form(
    text: str, canonical: str, dialect: str
) -> None:
    assert str(cron(text)) == f"cron {canonical}"
    assert cron(text).dialect == dialect
    assert cron(canonical) == cron(text)
    assert hash(cron(canonical)) == hash(cron(text))


@pytest.mark.parametrize(
    ("text", "due"),
    [
        # Thursday, 1 January 2026.
        ("0 0 * * 7", ["2026-01-04T00:00:00", "2026-01-11T00:00:00"]),
        ("0 0 0 ? * 1", ["2026-01-04T00:00:00", "2026-01-11T00:00:00"]),
        ("0 0 0 ? * SAT", ["2026-01-03T00:00:00"]),
        ("0 0 0 ? * L", ["2026-01-03T00:00:00", "2026-01-10T00:00:00"]),
        ("0 0 * * 5", ["2026-01-02T00:00:00"]),
        ("0 0 0 ? * 5", ["2026-01-01T00:00:00", "2026-01-08T00:00:00"]),
        ("0 0 13 * 5", ["2026-01-02T00:00:00", "2026-01-09T00:00:00", "2026-01-13T00:00:00"]),
        ("0 0 */14 * 4", ["2026-01-01T00:00:00", "2026-01-15T00:00:00", "2026-01-29T00:00:00"]),
        ("5/20 0 0 * * ?",
         ["2026-01-01T00:00:05", "2026-01-01T00:00:25", "2026-01-01T00:00:45",
          "2026-01-02T00:00:05"]),
        ("0 10/25 3 * * ?",
         ["2026-01-01T03:10:00", "2026-01-01T03:35:00", "2026-01-02T03:10:00"]),
        ("0 0 22-2/2 ? * FRI-SUN/2",
         ["2026-01-02T00:00:00", "2026-01-02T02:00:00", "2026-01-02T22:00:00",
          "2026-01-04T00:00:00"]),
        ("0 0 0 ? NOV-JAN MON", ["2026-01-05T00:00:00"]),
        ("0 0 0 1 NOV-JAN ?",
         ["2026-01-01T00:00:00", "2026-11-01T00:00:00", "2026-12-01T00:00:00",
          "2027-01-01T00:00:00"]),
        ("0 0 0 30-2 * ?",
         ["2026-01-01T00:00:00", "2026-01-02T00:00:00", "2026-01-30T00:00:00",
          "2026-01-31T00:00:00", "2026-02-01T00:00:00", "2026-02-02T00:00:00",
          "2026-03-01T00:00:00"]),
        ("0 0 0 1 1 ? 2027,2029", ["2027-01-01T00:00:00", "2029-01-01T00:00:00"]),
        ("0 0 0 1 1 ? 2030/30", ["2030-01-01T00:00:00", "2060-01-01T00:00:00"]),
        ("0 0 0 29 2 ? */2", ["2028-02-29T00:00:00"]),
        # 15 February 2026 is a Sunday, 15 August a Saturday, 1 August a Saturday, 31 May a Sunday.
        ("0 0 0 15W 2 ?", ["2026-02-16T00:00:00"]),
        ("0 0 0 15W 8 ?", ["2026-08-14T00:00:00"]),
        ("0 0 0 1W 8 ?", ["2026-08-03T00:00:00"]),
        ("0 0 0 31W 5 ?", ["2026-05-29T00:00:00"]),
        ("0 0 0 LW 5 ?", ["2026-05-29T00:00:00"]),
        ("0 0 0 31W 4-5 ?", ["2026-05-29T00:00:00"]),  # April has no 31st
        ("0 0 0 L 2 ?", ["2026-02-28T00:00:00", "2027-02-28T00:00:00", "2028-02-29T00:00:00"]),
        ("0 0 0 L-3 2 ?", ["2026-02-25T00:00:00"]),
        ("0 0 0 L-30 * ?", ["2026-01-01T00:00:00", "2026-03-01T00:00:00"]),
        ("0 0 0 L-2W 5 ?", ["2026-05-29T00:00:00"]),
        ("0 0 0 ? 1 6L", ["2026-01-30T00:00:00"]),
        ("0 0 0 ? * THU#1", ["2026-01-01T00:00:00", "2026-02-05T00:00:00"]),
        ("0 0 0 ? * 5#5", ["2026-01-29T00:00:00", "2026-04-30T00:00:00"]),
        ("0 0 0 1,15,L * ?",
         ["2026-01-01T00:00:00", "2026-01-15T00:00:00", "2026-01-31T00:00:00",
          "2026-02-01T00:00:00"]),
    ],
)  # fmt: skip
def test_each_line_has_the_expected_due_times(text: str, due: list[str]) -> None:
    assert first(text, len(due)) == due


def test_a_line_is_never_due_after_its_last_year() -> None:
    last = datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert cron("* * * * * ? 2026").next_after(last - SECOND) == last
    assert cron("* * * * * ? 2026").next_after(last) == NEVER


@pytest.mark.parametrize(
    ("text", "is_rhythm"),
    [
        ("30 2 * * *", False),
        ("0-59/5 2-4 * * *", False),
        ("*/5 2 * * *", True),
        ("0 * * * *", True),
        ("0 */2 * * *", True),
        ("0 0 2 * * ?", False),
        ("0 0-30/5 2 * * ?", False),
        ("0 0/30 2 * * ?", True),
        ("0 0 0/2 * * ?", True),
        ("*/5 0 2 * * ?", True),
        ("0/5 0 2 * * ?", True),
        ("0 5,*/7 2 * * ?", False),
    ],
)
def test_lines_with_a_repeating_field_follow_elapsed_time(text: str, is_rhythm: bool) -> None:
    assert cron(text).is_rhythm is is_rhythm


# Days that depend on the month, against a reference that looks at the whole month.

Drawn = tuple[str, Callable[[date], bool]]
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")  # Quartz: 1 to 7


def from_end(back: int) -> Drawn:
    return f"L-{back}" if back else "L", lambda day: is_from_end(day, back)


def workday_from_end(back: int) -> Drawn:
    def matches(day: date) -> bool:
        return is_nearest_workday(day, len(month_days(day)) - back)

    return f"L-{back}W" if back else "LW", matches


def nth_weekday(number: int, nth: int) -> Drawn:
    return f"{number}#{nth}", lambda day: is_nth_weekday(day, weekday(number), nth)


def weekday(number: int) -> int:
    """The ISO weekday of Quartz's 1 to 7."""
    return (number + 5) % 7 + 1


months_days = st.one_of(
    st.integers(0, 30).map(from_end),
    st.integers(0, 30).map(workday_from_end),
    st.integers(1, 31).map(lambda n: (f"{n}W", lambda day: is_nearest_workday(day, n))),
    st.integers(1, 31).map(lambda n: (str(n), lambda day: day.day == n)),
)
weeks_days = st.one_of(
    st.integers(1, 7).map(lambda n: (f"{n}L", lambda day: is_last_weekday(day, weekday(n)))),
    st.integers(1, 7).map(
        lambda n: (f"{WEEKDAYS[n - 1]}L", lambda day: is_last_weekday(day, weekday(n)))
    ),
    st.tuples(st.integers(1, 7), st.integers(1, 5)).map(lambda drawn: nth_weekday(*drawn)),
    st.integers(1, 7).map(lambda n: (str(n), lambda day: day.isoweekday() == weekday(n))),
)


@given(
    st.one_of(
        st.lists(months_days, min_size=1, max_size=3).map(lambda drawn: ("{} * ?", drawn)),
        st.lists(weeks_days, min_size=1, max_size=3).map(lambda drawn: ("? * {}", drawn)),
    ),
    st.dates(date(1999, 1, 1), date(2030, 1, 1)),
)
def test_quartz_days_equal_a_walk_over_all_days(line: tuple[str, list[Drawn]], start: date) -> None:
    form, drawn = line
    trigger = cron("0 0 0 " + form.format(",".join(text for text, _ in drawn)))
    assert parse(str(trigger)) == trigger
    assert str(parse(str(trigger))) == str(trigger)
    day = start
    at = datetime(start.year, start.month, start.day, tzinfo=UTC) - SECOND
    for _ in range(3):
        at = trigger.next_after(at)
        while not any(matches(day) for _, matches in drawn):
            day += timedelta(days=1)
        assert at == datetime(day.year, day.month, day.day, tzinfo=UTC)
        day += timedelta(days=1)
