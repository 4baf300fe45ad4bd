"""Situations of jobs, from the timetable and the rows of a store."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from synergy.lifecycle.decision import Gate, Reason, Situation, SourceBounds, UnitView
from synergy.lifecycle.machines import decide, waits_for
from synergy.model.unit_of_work import UnitOfWork
from synergy.timetable.readiness import readiness
from synergy.timetable.timetable import Place

_GROWN = SourceBounds(0, sys.maxsize)


def unit_view(unit: UnitOfWork) -> UnitView:
    """The part of a unit that decisions depend on."""
    return UnitView(
        unit.id, unit.state, unit.attempt, unit.start_id, unit.end_id, unit.reason,
        unit.finished_at,
    )  # fmt: skip


def situation(
    place: Place, ordinal: int, units: Sequence[UnitView], bounds: SourceBounds | None,
    gate: Gate, *, is_closed: bool, may_refresh: bool = False, may_retry: bool = False,
) -> Situation:  # fmt: skip
    """The situation of a job; see `Situation` for the arguments."""
    process = place.process
    return Situation(
        state=place.level.state(ordinal),
        is_closed=is_closed,
        is_checkpoint=place.level.covered(ordinal) is not None,
        readiness=readiness(place, ordinal),
        is_measured=process.stored_source is not None,
        bounds=bounds,
        units=tuple(units),
        may_refresh=may_refresh,
        may_retry=may_retry,
        on_failure=process.on_failure,
        gate=gate,
    )


def unfinished_because(
    place: Place, ordinal: int, units: Sequence[UnitOfWork], gate: Gate, *, is_closed: bool
) -> Reason | None:
    """Why a job is not finished; None if the next decision finishes it, or requests its unit.

    `units` are those of its present generation, oldest first; the newest one is enough. The source
    is not read: it is assumed to have grown, so that a reason against another unit is found even
    where that unit may turn out not to be needed.
    """
    bounds = None if place.process.stored_source is None else _GROWN
    views = [unit_view(unit) for unit in units]
    job = situation(place, ordinal, views, bounds, gate, is_closed=is_closed)
    return waits_for(job, decide(place.process.state_machine, job))
