"""Changes of state, each made by a move from the tables of `lifecycle.legal_moves`.

No other module sets the state of a job, a unit of work or a run. Runs are values: `advance` returns
the changed run. For jobs and units, the functions return a change for the store, which compares the
state that was read with its own. Every function raises IllegalMove for a move that the table does
not contain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from synergy.errors import IllegalMove, Malformed
from synergy.lifecycle.decision import UnitView
from synergy.lifecycle.legal_moves import (
    JobMove,
    RunMove,
    UnitMove,
    job_after,
    run_after,
    unit_after,
)
from synergy.model.job import JobChange
from synergy.model.schedule import Run
from synergy.model.unit_of_work import Conclusion, SinkWrite, UnitChange, UnitOfWork, UnitState
from synergy.timetable.timetable import Place


def advance(run: Run, move: RunMove, now: datetime, reason: str = "") -> Run:
    """The run after a move; fields that only apply to its previous state are cleared.

    `now` becomes the time of its launch or of its end. For a run that stays pending, only the state
    changes.
    """
    state = run_after(run.state, move)
    if state.is_pending:
        return replace(run, state=state)
    left = replace(run, state=state, reason=reason, owner=None, not_before=None)
    if state.is_finished:
        return replace(left, finished_at=now)
    return replace(left, launched_at=now, finished_at=None)


def outcome_of(unit: UnitOfWork) -> tuple[RunMove, str] | None:
    """The move that ends the run of a unit, and its reason; None while the unit is unfinished.

    A canceled unit with a failure (not being carried out in time is one) means a failed run;
    without any, an operator canceled it.
    """
    match unit.state:
        case UnitState.PROCESSED:
            return RunMove.PROCESS, ""
        case UnitState.NOOP:
            return RunMove.PASS, ""
        case UnitState.CANCELED if unit.failures:
            return RunMove.FAIL, unit.reason or "canceled after a failure"
        case UnitState.CANCELED:
            return RunMove.CANCEL, unit.reason or "canceled by an operator"
        case _:
            return None


def move_job(
    place: Place,
    ordinal: int,
    move: JobMove,
    why: str,
    who: str,
    *,
    unit: str | None = None,
    covered: int = 0,
    is_derived: bool = False,
) -> JobChange:
    """The change that moves one job from its known state.

    MARK sets the stale flag and keeps the others; every other move clears all flags, except that
    ACKNOWLEDGE keeps the stale flag. Raises Malformed for a job whose stored state cannot be read.
    """
    level, process = place.level, place.process
    if level.is_unreadable(ordinal):
        name = f"{process.name} (with {level.timeperiod(ordinal)})"
        raise Malformed("job_blocks", name, "its states cannot be read")
    state = level.state(ordinal)
    is_mark, is_acknowledged = move is JobMove.MARK, move is JobMove.ACKNOWLEDGE
    return JobChange(
        process.name, process.qualifier, ordinal, ordinal, state, job_after(state, move),
        level.generation(ordinal), why, who,
        start_over=move is JobMove.START_OVER,
        stale=is_mark or (is_acknowledged and level.is_stale(ordinal)),
        acknowledged=is_acknowledged or (is_mark and level.is_acknowledged(ordinal)),
        derived=is_derived or (is_mark and level.is_derived(ordinal)),
        unit=unit,
        covered=covered,
    )  # fmt: skip


def move_unit(
    unit: UnitOfWork | UnitView,
    move: UnitMove,
    why: str,
    who: str,
    *,
    heartbeat: int | None = None,
    is_failure: bool = False,
    forgive: bool = False,
    not_before: datetime | None = None,
) -> UnitChange:
    """The change that moves a unit for another service or an operator; its worker loses it."""
    return UnitChange(
        unit.id, unit.state, unit.attempt, unit_after(unit.state, move), why, who,
        heartbeat=heartbeat, next_attempt=True, failed=is_failure, forgive=forgive,
        not_before=not_before,
    )  # fmt: skip


def as_history(unit: UnitOfWork, state: UnitState) -> UnitOfWork:
    """The unit of an older version of Synergy, which ended in this state."""
    if not state.is_finished:
        raise IllegalMove("the unit", state.value, JobMove.TAKE_OVER.value)
    return replace(unit, state=state)


def conclude(
    unit: UnitOfWork,
    owner: str,
    move: UnitMove,
    *,
    counts: Mapping[str, int] | None = None,
    reason: str = "",
    writes: tuple[SinkWrite, ...] = (),
    not_before: datetime | None = None,
) -> Conclusion:
    """The end of an attempt by its worker; a failed one is not repeated before `not_before`."""
    state = unit_after(unit.state, move)
    return Conclusion(unit.id, unit.attempt, owner, state, counts or {}, reason, writes, not_before)
