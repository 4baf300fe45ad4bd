"""The reasons for which jobs are not finished, in words short enough for a line."""

from __future__ import annotations

from synergy.lifecycle.decision import Reason
from synergy.model.unit_of_work import UnitOfWork, UnitState
from synergy.timetable.readiness import blockers
from synergy.timetable.timetable import Place

READY = "ready"
UNREADABLE = "its stored state cannot be read, so nothing is decided about it"
SWITCHED_OFF = Reason.SWITCHED_OFF.value


def in_a_line(
    reason: Reason | None, place: Place, ordinal: int, unit: UnitOfWork | None = None
) -> str:
    """The reason of an unfinished job, `unit` being its newest; "" if its state says enough."""
    match reason:
        case Reason.UNIT_ACTIVE if unit is not None:
            return _unit(unit)
        case Reason.SWITCHED_OFF:
            return SWITCHED_OFF
        case Reason.BLOCKED:
            return _blocked(place, ordinal)
        case Reason.OPEN | Reason.FAILED:
            return ""
        case _:
            return READY


def _unit(unit: UnitOfWork) -> str:
    match unit.state:
        case UnitState.INVALID:
            return f"its unit failed: {unit.reason}"
        case UnitState.IN_PROGRESS:
            return "its unit is in progress"
        case _:
            return "its unit waits for a worker"


def _blocked(place: Place, ordinal: int) -> str:
    for blocker in blockers(place, ordinal, limit=1):
        return f"waits for {blocker.relation.value} {blocker.process} {blocker.timeperiod}"
    return READY
