"""`interval` and `calendar_interval` against slow references that share nothing with them."""

from __future__ import annotations

import calendar
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from synergy.schedule.due import dues, next_due
from synergy.schedule.interval import CalendarInterval, Interval, TimeTrigger
from synergy.schedule.progress.state import Made
from tests.unit.schedule.due_reference import MINUTE, ZONES, Expected, Line, changes, walk
from tests.unit.schedule.kit import Life, Times, a_schedule, runs

MANY = 1_000_000
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
CHANGES = {name: changes(ZoneInfo(name)) or [datetime(2026, 1, 1, tzinfo=UTC)] for name in ZONES}

instants = st.integers(0, 4_000_000_000).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))
days = st.dates(date(1970, 1, 1), date(2090, 12, 31))
minutes = st.builds(time, st.integers(0, 23), st.integers(0, 59))


def month_after(day: date, months: int) -> tuple[int, int]:
    for _ in range(months):
        day = day.replace(day=28) + timedelta(days=4)
    return day.year, day.month


def dates_of(trigger: CalendarInterval, until: date) -> list[date]:
    """All dates of a trigger, one step after the other from its start."""
    found: list[date] = []
    counted = trigger.start
    while counted <= until:
        if trigger.days:
            found.append(counted)
            counted += timedelta(days=trigger.days)
            continue
        length = calendar.monthrange(counted.year, counted.month)[1]
        if trigger.is_last_day or trigger.start.day <= length:
            found.append(counted.replace(day=length if trigger.is_last_day else trigger.start.day))
        counted = date(*month_after(counted, trigger.months), 1)
    return [day for day in found if trigger.end is None or day <= trigger.end]


@st.composite
def calendar_intervals(draw: st.DrawFn, start: st.SearchStrategy[date]) -> CalendarInterval:
    first = draw(start)
    months = draw(st.just(0) | st.integers(1, 14))
    return CalendarInterval(
        months=months,
        days=0 if months else draw(st.integers(1, 40)),
        at=draw(minutes),
        start=first,
        end=draw(st.none() | st.integers(0, 900).map(lambda days: first + days * DAY)),
        is_last_day=bool(months) and draw(st.booleans()),
    )


@settings(max_examples=300)
@given(calendar_intervals(days), st.integers(-400, 2000))
def test_the_next_date_of_a_calendar_interval_equals_a_walk_from_its_start(
    trigger: CalendarInterval, ahead: int
) -> None:
    after = datetime.combine(trigger.start, time(12), UTC) + ahead * DAY
    until = after + 1200 * DAY
    found = [due.at for due in dues(trigger, ZoneInfo("UTC"), after, until, MANY)]
    all_of_them = [
        datetime.combine(day, trigger.at, UTC) for day in dates_of(trigger, until.date())
    ]
    assert found == [at for at in all_of_them if after < at <= until]


@st.composite
def around_changes(draw: st.DrawFn) -> tuple[CalendarInterval, ZoneInfo, datetime]:
    """A trigger that is due on a day near a clock change, and the start of its window."""
    name = draw(st.sampled_from(ZONES))
    start = draw(st.sampled_from(CHANGES[name])) - draw(st.integers(0, 1440)) * MINUTE
    day = start.astimezone(ZoneInfo(name)).date() + draw(st.integers(0, 2)) * DAY
    trigger = draw(calendar_intervals(st.just(day - draw(st.integers(0, 60)) * DAY)))
    at = time(draw(st.integers(0, 4)), draw(st.integers(0, 59)))
    days = draw(st.integers(1, 3))
    changed = CalendarInterval(days=days, at=at, start=trigger.start, end=trigger.end)
    return draw(st.sampled_from([trigger, changed])), ZoneInfo(name), start


@settings(deadline=None, max_examples=200)
@given(around_changes(), st.floats(0, 1, exclude_max=True))
def test_calendar_intervals_equal_a_walk_across_clock_changes(
    case: tuple[CalendarInterval, ZoneInfo, datetime], share: float
) -> None:
    trigger, zone, start = case
    end = start + DAY
    matching = {
        datetime.combine(day, trigger.at) for day in dates_of(trigger, end.date() + 2 * DAY)
    }
    line = Line("", matching.__contains__)
    found = list(dues(trigger, zone, start, end, MANY))
    summarized = [Expected(due.at, due.is_skipped, due.remark != "") for due in found]
    assert summarized == walk(line, zone, start, end, MINUTE)
    after = start + share * DAY
    assert list(dues(trigger, zone, after, end, MANY)) == [due for due in found if due.at > after]


@given(
    instants,
    st.integers(1, 10**7),
    st.none() | st.integers(0, 10**9),
    st.timedeltas(-DAY, 20_000 * DAY) | st.integers(-5, 200).map(lambda n: n * DAY),
)
def test_an_interval_is_due_at_its_start_and_its_multiples(
    start: datetime, seconds: int, lasts: int | None, ahead: timedelta
) -> None:
    length = timedelta(seconds=seconds)
    end = None if lasts is None else start + timedelta(seconds=lasts)
    due = next_due(Interval(length=length, start=start, end=end), ZoneInfo("UTC"), start + ahead)
    expected = start + max(ahead // length + 1, 0) * length
    assert (due and due.at) == (None if end is not None and expected > end else expected)


jittery = st.one_of(
    st.builds(
        lambda hours, half: Interval(
            length=hours * HOUR,
            start=datetime(2026, 3, 1, tzinfo=UTC),
            end=datetime(2026, 5, 1, tzinfo=UTC),
            jitter=hours * HOUR / 2 if half else timedelta(seconds=7),
            seed="s",
        ),
        st.integers(1, 30),
        st.booleans(),
    ),
    st.builds(
        lambda days, at: CalendarInterval(
            days=days, at=at, start=date(2026, 3, 1), end=date(2026, 5, 1),
            jitter=days * DAY / 2, seed="s",
        ),
        st.integers(1, 5),
        minutes,
    ),
)  # fmt: skip


def undelayed(trigger: Interval | CalendarInterval) -> TimeTrigger:
    fields = {name: getattr(trigger, name) for name in trigger.__slots__}
    return type(trigger)(**{**fields, "jitter": timedelta(0)})


@settings(deadline=None, max_examples=60)
@given(jittery, st.sampled_from(["Europe/Berlin", "America/New_York"]), st.floats(0, 60))
def test_jitter_delays_each_due_time_and_drops_none(
    trigger: Interval | CalendarInterval, name: str, ahead: float
) -> None:
    zone, start = ZoneInfo(name), datetime(2026, 2, 1, tzinfo=UTC)
    end = start + 200 * DAY
    planned = [due.at for due in dues(undelayed(trigger), zone, start, end, MANY)]
    delayed = [due.at for due in dues(trigger, zone, start, end, MANY)]
    assert len(delayed) == len(planned)
    assert all(
        timedelta(0) <= b - a <= trigger.jitter for a, b in zip(planned, delayed, strict=True)
    )
    assert all(earlier < later for earlier, later in pairwise(delayed))
    after = datetime(2026, 3, 1, tzinfo=UTC) + ahead * DAY
    due = next_due(trigger, zone, after)
    assert (due and due.at) == next((at for at in delayed if at > after), None)


@settings(deadline=None, max_examples=60)
@given(jittery, st.lists(st.integers(1, 400), min_size=1, max_size=20))
def test_runs_do_not_depend_on_when_decisions_are_made(
    trigger: Interval | CalendarInterval, hours: list[int]
) -> None:
    """An agent with outages makes the same runs as an agent without any."""
    start = datetime(2026, 2, 20, tzinfo=UTC)
    definition = a_schedule(Times(trigger), zone="Europe/Berlin", catchup_max=10_000)
    now, lazy = start, Life(definition, start)
    made: list[Made] = []
    for wait in hours:
        now += wait * HOUR
        made += runs(lazy.catch_up(now))
    prompt = Life(definition, start)
    every_time: list[Made] = []
    while (wakes := prompt.wake_at()) is not None and wakes <= now:
        every_time += runs(prompt.pass_time(wakes))
    assert [(one.key, one.due_at) for one in made] == [(one.key, one.due_at) for one in every_time]
    assert len({one.key for one in made}) == len(made)
