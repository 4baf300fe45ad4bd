"""Triggers and constraints as people write them."""

from __future__ import annotations

from datetime import time, timedelta

import pytest

from synergy.schedule import trigger
from synergy.schedule.definition import (
    AllOf,
    AnyOf,
    AtMost,
    Concurrency,
    Constraint,
    Delay,
    Elapsed,
    EventTrigger,
    EventType,
    Generations,
    Load,
    LoadOf,
    Once,
    Partition,
    PeriodFinished,
    ProgramEnded,
    Scope,
    SinceLastRun,
    Times,
    TimeWindow,
    Trigger,
    WhenUnmet,
)
from synergy.schedule.format.read import read
from tests.unit.schedule.reading_kit import ANY, EVERY_MINUTE, NOON

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def with_trigger(value: object) -> Trigger:
    return read({"name": "s", "process": "P", "trigger": value}, ANY).trigger


def with_constraint(value: object, **more: object) -> Constraint:
    data = {"name": "s", "process": "P", "trigger": "every 60", "group": "g", **more}
    (constraint,) = read({**data, "constraints": [value]}, ANY).constraints
    return constraint


# Triggers


def times(text: str) -> Times:
    return Times(trigger.parse(text))


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("cron 0 2 * * *", times("cron 0 2 * * *")),
        ({"cron": "0 2 * * *"}, times("cron 0 2 * * *")),
        ({"cron": ["0 2 * * *"]}, times("cron 0 2 * * *")),
        ({"cron": ["0 2 * * *", "0  2 * * *"]}, times("cron 0 2 * * *")),
        (
            {"cron": ["0 2 * * *", "0 0 3 ? * MON"]},
            AnyOf((times("cron 0 2 * * *"), times("cron 0 0 3 ? * MON"))),
        ),
        ({"every": 60}, EVERY_MINUTE),
        ({"every": "60"}, EVERY_MINUTE),
        ({"at": "5-18:30, 12:00"}, times("at 12:00, 5-18:30")),
        ({"once": "2026-11-22T12:00:00Z"}, Once(NOON)),
        ({"once": "2026-11-22 12:00"}, Once(NOON)),
        ({"elapsed": "1h"}, Elapsed(HOUR)),
        ({"elapsed": {"duration": 1}}, Elapsed(timedelta(seconds=1))),
        ({"partition": "d"}, Partition("d", 1)),
        ({"partition": {"dataset": "d", "n": 3}}, Partition("d", 3)),
        ({"program": "Q"}, ProgramEnded("Q", ("processed",))),
        ({"program": {"process": "Q", "statuses": "failed"}}, ProgramEnded("Q", ("failed",))),
        (
            {"program": {"process": "Q", "statuses": ["noop", "processed", "noop"]}},
            ProgramEnded("Q", ("noop", "processed")),
        ),
        ({"timetable": "Q"}, PeriodFinished("Q")),
        ({"timetable": {"process": "Q"}}, PeriodFinished("Q")),
        ({"timetable": {"process": "Q", "statuses": "noop"}}, PeriodFinished("Q", ("noop",))),
        (
            {"timetable": {
                "process": "Q", "statuses": ["given_up", "failed", "failed"],
                "generations": "first",
            }},
            PeriodFinished("Q", ("given_up", "failed"), Generations.FIRST),
        ),
        (
            {"timetable": {"process": "Q", "statuses": ["processed"], "generations": "all"}},
            PeriodFinished("Q"),
        ),
        (
            {"event": {"type": "TABLE", "resource": "a/", "life": 0}},
            EventTrigger(EventType.TABLE, "a/", timedelta(0)),
        ),
        (
            {"event": {"type": "FILE", "resource": "/a/b//", "life": "1h"}},
            EventTrigger(EventType.FILE, "/a/b", HOUR),
        ),
        (
            {"event": {"type": "FILE", "resource": "/", "life": "1h"}},
            EventTrigger(EventType.FILE, "/", HOUR),
        ),
        (
            {"all_of": ["every 60", {"any_of": [{"timetable": "Q"}, {"partition": "d"}]}]},
            AllOf((EVERY_MINUTE, AnyOf((PeriodFinished("Q"), Partition("d"))))),
        ),
    ],
)  # fmt: skip
def test_each_form_of_a_trigger_is_read(written: object, expected: Trigger) -> None:
    assert with_trigger(written) == expected


def test_cron_and_when_are_short_for_triggers() -> None:
    data = {"name": "s", "process": "P"}
    assert read({**data, "cron": "0 2 * * *"}, ANY).trigger == times("cron 0 2 * * *")
    assert read({**data, "cron": ["@daily", "0 2 * * *"]}, ANY).trigger == AnyOf(
        (times("cron 0 0 * * *"), times("cron 0 2 * * *"))
    )
    assert read({**data, "when": "2026-11-22T12:00:00Z"}, ANY).trigger == Once(NOON)


@pytest.mark.parametrize("kind", ["TIME BASED", "TIME_BASED", "TIME_BASED_CRON"])
@pytest.mark.parametrize("life", [0, "0", "0s", 0.0])
def test_dependencies_are_an_all_of_events_with_lifetimes(kind: str, life: object) -> None:
    definition = read(
        {
            "name": "s",
            "process": "P",
            "dependencies": [
                {"type": "FILE", "resourceId": "/dir/path/", "lifeDuration": "3600"},
                {"type": kind, "resourceId": "cron", "lifeDuration": life},
            ],
        },
        ANY,
    )
    assert definition.trigger == AllOf(
        (
            EventTrigger(EventType.FILE, "/dir/path", HOUR),
            EventTrigger(EventType.TIME_BASED, "cron", timedelta(0)),
        )
    )


# Constraints


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({"concurrency": 1}, Concurrency(1, Scope.PROGRAM, WhenUnmet.ABORT)),
        (
            {"concurrency": {"n": 2, "scope": "group", "when_unmet": "wait"}},
            Concurrency(2, Scope.GROUP, WhenUnmet.WAIT),
        ),
        ({"delay": "5m"}, Delay(5 * MINUTE)),
        ({"delay": {"duration": 300, "when_unmet": "wait"}}, Delay(5 * MINUTE)),
        (
            {"time_window": {"start": "22:00", "end": "6:30", "zone": "Asia/Tokyo"}},
            TimeWindow(time(22), time(6, 30), "Asia/Tokyo", WhenUnmet.WAIT),
        ),
        (
            {"time_window": {"start": "00:00", "end": "00:01", "when_unmet": "abort"}},
            TimeWindow(time(0), time(0, 1), "UTC", WhenUnmet.ABORT),
        ),
        ({"since_last_run": "1h"}, SinceLastRun(HOUR, WhenUnmet.ABORT)),
        (
            {"since_last_run": {"duration": "1h", "when_unmet": "wait"}},
            SinceLastRun(HOUR, WhenUnmet.WAIT),
        ),
        ({"at_most": {"n": 3, "per": "hour"}}, AtMost(3, HOUR, WhenUnmet.WAIT)),
        ({"at_most": {"n": 3, "per": "week"}}, AtMost(3, timedelta(days=7))),
        (
            {"at_most": {"n": 3, "per": "90s", "when_unmet": "abort"}},
            AtMost(3, timedelta(seconds=90), WhenUnmet.ABORT),
        ),
        ({"load": 0.8}, Load(0.8, LoadOf.BOX, WhenUnmet.WAIT)),
        (
            {"load": {"max": 100, "of": "queue", "when_unmet": "abort"}},
            Load(100.0, LoadOf.QUEUE, WhenUnmet.ABORT),
        ),
    ],
)
def test_each_form_of_a_constraint_is_read(written: object, expected: Constraint) -> None:
    assert with_constraint(written) == expected


def test_a_window_without_a_zone_has_that_of_its_schedule() -> None:
    window = {"time_window": {"start": "22:00", "end": "06:00"}}
    expected = TimeWindow(time(22), time(6), "Europe/Berlin")
    assert with_constraint(window, zone="Europe/Berlin") == expected
