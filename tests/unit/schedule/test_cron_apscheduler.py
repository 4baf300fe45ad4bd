"""Due times equal APScheduler's where the rules are equal: in UTC, with one day field `*`."""

from __future__ import annotations

from datetime import UTC, datetime

from apscheduler.triggers.cron import CronTrigger
from hypothesis import given
from hypothesis import strategies as st

from synergy.schedule import trigger

_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_SECONDS = st.integers(915_148_800, 3_786_912_000)  # from 1999 to 2090
_INSTANTS = st.builds(datetime.fromtimestamp, _SECONDS, st.just(UTC))


def _some(low, high):
    return st.lists(st.integers(low, high), min_size=1, max_size=4, unique=True)


def _field(numbers):
    return ",".join(map(str, sorted(numbers)))


@given(
    _some(0, 59), _some(0, 23), _some(1, 28), _some(1, 12), _some(0, 6), st.booleans(), _INSTANTS
)
def test_due_times_equal_those_of_apscheduler(
    minutes, hours, days, months, weekdays, by_day, instant
):
    day, weekday = (_field(days), "*") if by_day else ("*", _field(weekdays))
    named = None if by_day else ",".join(_WEEKDAYS[number] for number in sorted(weekdays))
    ours = trigger.parse(f"cron {_field(minutes)} {_field(hours)} {day} {_field(months)} {weekday}")
    theirs = CronTrigger(
        minute=_field(minutes),
        hour=_field(hours),
        day=day,
        month=_field(months),
        day_of_week=named,
        timezone=UTC,
    )
    at = instant
    for _ in range(3):
        expected = theirs.get_next_fire_time(at, at)
        at = ours.next_after(at)
        assert at == expected
