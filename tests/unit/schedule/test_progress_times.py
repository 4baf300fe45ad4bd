"""Due times: catch-up, skips and records."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from synergy.lifecycle.legal_moves import RunMove
from synergy.schedule.definition import AnyOf, CatchUp
from tests.factories import TICK
from tests.unit.schedule.kit import (
    HOURLY,
    Life,
    a_schedule,
    at,
    runs,
    times,
    told,
)

MISSED_LATEST = "missed: only the latest is run"


# An outage from 09:30 to 12:30 of an hourly schedule.
@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({"catchup": CatchUp.ALL}, [("10:00", "run"), ("11:00", "run"), ("12:00", "run")]),
        (
            {"catchup": CatchUp.ALL, "catchup_max": 2},
            [("10:00", "missed: more than 2 due times"), ("11:00", "run"), ("12:00", "run")],
        ),
        (
            {"catchup": CatchUp.LATEST},
            [("10:00", MISSED_LATEST), ("11:00", MISSED_LATEST), ("12:00", "run")],
        ),
        (
            {"catchup": CatchUp.NONE},
            [("10:00", "missed"), ("11:00", "missed"), ("12:00", "missed")],
        ),
    ],
)
def test_due_times_of_an_outage_are_run_or_skipped_by_the_policy(policy, expected):
    life = Life(a_schedule(HOURLY, **policy), at("09:30"))
    made = life.pass_time(at("12:30"))
    assert told(made) == expected
    assert [one.key for one in made] == [
        "due:2026-03-10T10:00:00Z", "due:2026-03-10T11:00:00Z", "due:2026-03-10T12:00:00Z",
    ]  # fmt: skip
    assert {one.created_at for one in made} == {at("12:30")}
    assert life.wake_at() == at("13:00")
    assert life.pass_time(at("12:59:59")) == []
    assert told(life.pass_time(at("13:00"))) == [("13:00", "run")]


def test_missed_due_times_are_run_in_turn_if_there_are_several():
    life = Life(a_schedule(HOURLY), at("09:30"))
    assert [one.in_turn for one in life.pass_time(at("11:30"))] == [True, True]
    assert [one.in_turn for one in life.pass_time(at("12:30"))] == [False]
    latest = Life(a_schedule(HOURLY, catchup=CatchUp.LATEST), at("09:30"))
    assert [one.in_turn for one in runs(latest.pass_time(at("12:30")))] == [False]


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (at("10:00") - TICK, []),
        (at("10:00"), [("10:00", "run")]),
        (at("10:01"), [("10:00", "run")]),  # a minute late is not missed
        (at("10:01") + TICK, [("10:00", "missed")]),
    ],
)
def test_without_catch_up_a_due_time_is_missed_after_a_minute(now, expected):
    life = Life(a_schedule(HOURLY, catchup=CatchUp.NONE), at("09:30"))
    assert told(life.pass_time(now)) == expected


def test_without_catch_up_a_due_time_is_missed_once_the_next_one_is_due():
    life = Life(a_schedule(times("every 10"), catchup=CatchUp.NONE), at("10:00:05"))
    assert told(life.pass_time(at("10:00:29"))) == [("10:00", "missed"), ("10:00", "run")]
    assert [one.due_at for one in life.made] == [at("10:00:10"), at("10:00:20")]


def test_by_default_the_newest_sixty_missed_due_times_are_run():
    life = Life(a_schedule(times("every 60")), at("10:00"))
    assert len(runs(life.pass_time(at("11:00")))) == 60
    made = life.pass_time(at("12:01"))
    assert told(made)[:2] == [("11:01", "missed: more than 60 due times"), ("11:02", "run")]
    assert len(made) == 61


def test_due_times_up_to_the_beginning_are_not_run():
    life = Life(a_schedule(HOURLY), at("10:00"))
    assert life.made == []
    assert life.pass_time(at("10:59")) == []
    assert told(life.pass_time(at("11:00"))) == [("11:00", "run")]


def test_nothing_is_run_twice_when_the_clock_goes_back_and_forward():
    life = Life(a_schedule(HOURLY), at("09:30"))
    life.pass_time(at("12:00"))
    assert life.pass_time(at("10:30")) == []
    assert life.pass_time(at("12:30")) == []
    assert life.wake_at() == at("13:00")
    tomorrow = life.pass_time(at("12:30") + timedelta(days=1))
    assert len(tomorrow) == 24
    assert life.pass_time(at("13:00")) == []


def test_a_due_time_of_two_lines_has_one_run():
    life = Life(
        a_schedule(AnyOf((times("cron 0 * * * *"), times("cron */30 * * * *")))), at("09:45")
    )
    assert told(life.pass_time(at("11:00"))) == [
        ("10:00", "run"), ("10:30", "run"), ("11:00", "run"),
    ]  # fmt: skip


def test_cron_lines_in_a_nested_any_of_are_caught_up():
    trigger = AnyOf((times("cron 0 * * * *"), AnyOf((times("cron 20 * * * *"),))))
    life = Life(a_schedule(trigger, catchup_max=1), at("09:45"))
    assert told(life.pass_time(at("10:30"))) == [
        ("10:00", "missed: more than 1 due times"),
        ("10:20", "run"),
    ]


def test_all_lines_are_caught_up_together():
    lines = AnyOf((times("cron 0 * * * *"), times("cron 30 * * * *")))
    life = Life(a_schedule(lines, catchup=CatchUp.LATEST), at("09:45"))
    assert told(life.pass_time(at("10:45"))) == [("10:00", MISSED_LATEST), ("10:30", "run")]


def test_a_skipped_local_time_is_recorded_and_does_not_count_for_catchup_max():
    # Samoa skipped 2011-12-30: noon of the 29th is 22:00Z that day, the 31st begins at 10:00Z.
    definition = a_schedule(
        times("cron 0 12 * * *"), zone="Pacific/Apia", catchup=CatchUp.ALL, catchup_max=2
    )
    life = Life(definition, datetime(2011, 12, 29, tzinfo=UTC))
    made = life.pass_time(datetime(2011, 12, 31, tzinfo=UTC))
    assert [(one.due_at, one.ended_by, one.reason) for one in made] == [
        (datetime(2011, 12, 29, 22, tzinfo=UTC), None, ""),
        (datetime(2011, 12, 30, 10, tzinfo=UTC), RunMove.SKIP, "no such local time"),
        (datetime(2011, 12, 30, 22, tzinfo=UTC), None, ""),
    ]


def test_a_run_records_how_the_clock_changed_its_due_time():
    # 2026-03-29: Berlin goes from 02:00 to 03:00.
    life = Life(
        a_schedule(times("cron 30 2 * * *"), zone="Europe/Berlin"),
        datetime(2026, 3, 28, 12, tzinfo=UTC),
    )
    (one,) = life.pass_time(datetime(2026, 3, 29, 12, tzinfo=UTC))
    assert one.due_at == datetime(2026, 3, 29, 1, tzinfo=UTC)
    assert "02:30" in one.cause["remark"]


def test_due_times_begin_at_the_start_inclusive():
    life = Life(a_schedule(HOURLY, start=at("11:00")), at("09:30"))
    assert life.wake_at() == at("11:00")
    assert told(life.pass_time(at("12:00"))) == [("11:00", "run"), ("12:00", "run")]


def test_a_trigger_that_has_ended_is_never_due_again():
    life = Life(a_schedule(times("cron 0 0 12 1 1 ? 2026")), at("09:30"))
    assert life.wake_at() is None
    assert life.pass_time(at("12:00")) == []
