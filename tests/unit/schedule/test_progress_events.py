"""Events, composite triggers, and collecting events."""

from __future__ import annotations

import pytest

from synergy.schedule.definition import (
    AllOf,
    AnyOf,
    FirstRun,
    Partition,
    PeriodFinished,
    ProgramEnded,
)
from synergy.schedule.progress.run_building import NAMED
from tests.unit.schedule.events_kit import BOTH, P, Q
from tests.unit.schedule.kit import (
    DAY,
    Life,
    a_schedule,
    an_event,
    at,
    ended,
    partitions,
    runs,
)

# Triggers with one leg


def test_each_event_makes_a_run_of_a_trigger_with_one_leg():
    life = Life(a_schedule(P), DAY)
    (first,) = life.take(ended(7, when=at("10:00")), at("10:00:05"))
    (second,) = life.take(ended(9, when=at("10:01")), at("10:01:05"))
    assert (first.key, second.key) == ("events:j7.0", "events:j9.0")
    assert first.due_at == first.created_at == at("10:00:05")
    assert first.cause == {"events": ["run7"], "count": 1, "process": "P", "status": "processed"}
    assert life.progress.collecting is None


@pytest.mark.parametrize(
    ("process", "status", "runs_it"),
    [
        ("Q", "processed", True), ("Q", "noop", True), ("Q", "failed", False),
        ("P", "processed", False), ("q", "processed", False),
    ],
)  # fmt: skip
def test_a_program_leg_is_met_by_its_statuses_only(process, status, runs_it):
    life = Life(a_schedule(Q), DAY)
    assert bool(life.take(ended(1, process, status))) is runs_it


@pytest.mark.parametrize(
    ("status", "runs_it"),
    [("processed", True), ("noop", False), ("skipped", False), ("failed", False),
     ("given_up", False), ("in_progress", False), ("", False)],
)  # fmt: skip
def test_a_timetable_leg_is_met_by_a_processed_period_and_names_it(status, runs_it):
    life = Life(a_schedule(PeriodFinished("P")), DAY)
    period = {
        "timeperiod": "2026030900", "start": "2026030900", "end": "2026031000", "generation": 2,
    }  # fmt: skip
    made = life.take(ended(1, "P", status, **period))
    assert bool(made) is runs_it
    if runs_it:
        assert {name: made[0].cause[name] for name in period} == period


def test_a_journal_entry_of_neighbouring_periods_counts_for_each_period():
    life = Life(a_schedule(PeriodFinished("P")), DAY, seen_journal=7)
    assert life.take(ended(7, part=3, timeperiod="2026030800")) == []  # before the schedule
    made = [life.take(ended(8, part=n, timeperiod=f"202603090{n}")) for n in (0, 1, 1, 2)]
    assert [[one.cause["timeperiod"] for one in some] for some in made] == [
        ["2026030900"], ["2026030901"], [], ["2026030902"],
    ]  # fmt: skip
    assert [one.key for one in life.made] == ["events:j8.0", "events:j8.1", "events:j8.2"]
    assert life.take(ended(8, part=0)) == []
    assert len(life.take(ended(9, part=0))) == 1


def test_a_program_leg_names_the_period_of_a_managed_process():
    life = Life(a_schedule(P), DAY)
    (one,) = life.take(ended(1, timeperiod="2026030900", start="2026030900", end="2026031000"))
    assert one.cause["timeperiod"] == "2026030900"


# Counted once


def test_seen_and_unrelated_events_change_nothing():
    life = Life(a_schedule(AnyOf((P, Partition("d", 5)))), DAY, seen_events=3, seen_journal=10)
    before = life.progress
    for one in (
        ended(10), ended(9), ended(11, "R"), ended(11, status="failed"),
        partitions(3, 9), partitions(1, 9), partitions(4, 9, "e"), an_event(4, "FILE", "d"),
    ):  # fmt: skip
        assert life.take(one, at("10:00")) == []
        assert life.progress is before or life.progress == before
    assert len(life.take(ended(11))) == 1
    assert len(life.take(partitions(4, 5))) == 1


def test_events_and_journal_entries_have_separate_numbers():
    life = Life(a_schedule(AnyOf((P, Partition("d")))), DAY)
    assert [one.key for one in life.take(partitions(5))] == ["events:e5"]
    assert [one.key for one in life.take(ended(2))] == ["events:j2.0"]


def test_an_ended_job_meets_program_legs_and_timetable_legs():
    life = Life(a_schedule(AllOf((P, PeriodFinished("P")))), DAY)
    assert len(life.take(ended(1, timeperiod="2026030900"))) == 1


# Partitions


def test_partitions_are_summed_and_the_surplus_is_consumed():
    life = Life(a_schedule(Partition("d", 3)), DAY)
    assert life.take(partitions(1, 2, when=at("10:00"))) == []
    (one,) = life.take(partitions(2, 4, when=at("11:00")))
    assert one.key == "events:e1"
    assert one.created_at == at("10:00")
    assert one.due_at == at("11:00")
    assert one.cause == {"events": ["id1", "id2"], "count": 2}
    assert life.take(partitions(3, 2)) == []
    assert len(life.take(partitions(4, 1))) == 1


def test_a_run_names_its_newest_events_and_counts_all():
    life = Life(a_schedule(Partition("d", 1000)), DAY)
    for seq in range(1, 1000):
        assert life.take(partitions(seq)) == []
    (one,) = life.take(partitions(1000))
    assert one.cause["count"] == 1000
    assert one.cause["events"] == [f"id{seq}" for seq in range(1001 - NAMED, 1001)]


# Legs stay met


def test_a_leg_stays_met_until_a_run_consumes_all_legs():
    life = Life(a_schedule(BOTH), DAY)
    assert life.take(ended(1, "P", when=at("08:00"))) == []
    assert life.take(ended(2, "P", when=at("09:00"))) == []
    (one,) = life.take(ended(3, "Q", when=at("10:00")))
    assert one.cause["events"] == ["run1", "run2", "run3"]
    assert life.take(ended(4, "Q")) == []  # P needs another event after the run
    assert len(life.take(ended(5, "P"))) == 1


def test_a_run_by_another_leg_consumes_all_collected_events():
    life = Life(a_schedule(AnyOf((BOTH, ProgramEnded("R", ("processed",))))), DAY)
    life.take(ended(1, "P"))
    (one,) = life.take(ended(2, "R"))
    assert one.key == "events:j1.0"
    assert life.take(ended(3, "Q")) == []


def test_a_run_names_its_period_even_if_something_else_ended_later():
    life = Life(a_schedule(AllOf((PeriodFinished("P"), Q))), DAY)
    life.take(ended(1, "P", timeperiod="2026030900", start="2026030900", end="2026031000"))
    (one,) = life.take(ended(2, "Q"))
    assert (one.cause["process"], one.cause["timeperiod"]) == ("P", "2026030900")


# Beginning


def test_a_schedule_that_begins_again_ignores_earlier_events():
    old = Life(a_schedule(BOTH), DAY)
    old.take(ended(1, "P"))
    life = Life(a_schedule(BOTH), at("10:00"), seen_journal=5)
    assert life.take(ended(5, "P", when=at("10:01"))) == []
    assert life.take(ended(6, "Q", when=at("10:01"))) == []
    assert [one.key for one in life.take(ended(7, "P", when=at("10:02")))] == ["events:j6.0"]


def test_a_schedule_of_events_may_have_an_immediate_first_run():
    life = Life(a_schedule(P, first_run=FirstRun.IMMEDIATELY), at("10:00"))
    assert [one.key for one in runs(life.made)] == ["first"]
    assert life.wake_at() is None
    assert [one.key for one in life.take(ended(1))] == ["events:j1.0"]
