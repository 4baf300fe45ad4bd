"""Timeouts, concurrency and combinations of constraints."""

from __future__ import annotations

from datetime import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synergy.model.run_detail import RunDetail
from synergy.schedule.constraint import AWAITED, UNDER_WAY, Facts, judge
from synergy.schedule.definition import (
    AtMost,
    Concurrency,
    Delay,
    Load,
    LoadOf,
    Scope,
    SinceLastRun,
    TimeoutPolicy,
    TimeWindow,
    WhenUnmet,
)
from tests.factories import TICK
from tests.unit.schedule.constraint_kit import (
    ABORT,
    MET,
    NOON,
    TOMORROW,
    WAIT,
    WEB,
    a_run,
    facts,
    of,
)
from tests.unit.schedule.kit import HOUR, HOURLY, MINUTE, a_schedule, at

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
def test_the_timeout_takes_precedence_over_constraints(policy, now, verdict):
    definition = of(Load(1.0), timeout_policy=policy)
    found = judge(definition, a_run(), facts(load=2.0), now)
    assert found.verdict is verdict
    if verdict is ABORT:
        assert found.reasons == ("timed out: not launched within 1d",)


def test_a_run_times_out_even_if_its_constraints_are_met():
    assert judge(of(), a_run(), facts(), TOMORROW).verdict is ABORT


def test_force_launches_a_timed_out_run_despite_an_aborting_constraint():
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
def test_a_schedule_of_a_worker_has_one_active_run_besides_manual_ones(key, verdict, awaits):
    definition = a_schedule(HOURLY)
    found = judge(definition, a_run(key), facts(active_of_schedule=1), NOON)
    assert (found.verdict, found.awaits) == (verdict, frozenset(awaits))
    assert found.reasons == {ABORT: (UNDER_WAY,), WAIT: (AWAITED,), MET: ()}[verdict]
    assert judge(definition, a_run(key), facts(active_of_program=1), NOON).verdict is MET


def test_a_concurrency_constraint_replaces_the_limit_of_one_run():
    known = facts(active_of_schedule=1, active_of_program=1)
    assert judge(of(Concurrency(2)), a_run(), known, NOON).verdict is MET
    worker = a_schedule(HOURLY, constraints=(Concurrency(2),))
    assert judge(worker, a_run(), known, NOON).verdict is MET
    other = a_schedule(HOURLY, constraints=(Concurrency(2, Scope.GROUP),))
    assert judge(other, a_run(), known, NOON).verdict is MET


def test_deliveries_of_a_schedule_may_be_active_together():
    assert judge(of(), a_run(), facts(active_of_schedule=3), NOON).verdict is MET


@pytest.mark.parametrize("program", [WEB, a_schedule(HOURLY).program])
def test_a_run_in_turn_waits_only_for_the_run_before_it(program):
    definition = of(Concurrency(1), SinceLastRun(MINUTE), program=program)
    run = a_run(detail=RunDetail(in_turn=True))
    known = facts(active_of_schedule=1, active_of_program=1)
    found = judge(definition, run, known, NOON)
    assert (found.verdict, found.awaits, found.again_at) == (WAIT, {"schedule:s"}, TOMORROW)
    assert judge(definition, run, facts(), at("12:01")).verdict is MET


def test_a_manual_run_ignores_constraints():
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
def test_a_waiting_run_is_reevaluated_exactly_when_time_changes_its_judgement(
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
