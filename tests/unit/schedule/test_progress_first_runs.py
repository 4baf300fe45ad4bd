"""First runs, single instants and elapsed times."""

from __future__ import annotations

import pytest

from synergy.schedule.definition import AllOf, AnyOf, CatchUp, Elapsed, FirstRun, Once, ProgramEnded
from tests.factories import TICK
from tests.unit.schedule.kit import (
    DAY,
    HOUR,
    HOURLY,
    MINUTE,
    SECOND,
    Life,
    a_schedule,
    at,
    ended,
    runs,
    times,
    told,
)

# The first run


def test_an_immediate_first_run_is_followed_by_the_due_times():
    life = Life(a_schedule(HOURLY, first_run=FirstRun.IMMEDIATELY), at("09:30"))
    assert [(one.key, one.due_at) for one in life.made] == [("first", at("09:30"))]
    assert life.wake_at() == at("10:00")
    assert told(life.pass_time(at("10:00"))) == [("10:00", "run")]


def test_an_immediate_first_run_waits_for_the_start():
    fields = {"first_run": FirstRun.IMMEDIATELY, "start": at("10:15")}
    life = Life(a_schedule(HOURLY, **fields), at("09:30"))
    assert life.made == []
    assert life.wake_at() == at("10:15")
    assert told(life.pass_time(at("11:00"))) == [("10:15", "run"), ("11:00", "run")]
    assert [one.key for one in life.made] == ["first", "due:2026-03-10T11:00:00Z"]


def test_the_key_of_the_first_run_does_not_depend_on_the_time():
    definition = a_schedule(HOURLY, first_run=FirstRun.IMMEDIATELY)
    assert [Life(definition, now).made[0].key for now in (DAY, at("10:00"))] == ["first", "first"]


# Once


def test_once_runs_at_its_instant_and_not_again():
    life = Life(a_schedule(Once(at("12:00"))), at("09:30"))
    assert life.made == []
    assert life.wake_at() == at("12:00")
    assert life.pass_time(at("12:00") - TICK) == []
    assert [one.key for one in life.pass_time(at("12:00"))] == ["due:2026-03-10T12:00:00Z"]
    assert life.wake_at() is None
    assert life.pass_time(at("13:00")) == []
    assert life.pass_time(at("11:00")) == []


@pytest.mark.parametrize("catchup", CatchUp)
def test_once_in_the_past_runs_immediately_with_any_catch_up_policy(catchup):
    life = Life(a_schedule(Once(at("08:00")), catchup=catchup), at("09:30"))
    assert [(one.due_at, one.created_at) for one in runs(life.made)] == [(at("08:00"), at("09:30"))]


def test_once_is_not_due_before_the_start():
    life = Life(a_schedule(Once(at("08:00")), start=at("10:00")), at("09:30"))
    assert life.wake_at() == at("10:00")
    assert told(life.pass_time(at("10:00"))) == [("10:00", "run")]


def test_once_runs_once_for_each_version():
    definition = a_schedule(Once(at("08:00")))
    keys = {
        (version, Life(definition, now, version=version).made[0].key)
        for version in (1, 2)
        for now in (at("09:00"), at("10:00"))
    }
    assert keys == {(1, "due:2026-03-10T08:00:00Z"), (2, "due:2026-03-10T08:00:00Z/2")}


def test_once_and_a_line_at_the_same_instant_are_one_run():
    life = Life(a_schedule(AnyOf((Once(at("10:00")), HOURLY))), at("09:30"))
    assert told(life.pass_time(at("10:30"))) == [("10:00", "run")]
    assert life.wake_at() == at("11:00")
    assert told(life.pass_time(at("11:00"))) == [("11:00", "run")]


def test_two_once_legs_of_one_instant_are_one_run():
    life = Life(a_schedule(AnyOf((Once(at("10:00")), Once(at("10:00")), Once(at("11:00"))))), DAY)
    assert told(life.pass_time(at("12:00"))) == [("10:00", "run"), ("11:00", "run")]
    assert life.wake_at() is None


# Elapsed


def test_elapsed_counts_from_the_beginning_and_then_from_the_last_run():
    life = Life(a_schedule(Elapsed(HOUR)), at("09:30"))
    assert life.wake_at() == at("10:30")
    assert life.pass_time(at("10:29:59")) == []
    assert told(life.pass_time(at("10:40"))) == [("10:30", "run")]
    assert life.wake_at() == at("11:40")
    assert told(life.pass_time(at("15:00"))) == [("11:40", "run")]  # one for the whole outage
    assert life.wake_at() == at("16:00")


def test_elapsed_counts_from_any_run():
    life = Life(a_schedule(AnyOf((HOURLY, Elapsed(90 * MINUTE)))), at("09:45"))
    for clock in ("10:00", "11:00", "12:00"):
        assert told(life.pass_time(at(clock))) == [(clock, "run")]
    assert life.wake_at() == at("13:00")


def test_elapsed_is_not_due_earlier_after_the_clock_went_back():
    life = Life(a_schedule(Elapsed(HOUR)), at("09:30"))
    life.pass_time(at("10:30"))
    assert life.pass_time(at("08:00")) == []
    assert life.wake_at() == at("11:30")


def test_elapsed_does_not_count_from_skipped_due_times():
    trigger = AnyOf((HOURLY, Elapsed(3 * HOUR)))
    life = Life(a_schedule(trigger, catchup=CatchUp.NONE), at("09:30"))
    assert told(life.pass_time(at("12:30"))) == [
        ("10:00", "missed"), ("11:00", "missed"), ("12:00", "missed"), ("12:30", "run"),
    ]  # fmt: skip


def test_a_missed_due_time_is_run_if_elapsed_is_due_at_it():
    trigger = AnyOf((HOURLY, Elapsed(90 * MINUTE)))
    life = Life(a_schedule(trigger, catchup=CatchUp.NONE), at("09:30"))
    assert told(life.pass_time(at("12:30"))) == [
        ("10:00", "missed"), ("12:00", "missed"), ("11:00", "run"),
    ]  # fmt: skip


def test_the_progress_of_an_idle_schedule_changes_only_when_something_is_due():
    life = Life(a_schedule(HOURLY), at("09:30"))
    before = life.progress
    life.pass_time(at("09:59:59") + SECOND - TICK)
    assert life.progress == before


def test_a_due_time_meets_its_leg_once_even_if_the_clock_goes_back():
    trigger = AllOf((ProgramEnded("P", ("processed",)), times("cron 0 * * * *")))
    life = Life(a_schedule(trigger), at("09:30"))
    assert life.pass_time(at("10:00")) == []
    assert [one.key for one in life.take(ended(1), at("09:59"))] == ["events:2026-03-10T10:00:00Z"]
    assert life.wake_at() == at("11:00")
    assert life.pass_time(at("10:00")) == []
    assert life.take(ended(2), at("10:01")) == []
    assert [one.key for one in life.pass_time(at("11:00"))] == ["events:j2.0"]
