"""The decision of each state machine in each situation."""

from __future__ import annotations

from dataclasses import replace

import pytest

from synergy.lifecycle.decision import (
    Extend,
    Fail,
    Finalise,
    Finish,
    Gate,
    Reason,
    Request,
    Wait,
)
from synergy.lifecycle.machines import decide, waits_for
from synergy.model.job import JobState
from synergy.model.process import OnFailure
from synergy.timetable.readiness import Blocker, Readiness, Relation
from tests.unit.machine_situations import (
    BLOCKED_ALL,
    BY_SKIP,
    CANCELED,
    CHILDREN_SKIPPED,
    CONTINUOUS,
    DISCRETE,
    DONE,
    NOOP,
    RUN,
    RUN_ONLY,
    F,
    P,
    R,
    V,
    X,
    job,
    unit,
)

UNDER_SKIP = Readiness(
    True, True, False, Blocker(Relation.PARENT, "D", 1, "2015052000", JobState.SKIPPED)
)

OPEN, BLOCKED, UNIT_ACTIVE = map(Wait, (Reason.OPEN, Reason.BLOCKED, Reason.UNIT_ACTIVE))
NOTHING_NEW, FAILED = Wait(Reason.NOTHING_NEW), Wait(Reason.FAILED)
OFF, NOT_LED = Gate(is_on=False), Gate(is_led=False)
LATER, FULL = Gate(is_its_turn=False), Gate(has_slot=False)
SHUT = Gate(is_on=False, is_led=False, is_its_turn=False, has_slot=False)
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
    # a failed job stays failed until its source grows or an operator retries it
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
    # with on_failure "skip", a failed job is given up once it could finish
    (DISCRETE, job(P, units=[unit(CANCELED, reason="x")], **SKIPS), GIVES_UP),
    (DISCRETE, job(X, units=[unit(CANCELED, reason="x")], **SKIPS), GIVES_UP),
    (DISCRETE, job(P, units=[unit(CANCELED, reason="x")], ready=RUN_ONLY, **SKIPS), Fail("x", "u")),
    (DISCRETE, job(X, units=[unit(CANCELED, reason="x")], ready=RUN_ONLY, **SKIPS), FAILED),
    (DISCRETE, job(P, units=[unit(CANCELED, 8)], **SKIPS), Request(1, 10)),
    (CONTINUOUS, job(P, units=[unit(CANCELED)], may_retry=True, **SKIPS), LAST_RUN),
    (CONTINUOUS, job(P, closed=False, units=[unit(CANCELED, reason="x")], **SKIPS), Fail("x", "u")),
    (CONTINUOUS, job(X, closed=False, units=[unit(CANCELED)], **SKIPS), FAILED),
    # in an open period, new data leads to a new attempt
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
]

# Gates: a closed gate blocks new units; without a leader, every decision waits.
GATED = [
    (DISCRETE, job(gate=OFF), Wait(Reason.SWITCHED_OFF)),
    (DISCRETE, job(gate=NOT_LED), Wait(Reason.NOT_LED)),
    (DISCRETE, job(gate=LATER), Wait(Reason.TURN)),
    (DISCRETE, job(gate=FULL), Wait(Reason.NO_SLOT)),
    (DISCRETE, job(gate=SHUT), Wait(Reason.SWITCHED_OFF)),
    (DISCRETE, job(gate=replace(SHUT, is_on=True)), Wait(Reason.NOT_LED)),
    (DISCRETE, job(gate=Gate(is_its_turn=False, has_slot=False)), Wait(Reason.TURN)),
    (CONTINUOUS, job(gate=FULL), Wait(Reason.NO_SLOT)),
    (CONTINUOUS, job(closed=False, gate=FULL), Wait(Reason.NO_SLOT)),
    (DISCRETE, job(ready=RUN_ONLY, gate=FULL), Wait(Reason.NO_SLOT)),
    (DISCRETE, job(P, units=[unit(DONE, 8)], gate=OFF), Wait(Reason.SWITCHED_OFF)),
    (DISCRETE, job(X, units=[unit(CANCELED)], may_retry=True, gate=OFF), Wait(Reason.SWITCHED_OFF)),
    # decisions without a new unit are made even if the process is off or full
    (DISCRETE, job(bounds=None, gate=OFF), Finish(JobState.NOOP, "its source is empty")),
    (DISCRETE, job(P, units=[unit(DONE)], gate=LATER), Finish(JobState.PROCESSED, "", "u")),
    (CONTINUOUS, job(P, units=[unit(RUN)], gate=OFF), Finalise()),
    (CONTINUOUS, job(P, units=[unit(R, 8)], gate=OFF), Extend(unit(R, 8), 10, is_final=True)),
    (DISCRETE, job(P, units=[unit(CANCELED, reason="x")], gate=OFF), Fail("x", "u")),
    # but not without a leading scheduler
    (DISCRETE, job(bounds=None, gate=NOT_LED), Wait(Reason.NOT_LED)),
    (CONTINUOUS, job(P, units=[unit(RUN)], gate=NOT_LED), Wait(Reason.NOT_LED)),
    (DISCRETE, job(P, units=[unit(CANCELED, reason="x")], gate=NOT_LED), Wait(Reason.NOT_LED)),
    # reasons of the job itself precede those of the gate
    (DISCRETE, job(closed=False, gate=SHUT), OPEN),
    (DISCRETE, job(ready=BLOCKED_ALL, gate=SHUT), BLOCKED),
    (DISCRETE, job(P, units=[unit(RUN)], gate=SHUT), UNIT_ACTIVE),
    (DISCRETE, job(X, units=[unit(CANCELED)], gate=SHUT), FAILED),
    (CONTINUOUS, job(P, closed=False, units=[unit(DONE)], gate=SHUT), NOTHING_NEW),
]


@pytest.mark.parametrize(("machine", "situation", "expected"), [*TABLE, *GATED])
def test_each_situation_has_its_decision(machine, situation, expected):
    assert decide(machine, situation) == expected


def test_the_tables_cover_every_reason_to_wait():
    reached = {decision.reason for *_, decision in [*TABLE, *GATED] if isinstance(decision, Wait)}
    assert reached == set(Reason)


# Why a job is not finished; the reason for the current decision may be another one.
UNFINISHED = [
    (DISCRETE, job(), None),
    (DISCRETE, job(bounds=None), None),
    (DISCRETE, job(gate=SHUT), Reason.SWITCHED_OFF),
    (DISCRETE, job(gate=NOT_LED), Reason.NOT_LED),
    (DISCRETE, job(gate=LATER), Reason.TURN),
    (DISCRETE, job(gate=FULL), Reason.NO_SLOT),
    (DISCRETE, job(closed=False, gate=SHUT), Reason.OPEN),
    (DISCRETE, job(ready=BLOCKED_ALL), Reason.BLOCKED),
    (DISCRETE, job(ready=BLOCKED_ALL, gate=OFF), Reason.SWITCHED_OFF),
    (DISCRETE, job(ready=BLOCKED_ALL, gate=NOT_LED), Reason.BLOCKED),
    (DISCRETE, job(P, units=[unit(R)], gate=SHUT), Reason.UNIT_ACTIVE),
    (DISCRETE, job(X, units=[unit(CANCELED)], gate=SHUT), Reason.FAILED),
    # while work is possible or under way
    (DISCRETE, job(ready=RUN_ONLY), Reason.BLOCKED),
    (DISCRETE, job(ready=RUN_ONLY, gate=FULL), Reason.BLOCKED),
    (CONTINUOUS, job(closed=False), Reason.OPEN),
    (CONTINUOUS, job(closed=False, gate=FULL), Reason.OPEN),
    (CONTINUOUS, job(closed=False, ready=BLOCKED_ALL), Reason.OPEN),
    (CONTINUOUS, job(P, closed=False, units=[unit(DONE)]), Reason.OPEN),
    (CONTINUOUS, job(P, closed=False, units=[unit(RUN)]), Reason.UNIT_ACTIVE),
    (CONTINUOUS, job(P, units=[unit(DONE)], ready=RUN_ONLY), Reason.BLOCKED),
    (CONTINUOUS, job(P, units=[unit(RUN, 8), unit(R)], ready=RUN_ONLY), Reason.UNIT_ACTIVE),
    (CONTINUOUS, job(P, units=[unit(DONE, 8)], gate=LATER), Reason.TURN),
]


@pytest.mark.parametrize(("machine", "situation", "expected"), UNFINISHED)
def test_each_unfinished_job_has_its_reason(machine, situation, expected):
    assert waits_for(situation, decide(machine, situation)) is expected
