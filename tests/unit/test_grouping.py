"""Semantics A1: checkpoints of grouped processes, and what each covers."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synergy.timeperiod import Qualifier, checkpoint, covered, largest_grouping

HOURLY, DAILY, MONTHLY, YEARLY = Qualifier
PARENT = {HOURLY: DAILY, DAILY: MONTHLY, MONTHLY: YEARLY}


def members(qualifier: Qualifier, parent: str) -> range:
    above = PARENT[qualifier]
    return range(*above.down(above.parse(parent), qualifier))


def checkpoints(qualifier: Qualifier, parent: str, grouping: int) -> list[str]:
    return [
        qualifier.timeperiod(member)
        for member in members(qualifier, parent)
        if covered(qualifier, member, grouping) is not None
    ]


def test_hourly_by_5() -> None:
    assert [c[8:] for c in checkpoints(HOURLY, "2026112100", 5)] == ["05", "10", "15", "20", "23"]


def test_hourly_by_23_and_by_12() -> None:
    assert [c[8:] for c in checkpoints(HOURLY, "2026112100", 23)] == ["23"]
    assert [c[8:] for c in checkpoints(HOURLY, "2026112100", 12)] == ["12", "23"]


@pytest.mark.parametrize(
    ("month", "last"), [("2026020000", []), ("2024020000", ["29"]), ("2026030000", ["31"])]
)
def test_daily_by_7_ends_with_the_last_day(month: str, last: list[str]) -> None:
    days = [c[6:8] for c in checkpoints(DAILY, month, 7)]
    assert days == ["07", "14", "21", "28", *last]


def test_monthly_by_3_are_quarters() -> None:
    assert [c[4:6] for c in checkpoints(MONTHLY, "2026000000", 3)] == ["03", "06", "09", "12"]


def test_the_first_checkpoint_covers_hour_00_and_the_last_only_what_is_left() -> None:
    def covers(timeperiod: str) -> tuple[str, str]:
        span = covered(HOURLY, HOURLY.parse(timeperiod), 5)
        assert span is not None
        return HOURLY.timeperiod(span[0]), HOURLY.timeperiod(span[1])

    assert covers("2026112105") == ("2026112100", "2026112106")
    assert covers("2026112110") == ("2026112106", "2026112111")
    assert covers("2026112123") == ("2026112121", "2026112200")


def test_without_grouping_each_period_covers_itself() -> None:
    for qualifier in Qualifier:
        ordinal = qualifier.cast("2026112100")
        assert covered(qualifier, ordinal, 1) == (ordinal, ordinal + 1)
        assert checkpoint(qualifier, ordinal, 1) == ordinal


def test_the_largest_groupings() -> None:
    assert [largest_grouping(q) for q in Qualifier] == [23, 28, 12, 1]


@st.composite
def groupings(draw: st.DrawFn) -> tuple[Qualifier, int, int]:
    """A qualifier that has a parent, a grouping that fits, and a parent's ordinal."""
    qualifier = draw(st.sampled_from(list(PARENT)))
    grouping = draw(st.integers(1, largest_grouping(qualifier)))
    day = draw(st.dates(date(1970, 1, 1), date(2400, 12, 31)))
    return qualifier, grouping, PARENT[qualifier].cast(day.strftime("%Y%m%d00"))


@given(groupings())
def test_checkpoints_cover_each_member_of_the_parent_exactly_once(
    drawn: tuple[Qualifier, int, int],
) -> None:
    qualifier, grouping, parent = drawn
    first, end = PARENT[qualifier].down(parent, qualifier)
    reached = first
    for member in range(first, end):
        span = covered(qualifier, member, grouping)
        if span is not None:
            assert span == (reached, member + 1)  # from the end of the previous span up to itself
            assert span[1] - span[0] <= grouping + (qualifier is HOURLY and reached == first)
            reached = span[1]
    assert reached == end  # nothing rolls over into the next parent


@given(groupings())
def test_each_member_finds_the_checkpoint_that_covers_it(
    drawn: tuple[Qualifier, int, int],
) -> None:
    qualifier, grouping, parent = drawn
    for member in range(*PARENT[qualifier].down(parent, qualifier)):
        span = covered(qualifier, checkpoint(qualifier, member, grouping), grouping)
        assert span is not None
        assert span[0] <= member < span[1]
