"""The tables of legal moves of jobs, units of work and runs; every other move is an error.

`lifecycle.state_changes` asks them for every change of a state. Stores compare and swap on the
*from* state, and trust their caller for the table. `docs/states.md` is generated from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TypeVar

from synergy.errors import IllegalMove
from synergy.model.job import FINISHED, JobState
from synergy.model.schedule import RunState
from synergy.model.unit_of_work import UnitState


class JobMove(Enum):
    """What can happen to a job."""

    REQUEST = "request"  # its first unit, or one after a failure, is handed out
    FINALISE = "finalise"  # its period is over; a unit over the final bounds is under way
    PROCESS = "process"  # the last unit was processed
    PASS = "pass"  # there is nothing to do
    SKIP = "skip"  # by an operator, or because of another skipped job
    FAIL = "fail"  # its unit was given up
    GIVE_UP = "give up"  # the same, where the process says `on_failure="skip"`
    RETRY = "retry"  # it gets all its attempts again, in the same generation
    ACKNOWLEDGE = "acknowledge"  # an operator accepts that it was given up
    START_OVER = "start over"  # reprocess or late data: generation + 1
    MARK = "mark"  # late data is only shown
    TAKE_OVER = "take over"  # an older version of Synergy processed it


class UnitMove(Enum):
    """What can happen to a unit of work."""

    CLAIM = "claim"
    PROCESS = "process"
    PASS = "pass"
    FAIL = "fail"
    HAND_OUT_AGAIN = "hand out again"  # by the collector, an operator, or its worker
    CANCEL = "cancel"


class RunMove(Enum):
    """What can happen to a run."""

    ADMIT = "admit"  # its constraints are met; it is to be launched next
    LAUNCH = "launch"  # a final decision
    PROCESS = "process"
    PASS = "pass"  # there was nothing to do
    FAIL = "fail"
    RETRY = "retry"  # launched again on request
    ABORT = "abort"  # a pending job is dropped
    SKIP = "skip"  # a due time is not run
    CANCEL = "cancel"


_J, _U, _R = JobState, UnitState, RunState
_ACTIVE_JOBS = frozenset(JobState) - FINISHED
_RUNNING = frozenset({_U.IN_PROGRESS})
_PENDING = frozenset({_R.PENDING_CONSTRAINT, _R.PENDING_LAUNCH})
_LAUNCHED = frozenset({_R.LAUNCHED})

JOB_MOVES: dict[JobMove, tuple[frozenset[JobState], JobState | None]] = {
    JobMove.REQUEST: (frozenset({_J.EMBRYO, _J.FAILED}), _J.IN_PROGRESS),
    JobMove.FINALISE: (frozenset({_J.EMBRYO, _J.IN_PROGRESS, _J.FAILED}), _J.FINAL_RUN),
    # From failed if the scheduler died between creating a new unit and moving the job.
    JobMove.PROCESS: (frozenset({_J.IN_PROGRESS, _J.FINAL_RUN, _J.FAILED}), _J.PROCESSED),
    JobMove.PASS: (_ACTIVE_JOBS, _J.NOOP),
    JobMove.SKIP: (_ACTIVE_JOBS, _J.SKIPPED),
    JobMove.FAIL: (_ACTIVE_JOBS - {_J.FAILED}, _J.FAILED),
    JobMove.GIVE_UP: (_ACTIVE_JOBS, _J.GIVEN_UP),
    JobMove.RETRY: (frozenset({_J.FAILED}), _J.EMBRYO),
    JobMove.ACKNOWLEDGE: (frozenset({_J.GIVEN_UP}), _J.SKIPPED),
    JobMove.START_OVER: (frozenset(JobState) - {_J.EMBRYO}, _J.EMBRYO),
    JobMove.MARK: (FINISHED, None),
    JobMove.TAKE_OVER: (frozenset({_J.EMBRYO}), _J.PROCESSED),
}

UNIT_MOVES: dict[UnitMove, tuple[frozenset[UnitState], UnitState]] = {
    UnitMove.CLAIM: (frozenset({_U.REQUESTED}), _U.IN_PROGRESS),
    UnitMove.PROCESS: (_RUNNING, _U.PROCESSED),
    UnitMove.PASS: (_RUNNING, _U.NOOP),
    UnitMove.FAIL: (_RUNNING, _U.INVALID),
    UnitMove.HAND_OUT_AGAIN: (frozenset({_U.IN_PROGRESS, _U.INVALID}), _U.REQUESTED),
    UnitMove.CANCEL: (frozenset({_U.REQUESTED, _U.IN_PROGRESS, _U.INVALID}), _U.CANCELED),
}

# The states to which a worker may move its unit when an attempt ends.
ATTEMPT_ENDS = frozenset(
    UNIT_MOVES[move][1] for move in (UnitMove.PROCESS, UnitMove.PASS, UnitMove.FAIL)
)

RUN_MOVES: dict[RunMove, tuple[frozenset[RunState], RunState]] = {
    RunMove.ADMIT: (frozenset({_R.PENDING_CONSTRAINT}), _R.PENDING_LAUNCH),
    RunMove.LAUNCH: (_PENDING, _R.LAUNCHED),
    RunMove.PROCESS: (_LAUNCHED, _R.PROCESSED),
    RunMove.PASS: (_LAUNCHED, _R.NOOP),
    RunMove.FAIL: (_LAUNCHED, _R.FAILED),
    RunMove.RETRY: (frozenset({_R.FAILED}), _R.LAUNCHED),
    RunMove.ABORT: (_PENDING, _R.ABORTED),
    RunMove.SKIP: (_PENDING, _R.SKIPPED),
    RunMove.CANCEL: (_PENDING | _LAUNCHED, _R.CANCELED),
}


def job_after(state: JobState, move: JobMove) -> JobState:
    """The state of a job after a move; raises IllegalMove."""
    result = _result(JOB_MOVES, state, move, ("the job", state.word))
    return state if result is None else result


def unit_after(state: UnitState, move: UnitMove) -> UnitState:
    """The state of a unit after a move; raises IllegalMove."""
    return _result(UNIT_MOVES, state, move, ("the unit", state.value))


def run_after(state: RunState, move: RunMove) -> RunState:
    """The state of a run after a move; raises IllegalMove."""
    return _result(RUN_MOVES, state, move, ("the run", state.value))


_Name = TypeVar("_Name", bound=Enum)
_From = TypeVar("_From")
_To = TypeVar("_To")


def _result(
    moves: Mapping[_Name, tuple[frozenset[_From], _To]],
    state: _From,
    move: _Name,
    in_words: tuple[str, str],
) -> _To:
    allowed, result = moves[move]
    if state not in allowed:
        raise IllegalMove(*in_words, str(move.value))
    return result
