"""Collecting events: the timeout, and legs with due times or lifetimes."""

from __future__ import annotations

from datetime import timedelta

import pytest

from synergy.lifecycle.legal_moves import RunMove
from synergy.schedule.definition import (
    AllOf,
    AnyOf,
    Elapsed,
    EventTrigger,
    EventType,
    Once,
    TimeoutPolicy,
)
from tests.factories import TICK
from tests.unit.schedule.events_kit import BOTH, P, Q
from tests.unit.schedule.kit import (
    DAY,
    HOUR,
    HOURLY,
    MINUTE,
    Life,
    a_schedule,
    an_event,
    at,
    ended,
    times,
    told,
)


def a_file(seq, when, resource="/a") -> object:
    return an_event(seq, "FILE", resource, when)


# The timeout of collecting


def collecting_since_ten(**fields) -> Life:
    life = Life(a_schedule(BOTH, **fields), DAY)
    life.take(ended(1, "P", when=at("09:59")), at("10:00"))
    return life


def test_collecting_starts_with_the_first_event_and_times_out():
    life = collecting_since_ten()
    tomorrow = at("10:00") + timedelta(days=1)
    assert life.progress.collecting.since == at("10:00")
    assert life.wake_at() == tomorrow
    assert life.pass_time(tomorrow - TICK) == []
    (one,) = life.pass_time(tomorrow)
    assert (one.key, one.ended_by) == ("events:j1.0", RunMove.ABORT)
    assert one.reason == "timed out: not triggered within 1d"
    assert one.created_at == at("10:00")
    assert one.cause["events"] == ["run1"]
    assert life.wake_at() is None
    assert life.take(ended(2, "Q", when=tomorrow)) == []  # P is dropped


def test_timeout_policy_force_runs_a_schedule_that_is_not_fully_met():
    life = collecting_since_ten(timeout=HOUR, timeout_policy=TimeoutPolicy.FORCE)
    (one,) = life.pass_time(at("11:00"))
    assert (one.key, one.ended_by) == ("events:j1.0", None)
    assert one.created_at == at("10:00")
    assert one.cause["remark"] == "timed out: not triggered within 1h"
    assert life.progress.last_run_at == at("11:00")
    assert life.take(ended(2, "Q")) == []


def test_later_events_do_not_extend_the_timeout():
    life = collecting_since_ten(timeout=HOUR)
    life.take(ended(2, "P", when=at("10:59")))
    assert life.wake_at() == at("11:00")


def test_an_event_after_the_timeout_starts_collecting_again():
    life = collecting_since_ten(timeout=HOUR)
    made = life.take(ended(2, "Q", when=at("11:00")))
    assert [(one.key, one.ended_by) for one in made] == [("events:j1.0", RunMove.ABORT)]
    assert life.progress.collecting.number == "j2.0"
    assert life.wake_at() == at("12:00")
    (one,) = life.take(ended(3, "P", when=at("11:30")))
    assert (one.key, one.created_at) == ("events:j2.0", at("11:00"))


# Time legs beside other legs


def test_a_due_time_leg_stays_met_until_a_run():
    life = Life(a_schedule(AllOf((HOURLY, P))), at("09:30"))
    assert life.wake_at() == at("10:00")
    assert life.pass_time(at("10:00")) == []
    assert life.wake_at() == at("10:00") + timedelta(days=1)  # only the timeout is left
    (one,) = life.take(ended(1, when=at("12:30")))
    assert one.key == "events:2026-03-10T10:00:00Z"
    assert (one.due_at, one.created_at) == (at("12:30"), at("10:00"))
    assert life.pass_time(at("12:45")) == []  # 11:00 and 12:00 were before the run
    assert life.wake_at() == at("13:00")


def test_a_due_time_may_complete_an_all_of():
    life = Life(a_schedule(AllOf((HOURLY, P))), at("09:30"))
    assert life.take(ended(1, when=at("09:45"))) == []
    assert life.wake_at() == at("10:00")
    (one,) = life.pass_time(at("12:30"))
    assert (one.key, one.created_at, one.due_at) == ("events:j1.0", at("09:45"), at("12:30"))
    assert one.cause["due"] == "2026-03-10T12:00:00Z"  # the newest due time counts


@pytest.mark.parametrize("time_first", [True, False])
def test_the_order_of_time_and_events_within_a_decision_does_not_matter(time_first):
    life = Life(a_schedule(AllOf((HOURLY, P))), at("09:30"))
    made = life.pass_time(at("10:01")) if time_first else []
    made += life.take(ended(1), at("10:01"))
    made += life.pass_time(at("10:01"))
    assert len(made) == 1


def test_a_cron_line_beside_events_in_any_of_has_runs_of_its_own():
    life = Life(a_schedule(AnyOf((HOURLY, BOTH))), at("09:30"))
    life.take(ended(1, "P", when=at("09:40")))
    assert told(life.pass_time(at("11:30"))) == [("10:00", "run"), ("11:00", "run")]
    assert life.made[0].cause["events"] == ["run1"]
    assert "events" not in life.made[1].cause
    assert life.take(ended(2, "Q")) == []  # the run consumed P
    assert len(life.take(ended(3, "P"))) == 1


def test_once_and_elapsed_may_be_legs_of_all_of():
    life = Life(a_schedule(AllOf((Once(at("08:00")), Elapsed(HOUR), P))), at("09:30"))
    assert life.take(ended(1, when=at("09:40"))) == []
    assert life.wake_at() == at("10:30")
    assert len(life.pass_time(at("10:30"))) == 1
    assert life.take(ended(2, when=at("10:40"))) == []
    assert life.pass_time(at("12:00")) == []  # `once` counts once
    assert life.wake_at() == at("10:40") + timedelta(days=1)


def test_a_timeout_drops_the_due_times_that_were_met():
    life = Life(a_schedule(AllOf((HOURLY, Elapsed(HOUR), P)), timeout=90 * MINUTE), at("09:30"))
    life.pass_time(at("10:00"))
    (one,) = life.pass_time(at("11:30"))
    assert (one.key, one.ended_by) == ("events:2026-03-10T10:00:00Z", RunMove.ABORT)
    assert life.progress.met == {}
    assert life.wake_at() == at("12:00")


def test_a_skipped_local_time_does_not_meet_its_leg():
    # Samoa skipped 2011-12-30, from 10:00Z; noon of the 31st is 22:00Z on the 30th.
    trigger = AllOf((times("cron 0 12 30,31 12 *"), P))
    day = DAY.replace(year=2011, month=12, day=30)
    life = Life(a_schedule(trigger, zone="Pacific/Apia"), at("01:00", day))
    assert life.wake_at() == at("22:00", day)
    assert life.pass_time(at("11:00", day)) == []
    assert life.progress.met == {}
    life.pass_time(at("22:00", day))
    assert life.progress.met != {}


# Events with lifetimes beside other legs


def test_an_event_with_a_lifetime_starts_no_collecting_and_is_not_consumed():
    trigger = AllOf((EventTrigger(EventType.FILE, "/a", HOUR), P))
    life = Life(a_schedule(trigger), DAY)
    assert life.take(a_file(1, at("10:00"))) == []
    assert life.progress.collecting is None
    assert life.wake_at() is None
    (one,) = life.take(ended(1, when=at("11:00")))  # alive until the end of its lifetime
    assert one.key == "events:j1.0"
    assert one.cause["events"] == ["id1", "run1"]
    assert life.take(ended(2, when=at("11:00:01"))) == []  # not alive any more
    (two,) = life.take(a_file(2, at("15:00")))
    assert (two.key, two.created_at, two.due_at) == ("events:j2.0", at("11:00:01"), at("15:00"))
    assert set(two.cause["events"]) == {"run2", "id2"}
    assert len(life.take(ended(3, when=at("15:30")))) == 1  # the file is not consumed


def test_a_lifetime_is_compared_with_the_newest_due_time():
    trigger = AllOf((EventTrigger(EventType.FILE, "/a", HOUR), HOURLY))
    life = Life(a_schedule(trigger), at("09:30"))
    life.take(a_file(1, at("09:45")))
    assert len(life.pass_time(at("10:50"))) == 1  # at 10:00
    life = Life(a_schedule(trigger), at("09:30"))
    life.take(a_file(1, at("09:45")))
    assert life.pass_time(at("11:10")) == []  # the newest is 11:00


def test_an_event_for_one_branch_of_any_of_does_not_run_another_branch():
    files = AllOf(
        (EventTrigger(EventType.FILE, "/a", 9 * HOUR), EventTrigger(EventType.FILE, "/b", 9 * HOUR))
    )
    life = Life(a_schedule(AnyOf((files, BOTH))), DAY)
    life.take(a_file(1, at("10:00"), "/a"))
    assert len(life.take(a_file(2, at("10:01"), "/b"))) == 1
    assert life.take(ended(1, "P", when=at("10:02"))) == []
    assert len(life.take(a_file(3, at("10:03"), "/a"))) == 1


def test_an_event_in_any_of_counts_even_if_it_is_older_than_the_last_run():
    life = Life(a_schedule(AnyOf((EventTrigger(EventType.FILE, "/a", HOUR), HOURLY))), at("09:30"))
    life.pass_time(at("10:00"))
    assert len(life.take(a_file(1, at("09:59")), at("10:00:05"))) == 1


def test_a_timeout_keeps_events_with_a_lifetime():
    trigger = AllOf((EventTrigger(EventType.FILE, "/a", 9 * HOUR), P, Q))
    life = Life(a_schedule(trigger, timeout=HOUR), DAY)
    life.take(a_file(1, at("09:00")))
    life.take(ended(1, "P", when=at("10:00")))
    assert [one.ended_by for one in life.pass_time(at("11:00"))] == [RunMove.ABORT]
    life.take(ended(2, "P", when=at("12:00")))
    assert len(life.take(ended(3, "Q", when=at("12:01")))) == 1
