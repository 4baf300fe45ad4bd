"""The two state machines of the timetable, as pure functions.

*Discrete*: one unit for a period, after the period has ended and settled. *Continuous*: the
period is worked on while it is still open; when it is over and all its inputs are finished, a
last unit runs over the final bounds, unless the previous unit covered exactly these.

Both end in `_conclude`: a job is finished from the unit that covers everything in its source,
never from an older one. A finished job therefore covers what was in the source when its
children and counterparts were finished.

A job whose unit was given up is failed. It gets another unit, with a fresh budget of attempts,
when its source grows, when its period closes, or after `retry_failed`; otherwise it waits for an
operator. With `on_failure="skip"`, a closed period is given up instead.
"""

from __future__ import annotations

from dataclasses import replace

from synergy.lifecycle.decision import (
    Decision,
    Extend,
    Fail,
    Finalise,
    Finish,
    Reason,
    Request,
    Situation,
    UnitView,
    Wait,
)
from synergy.model.job import JobState
from synergy.model.process import OnFailure, StateMachine
from synergy.model.unit_of_work import UnitState
from synergy.timetable.readiness import Relation


def decide(machine: StateMachine, job: Situation) -> Decision:
    """What to do about a job that is not finished."""
    decision = _ungated(machine, job)
    if isinstance(decision, Wait):
        return decision
    if isinstance(decision, Request) and (reason := job.gate.closed_by) is not None:
        return Wait(reason)
    return decision if job.gate.is_led else Wait(Reason.NOT_LED)


def waits_for(job: Situation, decision: Decision) -> Reason | None:
    """Why a job is not finished, given the decision about it.

    None if the decision finishes it, or requests the unit that it can be finished from.

    A job that cannot be finished yet may be worked on, or wait for a slot, meanwhile. Then the
    reason is what keeps it from being finished, not what keeps it from being worked on.
    """
    if job.state is JobState.FAILED:
        return Reason.FAILED
    if job.is_in_flight:
        return Reason.UNIT_ACTIVE
    if not job.is_closed:
        return Reason.OPEN
    if not job.gate.is_on:
        return Reason.SWITCHED_OFF
    if not job.readiness.may_finish:
        return Reason.BLOCKED
    return decision.reason if isinstance(decision, Wait) else None


def _ungated(machine: StateMachine, job: Situation) -> Decision:
    """The decision from the job, its inputs and its units, regardless of the gate."""
    last = job.last
    if last is not None and last.state is UnitState.CANCELED:
        if not _is_tried_again(job):
            return _failed(job, last)
        job = replace(job, units=())
    return _early(job) or (_discrete(job) if machine is StateMachine.DISCRETE else _continuous(job))


def _early(job: Situation) -> Decision | None:
    """The end of a job that needs neither machine."""
    if job.readiness.skipped_by is not None and job.last is None:
        by = job.readiness.skipped_by
        was = "was given up" if by.state is JobState.GIVEN_UP else "is skipped"
        why = f"{by.process} {by.timeperiod} {was}"
        is_derived = by.relation is not Relation.PARENT
        return Finish(JobState.SKIPPED, why, with_=by, is_derived=is_derived)
    if not job.is_closed:
        return None
    if job.readiness.may_finish and job.readiness.all_children_skipped:
        return Finish(JobState.SKIPPED, "all its children are skipped", is_derived=True)
    if not job.is_checkpoint:
        return Finish(JobState.NOOP, "a later checkpoint covers this period")
    return None


def _is_tried_again(job: Situation) -> bool:
    """Whether a job whose newest unit was given up gets another one automatically."""
    if job.may_retry:
        return True
    grows = job.has_grown if job.is_measured else not job.is_closed
    return grows and job.may_refresh


def _failed(job: Situation, last: UnitView) -> Decision:
    """Fails the job at once, so that it is visible, and gives it up when it could also finish.

    It is not given up while its source holds data that no unit has tried.
    """
    why = last.reason or "its unit was canceled"
    is_over = job.is_closed and job.readiness.may_finish and not job.has_grown
    if job.on_failure is OnFailure.SKIP and is_over:
        return Finish(JobState.GIVEN_UP, why, last.id)
    return Wait(Reason.FAILED) if job.state is JobState.FAILED else Fail(why, last.id)


def _discrete(job: Situation) -> Decision:
    if not job.is_closed:
        return Wait(Reason.OPEN)
    if job.last is not None:
        return _conclude(job, job.last) if job.readiness.may_finish else _wait(job.last)
    if not job.readiness.may_run:
        return Wait(Reason.BLOCKED)
    if job.is_measured and job.bounds is None:
        return _conclude(job, None) if job.readiness.may_finish else Wait(Reason.BLOCKED)
    return _request(job, is_final=False)


def _continuous(job: Situation) -> Decision:
    if not job.is_checkpoint:
        return Wait(Reason.OPEN)
    if not job.readiness.may_run:
        return Wait(Reason.BLOCKED)
    if job.is_closed and job.readiness.may_finish:
        return _final_run(job)
    return _interim(job)


def _interim(job: Situation) -> Decision:
    """Keeps the rows of a period that cannot be finished yet up to date with its source."""
    last = job.last
    due = job.has_grown if job.is_measured else last is None or last.state.is_finished
    if not due:
        return Wait(Reason.NOTHING_NEW if job.is_measured else Reason.UNIT_ACTIVE)
    if last is not None and last.state in (UnitState.REQUESTED, UnitState.INVALID):
        return _extend(job, last, is_final=False)
    if last is not None and not job.may_refresh:
        return Wait(Reason.NOTHING_NEW)
    return _request(job, is_final=False)


def _final_run(job: Situation) -> Decision:
    last = job.last
    if job.state is JobState.FINAL_RUN:
        return _conclude(job, last)
    if job.is_measured:
        if last is None or last.state.is_finished or job.has_grown:
            return _conclude(job, last)
        return Finalise()
    # It is unknown whether a run that began earlier saw all of an outside source.
    if last is None or last.state.is_finished:
        return _request(job, is_final=True)
    return Wait(Reason.UNIT_ACTIVE)


def _conclude(job: Situation, last: UnitView | None) -> Decision:
    """Finishes a job from the unit that covers all of its source, or requests such a unit."""
    if last is None and job.bounds is None and job.is_measured:
        return Finish(JobState.NOOP, "its source is empty")
    if last is None:
        return _request(job, is_final=True)
    if job.is_measured and job.has_grown:
        if last.state in (UnitState.REQUESTED, UnitState.INVALID):
            return _extend(job, last, is_final=True)
        return _request(job, is_final=True)
    if not last.state.is_finished:
        return Wait(Reason.UNIT_ACTIVE)
    state = JobState.PROCESSED if last.state is UnitState.PROCESSED else JobState.NOOP
    return Finish(state, "", last.id)


def _request(job: Situation, *, is_final: bool) -> Decision:
    last = job.last
    behind = last is not None and last.state is UnitState.IN_PROGRESS
    if job.bounds is not None:
        return Request(job.bounds.low, job.bounds.high, is_final, behind)
    # Outside sources have no bounds; the number of the run makes the unit's key unique.
    return Request(0, 0 if last is None else last.end_id + 1, is_final, behind)


def _extend(job: Situation, unit: UnitView, *, is_final: bool) -> Decision:
    assert job.bounds is not None
    return Extend(unit, job.bounds.high, is_final)


def _wait(last: UnitView) -> Decision:
    return Wait(Reason.BLOCKED if last.state.is_finished else Reason.UNIT_ACTIVE)
