"""A decision about a job, on its way from the decider to the store."""

from __future__ import annotations

from synergy.lifecycle.decision import Decision, UnitView
from synergy.model.value import value
from synergy.scheduler.process_state import ProcessState


@value
class JobDecision:
    """A decision about a job, with what it is based on.

    `covered` is the highest write number in the job's source at that time, 0 if there is none.
    """

    state: ProcessState
    ordinal: int
    decision: Decision
    units: tuple[UnitView, ...]
    covered: int
