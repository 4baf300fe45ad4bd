"""Run constraints at their boundaries."""

from __future__ import annotations

from dataclasses import replace
from datetime import time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synergy.model.run_detail import RunDetail
from synergy.model.schedule import Run, RunState
from synergy.schedule.constraint import UNDER_WAY, Facts, Verdict, judge
from synergy.schedule.definition import (
    AtMost,
    Concurrency,
    Delay,
    DeliveryProgram,
    Load,
    LoadOf,
    Scope,
    SinceLastRun,
    TimeoutPolicy,
    TimeWindow,
    WhenUnmet,
)
from tests.unit.schedule.kit import HOUR, MINUTE, a_schedule, at, times

MET, WAIT, ABORT = Verdict.MET, Verdict.WAIT, Verdict.ABORT
HOURLY = times("cron 0 * * * *")
WEB = DeliveryProgram("https://example.com/hook")
TICK = timedelta(microseconds=1)
NOON = at("12:00")
TOMORROW = NOON + timedelta(days=1)  # when a job from noon times out


def a_run(key="due:2026-03-10T12:00:00Z", created_at=NOON, **fields) -> Run:
    return Run(
        id="r", schedule="s", key=key, due_at=created_at, version=1,
        state=RunState.PENDING_CONSTRAINT, program="W", group="g", created_at=created_at, **fields,
    )  # fmt: skip


def of(*constraints, program=WEB, **fields):
    return a_schedule(HOURLY, program=program, constraints=constraints, **fields)


def facts(**some) -> Facts:
    return replace(Facts(), **some)


def test_without_constraints_a_job_is_launched():
    found = judge(of(), a_run(), facts(), NOON)
    assert (found.verdict, found.reasons, found.again_at, found.awaits) == (
        MET, (), None, frozenset(),
    )  # fmt: skip


# One by one: (constraint, facts, now, verdict, again_at unless it is the timeout, awaits)

AGO = {"last_success_at": at("11:00")}
LAUNCHES = {"launches": (at("11:50"), at("11:40"), at("11:00"))}


@pytest.mark.parametrize(
    ("constraint", "known", "now", "verdict", "again_at", "awaits"),
    [
        # concurrency: active runs >= n
        (Concurrency(2), {"active_of_program": 1}, NOON, MET, None, ()),
        (Concurrency(2), {"active_of_program": 2}, NOON, ABORT, None, ()),
        (Concurrency(2), {"active_of_program": 3}, NOON, ABORT, None, ()),
        (
            Concurrency(1, when_unmet=WhenUnmet.WAIT), {"active_of_program": 1}, NOON, WAIT,
            TOMORROW, ("program:W",),
        ),
        (Concurrency(1, Scope.GROUP), {"active_of_program": 1}, NOON, MET, None, ()),
        (
            Concurrency(1, Scope.GROUP, WhenUnmet.WAIT), {"active_of_group": 1}, NOON, WAIT,
            TOMORROW, ("group:g",),
        ),
        # delay: from the creation of the job
        (Delay(MINUTE), {}, NOON, WAIT, at("12:01"), ()),
        (Delay(MINUTE), {}, at("12:01") - TICK, WAIT, at("12:01"), ()),
        (Delay(MINUTE), {}, at("12:01"), MET, None, ()),
        # since the last run: active, or succeeded less than so long ago
        (SinceLastRun(HOUR), AGO, at("12:00") - TICK, ABORT, None, ()),
        (SinceLastRun(HOUR), AGO, at("12:00"), MET, None, ()),
        (SinceLastRun(HOUR), {}, NOON, MET, None, ()),  # failures are no success
        (SinceLastRun(HOUR), {"active_of_schedule": 1}, NOON, ABORT, None, ()),
        (
            SinceLastRun(2 * HOUR, WhenUnmet.WAIT), AGO, NOON, WAIT, at("13:00"), (),
        ),
        (
            SinceLastRun(HOUR, WhenUnmet.WAIT), {**AGO, "active_of_schedule": 1}, NOON, WAIT,
            TOMORROW, ("schedule:s",),
        ),
        # at most n within a window that rolls
        (AtMost(3, HOUR), LAUNCHES, at("12:00") - TICK, WAIT, at("12:00"), ()),
        (AtMost(3, HOUR), LAUNCHES, at("12:00"), MET, None, ()),
        (AtMost(2, HOUR), LAUNCHES, NOON, WAIT, at("12:40"), ()),
        (AtMost(1, HOUR), LAUNCHES, NOON, WAIT, at("12:50"), ()),
        (AtMost(1, HOUR), {}, NOON, MET, None, ()),
        (AtMost(1, HOUR, WhenUnmet.ABORT), LAUNCHES, NOON, ABORT, None, ()),
        # load: above, not equal
        (Load(0.5), {"load": 0.5}, NOON, MET, None, ()),
        (Load(0.5), {"load": 0.51, "depth": 0}, NOON, WAIT, TOMORROW, ("load",)),
        (Load(7, LoadOf.QUEUE), {"load": 99.0, "depth": 7}, NOON, MET, None, ()),
        (Load(7, LoadOf.QUEUE), {"depth": 8}, NOON, WAIT, TOMORROW, ("load",)),
        (Load(7, LoadOf.QUEUE, WhenUnmet.ABORT), {"depth": 8}, NOON, ABORT, None, ()),
        # windows: the start is in it, the end is not
        (TimeWindow(time(9), time(12)), {}, NOON, WAIT, at("09:00") + timedelta(days=1), ()),
        (TimeWindow(time(9), time(12)), {}, NOON - TICK, MET, None, ()),
        (TimeWindow(time(12), time(13)), {}, NOON, MET, None, ()),
        (TimeWindow(time(12), time(13)), {}, NOON - TICK, WAIT, NOON, ()),
        (TimeWindow(time(13), time(14), when_unmet=WhenUnmet.ABORT), {}, NOON, ABORT, None, ()),
        (TimeWindow(time(22), time(6)), {}, NOON, WAIT, at("22:00"), ()),
        (TimeWindow(time(22), time(6)), {}, at("22:00"), MET, None, ()),
        (TimeWindow(time(22), time(6)), {}, at("05:59:59") + timedelta(days=1), MET, None, ()),
        (TimeWindow(time(13), time(12)), {}, NOON, WAIT, at("13:00"), ()),
        # 12:00Z is 08:00 in New York in March, after the clock was set on the 8th
        (TimeWindow(time(8), time(9), "America/New_York"), {}, NOON, MET, None, ()),
        (TimeWindow(time(9), time(10), "America/New_York"), {}, NOON, WAIT, at("13:00"), ()),
    ],
)  # fmt: skip
def test_one_constraint(constraint, known, now, verdict, again_at, awaits):
    found = judge(of(constraint), a_run(), facts(**known), now)
    assert (found.verdict, found.again_at, found.awaits) == (verdict, again_at, frozenset(awaits))
    assert len(found.reasons) == (0 if verdict is MET else 1)


def test_any_abort_aborts_and_all_reasons_are_kept():
    definition = of(Delay(HOUR), Load(1.0), Concurrency(1))
    waits = judge(definition, a_run(), facts(load=2.0), NOON)
    assert (waits.verdict, waits.again_at, waits.awaits) == (WAIT, at("13:00"), {"load"})
    assert waits.reasons == (
        "delayed until 2026-03-10T13:00:00Z", "2.00 is the load of the box, above 1",
    )  # fmt: skip
    aborts = judge(definition, a_run(), facts(load=2.0, active_of_program=1), NOON)
    assert aborts.verdict is ABORT
    assert aborts.reasons == (*waits.reasons, "1 of at most 1 runs of program W are active")


def test_the_reasons_in_words():
    definition = of(
        TimeWindow(time(22), time(6), "Europe/Berlin"),
        SinceLastRun(2 * HOUR),
        AtMost(2, HOUR),
        Concurrency(3, Scope.GROUP),
        Load(10, LoadOf.QUEUE),
    )
    known = facts(
        last_success_at=at("11:00"), launches=(at("11:50"), at("11:40")), active_of_group=3,
        depth=12,
    )  # fmt: skip
    assert judge(definition, a_run(), known, NOON).reasons == (
        "outside of 22:00-06:00 Europe/Berlin",
        "the last run succeeded at 2026-03-10T11:00:00Z: not before 2026-03-10T13:00:00Z",
        "2 runs were launched within 1h: not before 2026-03-10T12:40:00Z",
        "3 of at most 3 runs of group g are active",
        "12 messages wait in the queue, above 10",
    )


def test_numbers_and_instants_in_reasons_are_those_of_people():
    later = timedelta(microseconds=3299)
    run = a_run(created_at=NOON + later)
    definition = of(
        Delay(HOUR), SinceLastRun(1.5 * HOUR), AtMost(1, timedelta(seconds=90)), Load(1.25),
        Load(0, LoadOf.QUEUE),
    )  # fmt: skip
    known = facts(
        last_success_at=at("11:00") + later, launches=(NOON + later,), load=2.26196, depth=1
    )
    assert judge(definition, run, known, NOON + later).reasons == (
        "delayed until 2026-03-10T13:00:01Z",
        "the last run succeeded at 2026-03-10T11:00:00Z: not before 2026-03-10T12:30:01Z",
        "1 run was launched within 1m30s: not before 2026-03-10T12:01:31Z",
        "2.26 is the load of the box, above 1.25",
        "1 message waits in the queue, above 0",
    )
    crowded = judge(of(Load(1_500_000, LoadOf.QUEUE)), a_run(), facts(depth=2_000_000), NOON)
    assert crowded.reasons == ("2,000,000 messages wait in the queue, above 1,500,000",)


def test_a_window_that_will_close_is_a_reason_to_look_again():
    definition = of(Delay(4 * HOUR), TimeWindow(time(9), time(14), when_unmet=WhenUnmet.ABORT))
    found = judge(definition, a_run(), facts(), NOON)
    assert (found.verdict, found.again_at) == (WAIT, at("14:00"))
    assert judge(definition, a_run(), facts(), at("14:00")).verdict is ABORT


# The timeout


@pytest.mark.parametrize(
    ("policy", "now", "verdict"),
    [
        (TimeoutPolicy.DISCARD, TOMORROW - TICK, WAIT),
        (TimeoutPolicy.DISCARD, TOMORROW, ABORT),
        (TimeoutPolicy.FORCE, TOMORROW - TICK, WAIT),
        (TimeoutPolicy.FORCE, TOMORROW, MET),
    ],
)
def test_the_timeout_comes_before_the_constraints(policy, now, verdict):
    definition = of(Load(1.0), timeout_policy=policy)
    found = judge(definition, a_run(), facts(load=2.0), now)
    assert found.verdict is verdict
    if verdict is ABORT:
        assert found.reasons == ("timed out: not launched within 1d",)


def test_a_job_that_could_be_launched_times_out_all_the_same():
    assert judge(of(), a_run(), facts(), TOMORROW).verdict is ABORT


def test_force_launches_what_would_be_aborted():
    definition = of(Concurrency(1), timeout=HOUR, timeout_policy=TimeoutPolicy.FORCE)
    assert judge(definition, a_run(), facts(active_of_program=1), at("13:00")).verdict is MET


# One run at a time


@pytest.mark.parametrize(
    ("key", "verdict", "awaits"),
    [
        ("due:2026-03-10T12:00:00Z", ABORT, ()),
        ("first", ABORT, ()),
        ("events:e5", WAIT, ("schedule:s",)),
        ("events:2026-03-10T12:00:00Z", WAIT, ("schedule:s",)),
        ("trigger:abc", MET, ()),
    ],
)
def test_a_worker_program_runs_once_at_a_time(key, verdict, awaits):
    definition = a_schedule(HOURLY)
    found = judge(definition, a_run(key), facts(active_of_schedule=1), NOON)
    assert (found.verdict, found.awaits) == (verdict, frozenset(awaits))
    assert (UNDER_WAY in found.reasons) is (verdict is not MET)
    assert judge(definition, a_run(key), facts(active_of_program=1), NOON).verdict is MET


def test_concurrency_says_otherwise():
    known = facts(active_of_schedule=1, active_of_program=1)
    assert judge(of(Concurrency(2)), a_run(), known, NOON).verdict is MET
    worker = a_schedule(HOURLY, constraints=(Concurrency(2),))
    assert judge(worker, a_run(), known, NOON).verdict is MET
    other = a_schedule(HOURLY, constraints=(Concurrency(2, Scope.GROUP),))
    assert judge(other, a_run(), known, NOON).verdict is MET


def test_deliveries_are_not_held_to_one_at_a_time():
    assert judge(of(), a_run(), facts(active_of_schedule=3), NOON).verdict is MET


@pytest.mark.parametrize("program", [WEB, a_schedule(HOURLY).program])
def test_in_turn_waits_for_the_one_before_and_is_asked_nothing_else(program):
    definition = of(Concurrency(1), SinceLastRun(MINUTE), program=program)
    run = a_run(detail=RunDetail(in_turn=True))
    known = facts(active_of_schedule=1, active_of_program=1)
    found = judge(definition, run, known, NOON)
    assert (found.verdict, found.awaits, found.again_at) == (WAIT, {"schedule:s"}, TOMORROW)
    assert judge(definition, run, facts(), at("12:01")).verdict is MET


def test_by_hand_runs_now_whatever_holds_others_back():
    definition = of(Load(1.0), Delay(HOUR), TimeWindow(time(1), time(2)))
    assert judge(definition, a_run("trigger:x"), facts(load=9.0), NOON).verdict is MET


# Any combination

WHEN = st.sampled_from(WhenUnmet)
CLOCK = st.builds(time, st.integers(0, 23), st.sampled_from([0, 30]))
WINDOWS = st.builds(
    TimeWindow, CLOCK, CLOCK, st.sampled_from(["UTC", "Europe/Berlin"]), WHEN
).filter(lambda window: window.start != window.end)
MINUTES = st.integers(1, 600).map(lambda n: n * MINUTE)
CONSTRAINTS = st.lists(
    st.one_of(
        WINDOWS,
        st.builds(Delay, MINUTES),
        st.builds(SinceLastRun, MINUTES, WHEN),
        st.builds(AtMost, st.integers(1, 3), MINUTES, WHEN),
        st.builds(Concurrency, st.integers(1, 2), st.sampled_from(Scope), WHEN),
        st.builds(Load, st.just(1.0), st.sampled_from(LoadOf), WHEN),
    ),
    max_size=4,
)
INSTANTS = st.integers(-600, 1800).map(lambda n: NOON + n * MINUTE)
FACTS = st.builds(
    Facts,
    active_of_program=st.integers(0, 2), active_of_group=st.integers(0, 2),
    active_of_schedule=st.integers(0, 1), last_success_at=st.none() | INSTANTS,
    launches=st.lists(INSTANTS, max_size=4).map(lambda some: sorted(some, reverse=True)),
    load=st.sampled_from([0.5, 1.5]), depth=st.integers(0, 2),
)  # fmt: skip


@given(
    constraints=CONSTRAINTS, known=FACTS, minutes=st.integers(0, 1500),
    key=st.sampled_from(["due:x", "events:e1"]), is_worker=st.booleans(),
    in_turn=st.booleans(), policy=st.sampled_from(TimeoutPolicy),
)  # fmt: skip
def test_who_waits_is_looked_at_again_when_time_changes_the_answer_and_not_before(
    constraints, known, minutes, key, is_worker, in_turn, policy
):
    fields = {} if is_worker else {"program": WEB}
    definition = a_schedule(HOURLY, constraints=tuple(constraints), timeout_policy=policy, **fields)
    run = a_run(key, detail=RunDetail(in_turn=in_turn))
    now = NOON + minutes * MINUTE
    found = judge(definition, run, known, now)
    if found.verdict is not WAIT:
        assert (found.again_at, found.awaits) == (None, frozenset())
        assert bool(found.reasons) is (found.verdict is ABORT)
        return
    assert found.reasons
    assert now < found.again_at <= TOMORROW
    later = now
    while (later := later + MINUTE) < found.again_at:
        assert judge(definition, run, known, later) == found
    assert judge(definition, run, known, found.again_at) != found
