"""Short builders of situations for the tests of state machines."""

from __future__ import annotations

from synergy.lifecycle.decision import (
    Situation,
    SourceBounds,
    UnitView,
)
from synergy.model.job import JobState
from synergy.model.process import StateMachine
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
