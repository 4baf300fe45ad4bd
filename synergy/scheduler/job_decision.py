"""A decision about a job, on its way from the decider to the store."""

from __future__ import annotations

from dataclasses import dataclass

from synergy.lifecycle.decision import Decision, UnitView
from synergy.scheduler.process_state import ProcessState


@dataclass(frozen=True, slots=True)
class JobDecision:
    """A decision about a job, with what it is based on.

    `covered` is the highest write number of the job's source at that time.
    """

    state: ProcessState
    ordinal: int
    decision: Decision
    units: tuple[UnitView, ...]
    covered: int
