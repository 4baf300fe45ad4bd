"""The state machines as tables: situation in, decision out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synergy.errors import IllegalMove
from synergy.lifecycle.decision import (
    BLOCKED,
    FAILED,
    NOTHING_NEW,
    OPEN,
    UNIT_ACTIVE,
    Extend,
    Fail,
    Finalise,
    Finish,
    Request,
    Situation,
    SourceBounds,
    UnitView,
    Wait,
)
from synergy.lifecycle.machines import decide
from synergy.lifecycle.transitions import (
    JOB_MOVES,
    UNIT_MOVES,
    Move,
    UnitMoveName,
    after,
    unit_after,
)
from synergy.model.job import JobState
from synergy.model.process import OnFailure, StateMachine
from synergy.model.unit_of_work import UnitState
from synergy.timetable.readiness import Blocker, Readiness, Relation

DISCRETE, CONTINUOUS = StateMachine.DISCRETE, StateMachine.CONTINUOUS
READY = Readiness(True, True, False, None)
RUN_ONLY = Readiness(True, False, False, None)
BLOCKED_ALL = Readiness(False, False, False, None)
CHILDREN_SKIPPED = Readiness(True, True, True, None)
BY_SKIP = Readiness(
    False, True, False, Blocker(Relation.COUNTERPART, "A", 1, "2015052000", JobState.SKIPPED)
)
UNDER_SKIP = Readiness(
    True, True, False, Blocker(Relation.PARENT, "D", 1, "2015052000", JobState.SKIPPED)
)
E, P, F, X = JobState.EMBRYO, JobState.IN_PROGRESS, JobState.FINAL_RUN, JobState.FAILED
R, RUN, V = UnitState.REQUESTED, UnitState.IN_PROGRESS, UnitState.INVALID
DONE, NOOP, CANCELED = UnitState.PROCESSED, UnitState.NOOP, UnitState.CANCELED


def unit(state, end_id=10, start_id=1, reason=""):
    return UnitView("u", state, 1, start_id, end_id, reason)


def job(state=E, *, closed=True, ready=READY, bounds=(1, 10), units=(), **more):
    fields = {"is_checkpoint": True, "is_measured": True, "may_refresh": True, **more}
    return Situation(
        state=state,
        is_closed=closed,
        readiness=ready,
        bounds=SourceBounds(*bounds) if bounds else None,
        units=tuple(units),
        **fields,
    )


EXTERNAL = {"bounds": None, "is_measured": False}
SKIPS = {"on_failure": OnFailure.SKIP}
WITH_IT = Finish(
    JobState.SKIPPED, "A 2015052000 is skipped", with_=BY_SKIP.skipped_by, is_derived=True
)
UNDER_IT = Finish(JobState.SKIPPED, "D 2015052000 is skipped", with_=UNDER_SKIP.skipped_by)
WITH_CHILDREN = Finish(JobState.SKIPPED, "all its children are skipped", is_derived=True)
GIVES_UP = Finish(JobState.GIVEN_UP, "x", "u")
LAST_RUN = Request(1, 10, is_final=True)

TABLE = [
    # discrete: one unit, strictly after the period has ended and settled
    (DISCRETE, job(closed=False), OPEN),
    (DISCRETE, job(), Request(1, 10)),
    (DISCRETE, job(ready=BLOCKED_ALL), BLOCKED),
    (DISCRETE, job(ready=RUN_ONLY), Request(1, 10)),
    (DISCRETE, job(bounds=None), Finish(JobState.NOOP, "its source is empty")),
    (DISCRETE, job(bounds=None, ready=RUN_ONLY), BLOCKED),
    (DISCRETE, job(**EXTERNAL), Request(0, 0)),
    (DISCRETE, job(P, units=[unit(R)]), UNIT_ACTIVE),
    (DISCRETE, job(P, units=[unit(RUN)]), UNIT_ACTIVE),
    (DISCRETE, job(P, units=[unit(V)]), UNIT_ACTIVE),
    (DISCRETE, job(P, units=[unit(DONE)]), Finish(JobState.PROCESSED, "", "u")),
    (DISCRETE, job(P, units=[unit(NOOP)]), Finish(JobState.NOOP, "", "u")),
    # failed at once, whatever it waits for, until its source grows or somebody decides
    (DISCRETE, job(P, units=[unit(CANCELED, reason="why")]), Fail("why", "u")),
    (DISCRETE, job(P, units=[unit(CANCELED)]), Fail("its unit was canceled", "u")),
    (DISCRETE, job(P, units=[unit(CANCELED)], ready=RUN_ONLY), Fail("its unit was canceled", "u")),
    (DISCRETE, job(X, units=[unit(CANCELED)]), FAILED),
    (DISCRETE, job(X, units=[unit(CANCELED)], may_refresh=False), FAILED),
    (DISCRETE, job(X, units=[unit(CANCELED, 8)]), Request(1, 10)),
    (DISCRETE, job(X, units=[unit(CANCELED, 8)], may_refresh=False), FAILED),
    (DISCRETE, job(X, units=[unit(CANCELED, 8)], ready=BLOCKED_ALL), BLOCKED),
    (DISCRETE, job(X, units=[unit(CANCELED)], may_retry=True), Request(1, 10)),
    (DISCRETE, job(X, units=[unit(CANCELED, 0)], **EXTERNAL), FAILED),
    (DISCRETE, job(X, units=[unit(CANCELED, 0)], may_retry=True, **EXTERNAL), Request(0, 0)),
    # where the process says so, it is given up once it could finish
    (DISCRETE, job(P, units=[unit(CANCELED, reason="x")], **SKIPS), GIVES_UP),
    (DISCRETE, job(X, units=[unit(CANCELED, reason="x")], **SKIPS), GIVES_UP),
    (DISCRETE, job(P, units=[unit(CANCELED, reason="x")], ready=RUN_ONLY, **SKIPS), Fail("x", "u")),
    (DISCRETE, job(X, units=[unit(CANCELED, reason="x")], ready=RUN_ONLY, **SKIPS), FAILED),
    (DISCRETE, job(P, units=[unit(CANCELED, 8)], **SKIPS), Request(1, 10)),
    (CONTINUOUS, job(P, units=[unit(CANCELED)], may_retry=True, **SKIPS), LAST_RUN),
    (CONTINUOUS, job(P, closed=False, units=[unit(CANCELED, reason="x")], **SKIPS), Fail("x", "u")),
    (CONTINUOUS, job(X, closed=False, units=[unit(CANCELED)], **SKIPS), FAILED),
    # in an open period the next data is a new try
    (CONTINUOUS, job(X, closed=False, units=[unit(CANCELED, 8)]), Request(1, 10)),
    (CONTINUOUS, job(X, closed=False, units=[unit(CANCELED, 8)], may_refresh=False), FAILED),
    (CONTINUOUS, job(X, closed=False, units=[unit(CANCELED, 3)], **EXTERNAL), Request(0, 0)),
    (
        CONTINUOUS,
        job(X, closed=False, units=[unit(CANCELED, 3)], may_refresh=False, **EXTERNAL),
        FAILED,
    ),
    (CONTINUOUS, job(X, units=[unit(CANCELED, 8)]), LAST_RUN),
    (CONTINUOUS, job(X, units=[unit(CANCELED)]), FAILED),
    (CONTINUOUS, job(F, units=[unit(DONE, 8), unit(CANCELED, reason="x")]), Fail("x", "u")),
    (DISCRETE, job(P, units=[unit(DONE)], ready=RUN_ONLY), BLOCKED),
    (DISCRETE, job(P, units=[unit(DONE, 8)]), Request(1, 10, is_final=True)),
    (DISCRETE, job(P, units=[unit(DONE, 0)], **EXTERNAL), Finish(JobState.PROCESSED, "", "u")),
    (DISCRETE, job(ready=BY_SKIP), WITH_IT),
    (DISCRETE, job(ready=UNDER_SKIP), UNDER_IT),
    (
        DISCRETE,
        job(ready=CHILDREN_SKIPPED),
        WITH_CHILDREN,
    ),
    (
        DISCRETE,
        job(is_checkpoint=False),
        Finish(JobState.NOOP, "a later checkpoint covers this period"),
    ),
    (DISCRETE, job(is_checkpoint=False, closed=False), OPEN),
    # continuous, while the period is open or cannot finish
    (CONTINUOUS, job(closed=False), Request(1, 10)),
    (CONTINUOUS, job(closed=False, bounds=None), NOTHING_NEW),
    (CONTINUOUS, job(closed=False, ready=BLOCKED_ALL), BLOCKED),
    (CONTINUOUS, job(P, closed=False, units=[unit(DONE)]), NOTHING_NEW),
    (CONTINUOUS, job(P, closed=False, units=[unit(DONE, 8)]), Request(1, 10)),
    (CONTINUOUS, job(P, closed=False, units=[unit(NOOP, 8)]), Request(1, 10)),
    (CONTINUOUS, job(P, closed=False, units=[unit(DONE, 8)], may_refresh=False), NOTHING_NEW),
    (CONTINUOUS, job(P, closed=False, units=[unit(RUN, 8)]), Request(1, 10, behind=True)),
    (CONTINUOUS, job(P, closed=False, units=[unit(RUN, 7), unit(R, 8)]), Extend(unit(R, 8), 10)),
    (CONTINUOUS, job(P, closed=False, units=[unit(R, 8)]), Extend(unit(R, 8), 10)),
    (CONTINUOUS, job(P, closed=False, units=[unit(V, 8)]), Extend(unit(V, 8), 10)),
    (CONTINUOUS, job(P, closed=False, units=[unit(R)]), NOTHING_NEW),
    (CONTINUOUS, job(closed=False, **EXTERNAL), Request(0, 0)),
    (CONTINUOUS, job(P, closed=False, units=[unit(DONE, 3)], **EXTERNAL), Request(0, 4)),
    (CONTINUOUS, job(P, closed=False, units=[unit(RUN, 3)], **EXTERNAL), UNIT_ACTIVE),
    (
        CONTINUOUS,
        job(P, closed=False, units=[unit(DONE, 3)], may_refresh=False, **EXTERNAL),
        NOTHING_NEW,
    ),
    # continuous, once it is closed and finalisable
    (CONTINUOUS, job(), Request(1, 10, is_final=True)),
    (CONTINUOUS, job(ready=RUN_ONLY), Request(1, 10)),
    (CONTINUOUS, job(bounds=None), Finish(JobState.NOOP, "its source is empty")),
    (CONTINUOUS, job(P, units=[unit(DONE)]), Finish(JobState.PROCESSED, "", "u")),
    (CONTINUOUS, job(P, units=[unit(NOOP)]), Finish(JobState.NOOP, "", "u")),
    (CONTINUOUS, job(P, units=[unit(DONE, 8)]), Request(1, 10, is_final=True)),
    (CONTINUOUS, job(P, units=[unit(RUN)]), Finalise()),
    (CONTINUOUS, job(P, units=[unit(R)]), Finalise()),
    (CONTINUOUS, job(P, units=[unit(R, 8)]), Extend(unit(R, 8), 10, is_final=True)),
    (CONTINUOUS, job(P, units=[unit(RUN, 8)]), Request(1, 10, is_final=True, behind=True)),
    (CONTINUOUS, job(F, units=[unit(RUN)]), UNIT_ACTIVE),
    (CONTINUOUS, job(F, units=[unit(DONE)]), Finish(JobState.PROCESSED, "", "u")),
    (CONTINUOUS, job(F, units=[unit(DONE, 8)]), Request(1, 10, is_final=True)),
    (CONTINUOUS, job(F, units=[unit(CANCELED, reason="x")]), Fail("x", "u")),
    (CONTINUOUS, job(**EXTERNAL), Request(0, 0, is_final=True)),
    (CONTINUOUS, job(P, units=[unit(DONE, 3)], **EXTERNAL), Request(0, 4, is_final=True)),
    (CONTINUOUS, job(P, units=[unit(RUN, 3)], **EXTERNAL), UNIT_ACTIVE),
    (CONTINUOUS, job(F, units=[unit(DONE, 4)], **EXTERNAL), Finish(JobState.PROCESSED, "", "u")),
    (CONTINUOUS, job(ready=BY_SKIP), WITH_IT),
    (
        CONTINUOUS,
        job(P, units=[unit(DONE)], ready=CHILDREN_SKIPPED),
        WITH_CHILDREN,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("machine", "situation", "expected"), TABLE)
def test_decision(machine, situation, expected):
    assert decide(machine, situation) == expected


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
def test_nothing_final_happens_before_the_period_is_closed(machine, situation):
    if not situation.is_closed and (situation.last is None or situation.last.state is not CANCELED):
        decision = decide(machine, situation)
        skipped = situation.readiness.skipped_by is not None
        assert not isinstance(decision, Finalise)
        if isinstance(decision, Finish):
            assert skipped
            assert decision.state is JobState.SKIPPED


@pytest.mark.parametrize("state", JobState)
@pytest.mark.parametrize("move", Move)
def test_every_pair_of_job_state_and_move(state, move):
    allowed, result = JOB_MOVES[move]
    if state in allowed:
        assert after(state, move) is (state if result is None else result)
    else:
        with pytest.raises(IllegalMove):
            after(state, move)


@pytest.mark.parametrize("state", UnitState)
@pytest.mark.parametrize("move", UnitMoveName)
def test_every_pair_of_unit_state_and_move(state, move):
    allowed, result = UNIT_MOVES[move]
    if state in allowed:
        assert unit_after(state, move) is result
    else:
        with pytest.raises(IllegalMove):
            unit_after(state, move)


def test_finished_is_final_for_units():
    for move in UnitMoveName:
        for state in (DONE, NOOP, CANCELED):
            with pytest.raises(IllegalMove):
                unit_after(state, move)
