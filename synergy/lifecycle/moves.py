"""Changes of state, each made by a move from the tables of `lifecycle.transitions`.

Nothing else sets the state of a job, a unit of work or a run: runs are values that `advance`
changes; of jobs and units a store is asked for a change, which is made here from the state that
was read. Every function raises IllegalMove for a move that the table does not contain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from synergy.lifecycle.decision import UnitView
from synergy.lifecycle.transitions import JobMove, RunMove, UnitMove, after, run_after, unit_after
from synergy.model.job import JobChange
from synergy.model.schedule import Run
from synergy.model.unit_of_work import Conclusion, SinkWrite, UnitChange, UnitOfWork, UnitState
from synergy.timetable.timetable import Place


def advance(run: Run, move: RunMove, now: datetime, reason: str = "") -> Run:
    """The run after a move; what belonged to the state that it leaves is cleared.

    A run that is launched begins at `now`, one that ends is finished then.
    """
    state = run_after(run.state, move)
    if state.is_pending:
        return replace(run, state=state)
    left = replace(run, state=state, reason=reason, owner=None, not_before=None)
    if state.is_finished:
        return replace(left, finished_at=now)
    return replace(left, launched_at=now, finished_at=None)


def outcome_of(unit: UnitOfWork) -> tuple[RunMove, str] | None:
    """How the run ends that a unit carries out, and why; None while that is not decided.

    What was given up after a failure, or because it was not carried out in time, has failed; what
    was canceled before anything went wrong was canceled by an operator.
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
    """A move of one job from the state that it is known to be in.

    Data that is late marks the job and leaves its other flags; every other move clears them, but
    an acknowledged job stays stale.
    """
    level, process = place.level, place.process
    state = level.state(ordinal)
    is_mark, is_acknowledged = move is JobMove.MARK, move is JobMove.ACKNOWLEDGE
    return JobChange(
        process.name, process.qualifier, ordinal, ordinal, state, after(state, move),
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
    """A move of a unit that does not come from its worker; it takes the unit from its owner."""
    return UnitChange(
        unit.id, unit.state, unit.attempt, unit_after(unit.state, move), why, who,
        heartbeat=heartbeat, next_attempt=True, failed=is_failure, forgive=forgive,
        not_before=not_before,
    )  # fmt: skip


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
    """The end of the attempt of a claimed unit; one that failed may be claimed again later."""
    state = unit_after(unit.state, move)
    return Conclusion(unit.id, unit.attempt, owner, state, counts or {}, reason, writes, not_before)
