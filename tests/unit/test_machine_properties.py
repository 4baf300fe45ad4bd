"""No decision of any state machine is illegal or comes too early."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synergy.errors import IllegalMove
from synergy.lifecycle.decision import (
    Extend,
    Finalise,
    Finish,
    Gate,
    Reason,
    Request,
    Wait,
)
from synergy.lifecycle.legal_moves import (
    JOB_MOVES,
    UNIT_MOVES,
    JobMove,
    UnitMove,
    job_after,
    unit_after,
)
from synergy.lifecycle.machines import decide
from synergy.model.job import JobState
from synergy.model.process import StateMachine
from synergy.model.unit_of_work import UnitState
from tests.unit.machine_situations import (
    BLOCKED_ALL,
    BY_SKIP,
    CANCELED,
    CHILDREN_SKIPPED,
    CONTINUOUS,
    DONE,
    NOOP,
    READY,
    RUN,
    RUN_ONLY,
    E,
    F,
    P,
    R,
    V,
    job,
    unit,
)

UNITS = st.builds(unit, st.sampled_from(UnitState), st.integers(0, 12))
SITUATIONS = st.builds(
    job,
    st.sampled_from([E, P, F]),
    closed=st.booleans(),
    ready=st.sampled_from([READY, RUN_ONLY, BLOCKED_ALL, CHILDREN_SKIPPED, BY_SKIP]),
    bounds=st.sampled_from([None, (1, 5), (1, 10), (3, 12)]),
    units=st.one_of(
        st.just(()),
        st.tuples(UNITS),
        st.tuples(
            st.builds(unit, st.just(RUN), st.integers(0, 5)),
            st.builds(unit, st.sampled_from([R, V]), st.integers(6, 12)),
        ),
    ),
    is_checkpoint=st.booleans(),
    is_measured=st.booleans(),
    may_refresh=st.booleans(),
    gate=st.builds(
        Gate,
        is_on=st.booleans(),
        is_led=st.booleans(),
        is_its_turn=st.booleans(),
        has_slot=st.booleans(),
    ),
)


@given(st.sampled_from(StateMachine), SITUATIONS)
def test_no_decision_is_illegal(machine, situation):
    decision = decide(machine, situation)
    last = situation.last
    match decision:
        case Finish(JobState.PROCESSED):
            assert last is not None
            assert last.state is DONE
            assert situation.readiness.may_finish
            assert situation.is_closed
            if situation.is_measured and situation.bounds is not None:
                assert last.end_id >= situation.bounds.high
        case Finish(JobState.NOOP):
            assert situation.is_closed
        case Request(_, _, _, behind):
            assert last is None or last.state.is_finished or behind
            if behind:
                assert last is not None
                assert last.state is RUN
            assert machine is CONTINUOUS or situation.is_closed
        case Extend(waiting, end_id):
            assert waiting.state in (R, V)
            assert end_id > waiting.end_id
        case Finalise():
            assert machine is CONTINUOUS
            assert situation.state is not F
        case Wait() | Finish():
            pass


@given(st.sampled_from(StateMachine), SITUATIONS)
def test_a_gate_turns_a_decision_only_into_a_wait(machine, situation):
    decision, free = decide(machine, situation), decide(machine, replace(situation, gate=Gate()))
    if decision != free:
        assert not isinstance(free, Wait)
        assert isinstance(decision, Wait)
        assert isinstance(free, Request) or decision.reason is Reason.NOT_LED
    if isinstance(decision, Request):
        assert situation.gate.closed_by is None


@given(st.sampled_from(StateMachine), SITUATIONS)
def test_nothing_final_happens_before_the_period_is_closed(machine, situation):
    if not situation.is_closed and (situation.last is None or situation.last.state is not CANCELED):
        decision = decide(machine, situation)
        skipped = situation.readiness.skipped_by is not None
        assert not isinstance(decision, Finalise)
        if isinstance(decision, Finish):
            assert skipped
            assert decision.state is JobState.SKIPPED


@pytest.mark.parametrize("state", JobState)
@pytest.mark.parametrize("move", JobMove)
def test_job_moves_are_legal_only_from_the_states_of_the_table(state, move):
    allowed, result = JOB_MOVES[move]
    if state in allowed:
        assert job_after(state, move) is (state if result is None else result)
    else:
        with pytest.raises(IllegalMove):
            job_after(state, move)


@pytest.mark.parametrize("state", UnitState)
@pytest.mark.parametrize("move", UnitMove)
def test_unit_moves_are_legal_only_from_the_states_of_the_table(state, move):
    allowed, result = UNIT_MOVES[move]
    if state in allowed:
        assert unit_after(state, move) is result
    else:
        with pytest.raises(IllegalMove):
            unit_after(state, move)


def test_a_finished_unit_has_no_legal_move():
    for move in UnitMove:
        for state in (DONE, NOOP, CANCELED):
            with pytest.raises(IllegalMove):
                unit_after(state, move)
