"""Event keys, by which an event finds the schedules that listen, and what it means for legs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synergy.schedule.definition import (
    AllOf,
    AnyOf,
    Elapsed,
    EventType,
    Happened,
    Once,
    Partition,
    PeriodFinished,
    ProgramEnded,
)
from synergy.schedule.matching import alone, concerns
from synergy.schedule.progress import event_keys, keys
from tests.unit.schedule.kit import DAY, HOUR, a_schedule, an_event, ended, partitions, times

P = ProgramEnded("P", ("processed",))


@pytest.mark.parametrize(
    ("kind", "resource", "expected"),
    [
        ("FILE", "/dir/path/x", ("FILE|/dir/path/x", "FILE|/dir/path", "FILE|/dir", "FILE|")),
        ("FILE", "/dir/", ("FILE|/dir", "FILE|")),
        ("FILE", "/", ("FILE|",)),
        ("FILE", "x", ("FILE|x",)),
        ("FILE", "a/b", ("FILE|a/b", "FILE|a")),
        ("FILE", "/a//b", ("FILE|/a//b", "FILE|/a", "FILE|")),
        ("FILE", "s3://b/x", ("FILE|s3://b/x", "FILE|s3://b", "FILE|s3:")),
        ("TABLE", "a/b/", ("TABLE|a/b/",)),
        ("TIME BASED", "cron", ("TIME BASED|cron",)),
        ("PARTITION", "d", ("PARTITION|d",)),
    ],
)
def test_the_keys_of_an_event(kind, resource, expected):
    assert event_keys(kind, resource) == expected


def test_the_keys_of_a_schedule():
    trigger = AllOf(
        (
            AnyOf((Happened(EventType.FILE, "/dir/path/", HOUR), P)),
            AllOf((Happened(EventType.TABLE, "t/", HOUR), Partition("d"))),
            Happened(EventType.TIME_BASED, "cron", HOUR),
            Happened(EventType.FILE, "/", HOUR),
            PeriodFinished("P"),
            P,
            times("every 60"),
            Once(DAY),
            Elapsed(HOUR),
        )
    )
    assert keys(a_schedule(trigger)) == (
        "FILE|", "FILE|/dir/path", "PARTITION|d", "TABLE|t/", "TIME BASED|cron", "program|P",
        "timetable|P",
    )  # fmt: skip


def test_time_listens_to_nothing():
    assert keys(a_schedule(times("every 60"))) == ()


PATHS = st.text("/ab", min_size=1, max_size=6)


@given(wanted=PATHS, resource=PATHS)
def test_an_event_finds_those_it_concerns_and_no_others(wanted, resource):
    leaf = Happened(EventType.FILE, wanted, HOUR)
    below = wanted.rstrip("/") + "/"
    is_meant = resource.rstrip("/") + "/" == below or resource.startswith(below)
    found = set(keys(a_schedule(leaf))) & set(event_keys("FILE", resource))
    assert bool(found) is is_meant
    assert concerns(leaf, an_event(1, "FILE", resource)) is is_meant


@pytest.mark.parametrize(
    ("leaf", "one", "is_meant"),
    [
        (Partition("d"), partitions(1, 1, "d"), True),
        (Partition("d"), partitions(1, 1, "D"), False),
        (Partition("d"), an_event(1, "TABLE", "d"), False),
        (P, ended(1, "P"), True),
        (P, an_event(1, "program", "P", process="P", status="processed"), False),  # forged
        (PeriodFinished("P"), ended(1, "P", "skipped"), True),
        (PeriodFinished("P"), ended(1, "Q", "skipped"), False),
        (Happened(EventType.FILE, "P", HOUR), ended(1, "P"), False),
        (times("every 60"), an_event(1), False),
        (Once(DAY), an_event(1), False),
        (Elapsed(HOUR), an_event(1), False),
    ],
)
def test_what_concerns_a_leg(leaf, one, is_meant):
    assert concerns(leaf, one) is is_meant


def test_the_legs_that_meet_a_trigger_alone():
    line, other = times("every 60"), times("every 90")
    trigger = AnyOf((line, AllOf((other, P)), AnyOf((P, AnyOf((other,))))))
    assert list(alone(trigger)) == [("0", line), ("2.0", P), ("2.1.0", other)]
    assert list(alone(line)) == [("", line)]
    assert list(alone(AllOf((line, AnyOf((other,)))))) == []
