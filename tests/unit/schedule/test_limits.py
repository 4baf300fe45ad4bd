"""The end of a schedule, the number of its runs, its excluded dates, and its jitter."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from synergy.lifecycle.legal_moves import RunMove
from synergy.schedule.definition import (
    AllOf,
    AnyOf,
    CatchUp,
    Elapsed,
    EventTrigger,
    EventType,
    FirstRun,
    Once,
    Partition,
    TimeoutPolicy,
)
from synergy.schedule.due import dues, shortest_spacing
from synergy.schedule.format.limits import delayed
from synergy.schedule.interval import Interval, Jitter
from synergy.schedule.trigger import parse
from tests.unit.schedule.kit import (
    DAY,
    HOUR,
    HOURLY,
    MINUTE,
    SECOND,
    Life,
    a_schedule,
    an_event,
    at,
    partitions,
    runs,
    times,
    told,
)

FILE = EventTrigger(EventType.FILE, "/a", HOUR)


# The end


def test_the_last_due_time_is_that_at_the_end():
    life = Life(a_schedule(HOURLY, end=at("02:00")), DAY)
    assert told(life.catch_up(at("01:30"))) == [("01:00", "run")]
    assert life.wake_at() == at("02:00")
    assert told(life.catch_up(at("05:00"))) == [("02:00", "run")]
    assert life.wake_at() is None


def test_due_times_that_were_missed_before_the_end_are_caught_up_after_it():
    life = Life(a_schedule(HOURLY, end=at("03:30"), catchup_max=2), DAY)
    missed = "missed: more than 2 due times"
    assert told(life.catch_up(at("20:00"))) == [
        ("01:00", missed),
        ("02:00", "run"),
        ("03:00", "run"),
    ]


@pytest.mark.parametrize(
    "trigger",
    [Once(at("03:00")), Elapsed(3 * HOUR), AllOf((times("at 03:00"),))],
)
@pytest.mark.parametrize(("end", "number"), [("02:59:59", 0), ("03:00", 1)])
def test_nothing_is_due_by_time_after_the_end(trigger, end, number):
    life = Life(a_schedule(trigger, end=at(end)), DAY)
    assert life.wake_at() == (at("03:00") if number else None)
    assert len(life.catch_up(at("20:00"))) == number


def test_a_first_run_is_not_made_after_the_end():
    first = a_schedule(HOURLY, first_run=FirstRun.IMMEDIATELY, start=at("03:00"))
    assert runs(Life(replace(first, end=at("03:00")), DAY).catch_up(at("05:00")))
    assert not Life(replace(first, end=at("02:00")), DAY).catch_up(at("05:00"))


def test_an_event_counts_up_to_the_end_by_its_arrival():
    life = Life(a_schedule(FILE, end=at("02:00")), DAY)
    late = at("03:00")
    assert life.take(an_event(1, received_at=at("02:00")), late)
    assert not life.take(an_event(2, when=at("01:00"), received_at=at("02:00:01")), late)


@pytest.mark.parametrize("policy", TimeoutPolicy)
def test_what_was_collected_is_dropped_at_the_end(policy):
    life = Life(a_schedule(Partition("d", 2), end=at("02:00"), timeout_policy=policy), DAY)
    life.take(partitions(1, when=at("01:00")))
    assert life.wake_at() == at("02:00") + timedelta(microseconds=1)
    (dropped,) = life.catch_up(at("02:01"))
    assert (dropped.ended_by, dropped.reason) == (
        RunMove.ABORT,
        "the schedule ended before it was triggered",
    )
    assert life.wake_at() is None


def test_what_comes_at_the_end_is_not_dropped_because_an_agent_looks_later():
    late = at("02:00:05")
    with_time = Life(a_schedule(AllOf((Partition("d"), times("at 02:00"))), end=at("02:00")), DAY)
    with_time.take(partitions(1, when=at("01:00")))
    assert len(runs(with_time.catch_up(late))) == 1
    of_events = Life(a_schedule(Partition("d", 2), end=at("02:00")), DAY)
    of_events.take(partitions(1, when=at("01:00")))
    assert len(runs(of_events.take(partitions(2, when=at("02:00")), late))) == 1


# The number of runs


def test_a_schedule_makes_at_most_so_many_runs():
    life = Life(a_schedule(HOURLY, max_runs=2), DAY)
    assert told(life.catch_up(at("01:00"))) == [("01:00", "run")]
    assert told(life.catch_up(at("09:00"))) == [("02:00", "run")]
    assert life.wake_at() is None
    assert life.catch_up(at("20:00")) == []


def test_skipped_due_times_do_not_count_as_runs():
    life = Life(a_schedule(HOURLY, max_runs=2, catchup=CatchUp.LATEST), DAY)
    only = "missed: only the latest is run"
    assert told(life.catch_up(at("03:00"))) == [("01:00", only), ("02:00", only), ("03:00", "run")]
    assert told(life.catch_up(at("04:00"))) == [("04:00", "run")]
    assert life.wake_at() is None


@pytest.mark.parametrize("trigger", [FILE, AllOf((FILE,)), Partition("d")])
def test_events_after_the_last_run_have_no_effect(trigger):
    kind, resource = ("PARTITION", "d") if trigger == Partition("d") else ("FILE", "/a")
    life = Life(a_schedule(trigger, max_runs=2), DAY)
    taken = [life.take(an_event(seq, kind, resource, DAY + seq * MINUTE)) for seq in range(1, 5)]
    assert [len(made) for made in taken] == [1, 1, 0, 0]
    assert life.progress.collecting is None


def test_an_event_after_a_forced_run_that_is_the_last_has_no_effect():
    two = AnyOf((Partition("d", 2), Partition("e")))
    force = TimeoutPolicy.FORCE
    life = Life(a_schedule(two, max_runs=1, timeout=HOUR, timeout_policy=force), DAY)
    life.take(partitions(1))
    made = life.take(partitions(2, dataset="e", when=at("02:00")))
    assert [one.cause["events"] for one in made] == [["id1"]]
    assert life.progress.runs == 1


def test_one_off_times_count_as_runs():
    both = AnyOf((Once(at("01:00")), Once(at("02:00"))))
    assert len(Life(a_schedule(both, max_runs=1), DAY).catch_up(at("05:00"))) == 1


def test_a_run_that_was_given_back_is_made_later():
    life = Life(a_schedule(HOURLY, max_runs=1), DAY)
    life.catch_up(at("01:00"))
    life.progress = replace(life.progress, runs=0)
    assert life.wake_at() == at("02:00")


# Excluded dates


def test_due_times_on_excluded_dates_are_skipped_with_the_reason():
    definition = a_schedule(times("at 12:00"), exclude=(date(2026, 3, 11), date(2026, 3, 12)))
    life = Life(definition, DAY)
    made = life.catch_up(DAY + timedelta(days=4))
    assert [(one.due_at.day, one.reason) for one in made] == [
        (10, ""),
        (11, "2026-03-11 is an excluded date"),
        (12, "2026-03-12 is an excluded date"),
        (13, ""),
    ]
    assert {one.ended_by for one in made if one.reason} == {RunMove.SKIP}


def test_the_dates_are_those_of_the_zone():
    definition = a_schedule(
        times("cron 0 */6 * * *"), zone="America/New_York", exclude=(date(2026, 3, 10),)
    )
    made = Life(definition, at("03:00")).catch_up(at("05:00", DAY + timedelta(days=1)))
    # In New York it is 23:00 of the day before at first, and midnight again at 04:00 in UTC.
    assert told(made) == [
        ("04:00", "2026-03-10 is an excluded date"),
        ("10:00", "2026-03-10 is an excluded date"),
        ("16:00", "2026-03-10 is an excluded date"),
        ("22:00", "2026-03-10 is an excluded date"),
        ("04:00", "run"),
    ]


@pytest.mark.parametrize("catchup", [CatchUp.LATEST, CatchUp.ALL])
def test_excluded_due_times_are_not_among_those_that_are_caught_up(catchup):
    definition = a_schedule(
        times("every 60"), exclude=(date(2026, 3, 11),), catchup=catchup, catchup_max=1
    )
    made = Life(definition, DAY).catch_up(at("23:59", DAY + timedelta(days=1)))
    assert [one.due_at for one in runs(made)] == [at("23:59")]
    assert len(made) == 2 * 1440 - 1


def test_a_leg_is_not_due_on_an_excluded_date():
    days = tuple(date(2026, 3, day) for day in range(10, 20))
    legs = AllOf((times("every 1"), FILE))
    life = Life(a_schedule(legs, exclude=days), DAY)
    assert life.wake_at() == datetime(2026, 3, 20, tzinfo=UTC)
    assert life.pass_time(datetime(2026, 3, 19, 23, 59, 59, tzinfo=UTC)) == []
    assert not life.progress.met
    life.pass_time(datetime(2026, 3, 20, tzinfo=UTC))
    assert [met.at for met in life.progress.met.values()] == [datetime(2026, 3, 20, tzinfo=UTC)]


def test_a_leg_keeps_its_due_time_from_before_an_excluded_date():
    legs = AllOf((times("every 1"), FILE))
    life = Life(a_schedule(legs, exclude=(date(2026, 3, 11), date(2026, 3, 12))), DAY)
    life.pass_time(at("12:00", DAY + timedelta(days=2)))
    assert [met.at for met in life.progress.met.values()] == [at("23:59:59")]


# Jitter

UTC_ZONE = ZoneInfo("UTC")


def test_jitter_delays_each_due_time_and_keeps_their_number():
    trigger = parse("at 08:00, 20:00")
    jitter = Jitter(6 * HOUR, "s")
    start = at("02:00")  # from here on no delayed due time of the day before is left
    plain = list(dues(trigger, UTC_ZONE, start, DAY + timedelta(days=50), 1000))
    late = list(dues(trigger, UTC_ZONE, start, DAY + timedelta(days=51), 1000, jitter))
    delays = [after.at - before.at for before, after in zip(plain, late, strict=False)]
    assert delays == [jitter.delay(due.at) for due in plain]
    assert timedelta(0) <= min(delays) < HOUR
    assert 5 * HOUR < max(delays) <= 6 * HOUR
    assert late[0].remark.startswith("jitter delays 08:00 by ")


def test_jitter_depends_on_the_name_and_the_due_time_alone():
    def delays(name):
        definition = a_schedule(delayed(HOURLY, Jitter(30 * MINUTE, name)), name=name)
        in_one = Life(definition, DAY).catch_up(at("12:00"))
        life = Life(definition, DAY)
        step_by_step = [
            one for number in range(12 * 60) for one in life.catch_up(DAY + number * MINUTE)
        ]
        assert [one.key for one in step_by_step] == [one.key for one in in_one][: len(step_by_step)]
        assert len(in_one) in (11, 12)
        return [one.due_at for one in in_one]

    assert delays("a") == delays("a")
    assert delays("a") != delays("b")


@pytest.mark.parametrize("trigger", [Elapsed(HOUR), AllOf((Elapsed(HOUR),))])
def test_jitter_delays_what_is_due_some_time_after_the_last_run(trigger):
    life = Life(a_schedule(trigger, jitter=30 * MINUTE), DAY)
    due = DAY
    for _ in range(5):
        due += HOUR + Jitter(30 * MINUTE, "s").delay(due + HOUR)
        assert life.wake_at() == due
        assert len(life.pass_time(due)) == 1
    assert due > at("05:00")


@pytest.mark.parametrize(
    ("trigger", "spacing"),
    [
        (parse("every 90"), 90 * SECOND),
        (parse("at 08:00, 08:10"), 10 * MINUTE),
        (parse("at 0-00:10, 6-23:50"), 20 * MINUTE),
        (parse("cron 0 9 * * 1-5"), 24 * HOUR),
        (parse("cron 0 0 12 1 1 ? 2001"), None),
        (Interval(length=HOUR, start=DAY), HOUR),
    ],
)
def test_the_shortest_spacing_of_a_trigger(trigger, spacing):
    assert shortest_spacing(trigger) == spacing
