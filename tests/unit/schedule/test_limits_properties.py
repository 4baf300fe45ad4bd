"""Limited schedules make the same runs however often an agent looks."""

from __future__ import annotations

from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from synergy.schedule.format.limits import delayed
from synergy.schedule.interval import Jitter
from tests.unit.schedule.kit import DAY, HOUR, MINUTE, Life, a_schedule, runs, times

LINES = st.sampled_from(
    ["every 1800", "cron 0 */2 * * *", "at 00:10, 12:00, 23:50", "cron 30 2 * * *"]
)
DAYS = [date(2026, 3, day) for day in range(10, 15)]
ZONES = st.sampled_from(["UTC", "America/New_York", "Pacific/Auckland"])


@given(
    line=LINES,
    zone=ZONES,
    exclude=st.lists(st.sampled_from(DAYS), unique=True).map(sorted).map(tuple),
    jitter=st.integers(0, 600),
    end=st.none() | st.integers(0, 120),
    max_runs=st.none() | st.integers(1, 40),
    looks=st.lists(st.integers(1, 120 * 60), max_size=12),
)
def test_runs_do_not_depend_on_when_an_agent_looks(
    line, zone, exclude, jitter, end, max_runs, looks
):
    trigger = times(line)
    if jitter:
        trigger = delayed(trigger, Jitter(timedelta(seconds=jitter), "s"))
    limits = {"exclude": exclude, "max_runs": max_runs, "zone": zone, "catchup_max": 10_000}
    definition = a_schedule(trigger, end=None if end is None else DAY + end * HOUR, **limits)
    last = DAY + 120 * HOUR
    at_once, in_steps = Life(definition, DAY), Life(definition, DAY)
    at_once.catch_up(last)
    for minutes in sorted(looks):
        in_steps.catch_up(DAY + minutes * MINUTE)
    in_steps.catch_up(last)
    assert [(one.key, one.reason) for one in in_steps.made] == [
        (one.key, one.reason) for one in at_once.made
    ]
    made = runs(at_once.made)
    assert max_runs is None or len(made) <= max_runs
    assert definition.end is None or all(one.due_at <= definition.end for one in at_once.made)
