"""Due times against a slow reference that walks through every minute, or every second."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from synergy.schedule.due import Due, dues, next_due
from synergy.schedule.trigger import Trigger, parse
from tests.unit.schedule.due_reference import (
    MINUTE,
    SECOND,
    ZONES,
    Expected,
    Line,
    at_lines,
    changes,
    quartz_lines,
    unix_lines,
    walk,
)

MANY = 1_000_000


@cache
def known_changes(zone: str) -> list[datetime]:
    return changes(ZoneInfo(zone))


@st.composite
def windows(draw: st.DrawFn, longest: timedelta) -> tuple[ZoneInfo, datetime, datetime]:
    """A zone and a span of time, mostly with a clock change in it."""
    zone = draw(st.sampled_from(ZONES))
    around = known_changes(zone) or [datetime(2026, 1, 1, tzinfo=UTC)]
    minutes = draw(st.integers(0, longest // MINUTE))
    start = draw(st.sampled_from(around)) - minutes * MINUTE
    return ZoneInfo(zone), start, start + longest


def check(
    line: Line, window: tuple[ZoneInfo, datetime, datetime], step: timedelta, share: float
) -> None:
    zone, start, end = window
    trigger = parse(line.text)
    expected = walk(line, zone, start, end, step)
    found = list(dues(trigger, zone, start, end, MANY))
    assert [Expected(due.at, due.is_skipped, due.remark != "") for due in found] == expected
    for due in found:
        assert due.local == (None if due.is_skipped else due.at.astimezone(zone))
        assert due.at.tzinfo is UTC
    check_from(trigger, zone, start + share * (end - start), found)


def check_from(trigger: Trigger, zone: ZoneInfo, after: datetime, found: list[Due]) -> None:
    """Checks that the next due time does not depend on where the search begins."""
    rest = [due for due in found if due.at > after]
    if rest:
        assert next_due(trigger, zone, after) == rest[0]
        assert next_due(trigger, zone, after.astimezone(zone)) == rest[0]


shares = st.floats(0, 1, exclude_max=True)


@settings(deadline=None, max_examples=250)
@given(st.one_of(unix_lines(), at_lines()), windows(timedelta(days=1)), shares)
def test_lines_without_seconds_equal_a_walk_over_minutes(
    line: Line, window: tuple[ZoneInfo, datetime, datetime], share: float
) -> None:
    check(line, window, MINUTE, share)


@settings(deadline=None, max_examples=80)
@given(quartz_lines(), windows(timedelta(hours=3)), shares)
def test_lines_with_seconds_equal_a_walk_over_seconds(
    line: Line, window: tuple[ZoneInfo, datetime, datetime], share: float
) -> None:
    check(line, window, SECOND, share)


@settings(deadline=None, max_examples=30)
@given(
    st.one_of(unix_lines(), at_lines()),
    st.integers(0, 3 * 1440).map(
        lambda minutes: datetime(2011, 12, 28, 9, tzinfo=UTC) + minutes * MINUTE
    ),
)
def test_due_times_on_the_day_that_samoa_skipped_equal_a_walk_over_minutes(
    line: Line, start: datetime
) -> None:
    window = ZoneInfo("Pacific/Apia"), start, start + timedelta(days=2)
    check(line, window, MINUTE, 0)
