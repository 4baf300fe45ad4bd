"""`end`, `max_runs`, `jitter`, `exclude`, `overlap` and the like: forms, and reported mistakes."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta

import pytest

from synergy.schedule.check_context import InvalidDefinition, Known
from synergy.schedule.definition import AnyOf, Overlap, Times
from synergy.schedule.format.read import read, warnings
from synergy.schedule.format.summary import summarize
from synergy.schedule.format.write import write
from synergy.schedule.interval import Jitter

BASE = {"name": "s", "process": "W", "trigger": "cron 0 9 * * *"}
ALL = {
    "end": "2026-12-31T00:00:00Z",
    "max_runs": 3,
    "jitter": "5m",
    "exclude": ["2026-12-25", "2026-12-26"],
    "overlap": "buffer_one",
    "coalesce": True,
    "pause_after_failures": 2,
}
EVENT = {"event": {"type": "FILE", "resource": "/a", "life": 0}}


def test_the_limits_are_read_and_written_back():
    definition = read({**BASE, "trigger": {"any_of": ["cron 0 9 * * *", EVENT]}, **ALL}, Known())
    assert definition.end == datetime(2026, 12, 31, tzinfo=UTC)
    assert (definition.max_runs, definition.pause_after_failures) == (3, 2)
    assert definition.exclude == (date(2026, 12, 25), date(2026, 12, 26))
    assert (definition.overlap, definition.coalesce) == (Overlap.BUFFER_ONE, True)
    assert isinstance(definition.trigger, AnyOf)
    leaf = definition.trigger.legs[0]
    assert isinstance(leaf, Times)
    assert leaf.jitter == Jitter(timedelta(minutes=5), "s")
    written = json.loads(json.dumps(write(definition)))
    assert {name: written[name] for name in ALL} == ALL
    assert read(written, Known()) == definition
    assert warnings(definition) == []


def test_without_them_nothing_is_limited():
    definition = read(BASE, Known())
    assert ALL.keys().isdisjoint(write(definition))
    assert definition.overlap is None
    assert summarize(definition) == "at 09:00 every day, UTC: runs W"


def test_dates_are_sorted_and_counted_once():
    days = ["2026-12-26", "2026-12-25", date(2026, 12, 26)]
    assert read({**BASE, "exclude": days}, Known()).exclude == (
        date(2026, 12, 25),
        date(2026, 12, 26),
    )
    assert read({**BASE, "exclude": "2026-12-25"}, Known()).exclude == (date(2026, 12, 25),)


def test_the_limits_in_words():
    of_events = {**BASE, **ALL, "trigger": EVENT, "jitter": None, "exclude": None}
    assert summarize(read(of_events, Known())) == (
        "event FILE /a, until 2026-12-31T00:00:00Z, at most 3 runs, one waits during a run, "
        "events join a run that waits, disabled after 2 failures in a row: runs W"
    )
    some = {"jitter": "5m", "exclude": ["2026-12-25"], "max_runs": 1, "overlap": "cancel_other"}
    assert summarize(read({**BASE, **some, "pause_after_failures": 1}, Known())) == (
        "at 09:00 every day, UTC, up to 5m later, except on 2026-12-25, at most 1 run, "
        "cancels the run before it, disabled after 1 failure: runs W"
    )
    assert "except on 2 dates" in summarize(read({**BASE, **ALL}, Known()))


def test_coalescing_without_events_is_warned_of():
    definition = read({**BASE, "coalesce": True}, Known())
    assert warnings(definition) == ["coalesce: no event triggers this schedule"]


INTERVAL = {"interval": {"hours": 1, "start": "2026-01-05T08:00:00Z", "jitter": "5m"}}
NO_DATES = "expected a trigger with cron, every, at, interval or calendar_interval"


@pytest.mark.parametrize(
    ("fields", "mistake"),
    [
        (
            {"overlap": "foo"},
            "overlap: unknown value 'foo': expected one of allow, buffer_all, buffer_one, "
            "cancel_other, skip",
        ),
        ({"overlap": "buffer"}, "overlap: unknown value 'buffer': did you mean buffer_one?"),
        ({"max_runs": 0}, "max_runs: expected a whole number, 1 to 1,000,000, not the number 0"),
        ({"max_run": 1}, "unknown field max_run: did you mean max_runs?"),
        (
            {"pause_after_failures": 101},
            "pause_after_failures: expected a whole number, 1 to 100, not the number 101",
        ),
        ({"coalesce": "yes"}, "coalesce: expected true or false, not 'yes'"),
        ({"from": "2026-12-02", "end": "2026-12-01"}, "end: '2026-12-01' is before from"),
        ({"end": "soon"}, "end: expected an instant such as '2026-11-22T00:00:00Z', not 'soon'"),
        ({"exclude": ["2026-02-30"]}, "exclude 1: there is no such date as '2026-02-30'"),
        (
            {"exclude": ["2026-12-25", 5]},
            "exclude 2: expected a date such as '2026-11-22', not the number 5",
        ),
        (
            {"exclude": "holidays.ics"},
            "exclude 1: expected a date such as '2026-11-22', not 'holidays.ics'; a calendar file "
            "is read by `launch.py schedule add` and context.py only",
        ),
        ({"exclude": {"dates": []}}, "exclude: expected a list of dates, not a mapping"),
        ({"exclude": ["2026-12-25"] * 2001}, "exclude: 2,001 dates: the most is 2,000"),
        ({"exclude": ["2026-12-25"], "trigger": EVENT}, f"exclude: {NO_DATES}"),
        ({"jitter": "5m", "trigger": EVENT}, f"jitter: {NO_DATES}, or elapsed"),
        (
            {"jitter": "31m", "trigger": {"elapsed": "1h"}},
            "jitter: expected at most half of the time between two runs, 30m",
        ),
        ({"jitter": 0.5}, "jitter: expected whole seconds, not the number 0.5"),
        (
            {"jitter": "31s", "trigger": "every 60"},
            "jitter: expected at most half of the time between two runs, 30s",
        ),
        (
            {"jitter": "6m", "cron": ["0 9 * * *", "0,10 10 * * *"], "trigger": None},
            "jitter: expected at most half of the time between two runs, 5m",
        ),
        (
            {"jitter": "5m", "trigger": INTERVAL},
            "jitter: the interval has a jitter of its own: expected one of them",
        ),
    ],
)
def test_each_mistake_is_reported_once(fields, mistake):
    with pytest.raises(InvalidDefinition) as found:
        read({**BASE, **fields}, Known())
    assert found.value.mistakes == (mistake,)
