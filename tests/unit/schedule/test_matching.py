"""Event keys, by which an event finds the schedules that listen, and the legs it concerns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synergy.schedule.check_context import OF_JOBS
from synergy.schedule.definition import (
    AllOf,
    AnyOf,
    Elapsed,
    EventTrigger,
    EventType,
    Generations,
    Once,
    Partition,
    PeriodFinished,
    ProgramEnded,
)
from synergy.schedule.progress.event_keys import event_keys, keys
from synergy.schedule.progress.event_matching import alone, concerns
from tests.unit.schedule.kit import DAY, HOUR, an_event, ended, partitions, times

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
def test_an_event_is_looked_up_by_its_resource_and_the_folders_above_it(kind, resource, expected):
    assert event_keys(kind, resource) == expected


def test_a_schedule_listens_to_the_keys_of_all_its_legs():
    trigger = AllOf(
        (
            AnyOf((EventTrigger(EventType.FILE, "/dir/path/", HOUR), P)),
            AllOf((EventTrigger(EventType.TABLE, "t/", HOUR), Partition("d"))),
            EventTrigger(EventType.TIME_BASED, "cron", HOUR),
            EventTrigger(EventType.FILE, "/", HOUR),
            PeriodFinished("P"),
            P,
            times("every 60"),
            Once(DAY),
            Elapsed(HOUR),
        )
    )
    assert keys(trigger) == (
        "FILE|", "FILE|/dir/path", "PARTITION|d", "TABLE|t/", "TIME BASED|cron", "program|P",
        "timetable|P",
    )  # fmt: skip


def test_a_time_trigger_has_no_event_keys():
    assert keys(times("every 60")) == ()


PATHS = st.text("/ab", min_size=1, max_size=6)


@given(wanted=PATHS, resource=PATHS)
def test_an_event_finds_exactly_the_schedules_that_it_concerns(wanted, resource):
    leaf = EventTrigger(EventType.FILE, wanted, HOUR)
    below = wanted.rstrip("/") + "/"
    is_meant = resource.rstrip("/") + "/" == below or resource.startswith(below)
    found = set(keys(leaf)) & set(event_keys("FILE", resource))
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
        (PeriodFinished("P"), ended(1, "P"), True),
        (PeriodFinished("P"), ended(1, "Q"), False),
        (
            PeriodFinished("P"),
            an_event(1, "timetable", "P", process="P", status="processed"),
            False,
        ),
        (EventTrigger(EventType.FILE, "P", HOUR), ended(1, "P"), False),
        (times("every 60"), an_event(1), False),
        (Once(DAY), an_event(1), False),
        (Elapsed(HOUR), an_event(1), False),
    ],
)
def test_an_occurrence_concerns_legs_of_its_kind_and_subject(leaf, one, is_meant):
    assert concerns(leaf, one) is is_meant


def test_a_leg_under_any_of_only_meets_the_trigger_alone():
    line, other = times("every 60"), times("every 90")
    trigger = AnyOf((line, AllOf((other, P)), AnyOf((P, AnyOf((other,))))))
    assert list(alone(trigger)) == [("0", line), ("2.0", P), ("2.1.0", other)]
    assert list(alone(line)) == [("", line)]
    assert list(alone(AllOf((line, AnyOf((other,)))))) == []


@pytest.mark.parametrize("status", [*OF_JOBS, "in_progress", ""])
@pytest.mark.parametrize(
    "meant", [("processed",), ("processed", "noop"), ("failed", "given_up"), ("skipped",)]
)
@pytest.mark.parametrize("generations", Generations)
@pytest.mark.parametrize("generation", [1, 2, 7])
def test_a_period_counts_by_its_state_and_generation(status, meant, generations, generation):
    leaf = PeriodFinished("P", meant, generations)
    is_meant = status in meant and (generation == 1 or generations is Generations.ALL)
    assert concerns(leaf, ended(1, "P", status, generation=generation)) is is_meant


def test_by_default_processed_periods_count_in_every_generation():
    leaf = PeriodFinished("P")
    counting = {
        (status, generation)
        for status in OF_JOBS
        for generation in (1, 2)
        if concerns(leaf, ended(1, "P", status, generation=generation))
    }
    assert counting == {("processed", 1), ("processed", 2)}
