"""The tables of legal moves; every other move is an error.

Stores compare and swap on the *from* state, and trust their caller for the table; it is
asked wherever a move is made from a state that was read. `docs/states.md` is generated from
here.
"""

from __future__ import annotations

from enum import Enum

from synergy.errors import IllegalMove
from synergy.model.job import FINISHED, JobState
from synergy.model.unit_of_work import UnitState


class Move(Enum):
    """What can happen to a job."""

    REQUEST = "request"  # its first unit of this generation is handed out
    FINALISE = "finalise"  # its period is over; a unit over the final bounds is under way
    PROCESS = "process"  # the last unit was processed
    PASS = "pass"  # there is nothing to do
    SKIP = "skip"  # by an operator, or because of another skipped job
    FAIL = "fail"  # its unit was given up
    GIVE_UP = "give up"  # the same, where the process says `on_failure="skip"`
    RETRY = "retry"  # a fresh budget of attempts in the same generation
    ACKNOWLEDGE = "acknowledge"  # a person takes note that it was given up
    START_OVER = "start over"  # reprocess or late data: generation + 1
    MARK = "mark"  # late data that is only shown


class UnitMoveName(Enum):
    """What can happen to a unit of work."""

    CLAIM = "claim"
    PROCESS = "process"
    PASS = "pass"
    FAIL = "fail"
    HAND_OUT_AGAIN = "hand out again"  # by the collector, or given back unbegun
    CANCEL = "cancel"


_J, _U = JobState, UnitState
_ACTIVE_JOBS = frozenset(JobState) - FINISHED

JOB_MOVES: dict[Move, tuple[frozenset[JobState], JobState | None]] = {
    Move.REQUEST: (frozenset({_J.EMBRYO, _J.FAILED}), _J.IN_PROGRESS),
    Move.FINALISE: (frozenset({_J.EMBRYO, _J.IN_PROGRESS, _J.FAILED}), _J.FINAL_RUN),
    # From failed where a new unit was made, and the scheduler did not live to move the job.
    Move.PROCESS: (frozenset({_J.IN_PROGRESS, _J.FINAL_RUN, _J.FAILED}), _J.PROCESSED),
    Move.PASS: (_ACTIVE_JOBS, _J.NOOP),
    Move.SKIP: (_ACTIVE_JOBS, _J.SKIPPED),
    Move.FAIL: (_ACTIVE_JOBS - {_J.FAILED}, _J.FAILED),
    Move.GIVE_UP: (_ACTIVE_JOBS, _J.GIVEN_UP),
    Move.RETRY: (frozenset({_J.FAILED}), _J.EMBRYO),
    Move.ACKNOWLEDGE: (frozenset({_J.GIVEN_UP}), _J.SKIPPED),
    Move.START_OVER: (frozenset(JobState) - {_J.EMBRYO}, _J.EMBRYO),
    Move.MARK: (FINISHED, None),
}

UNIT_MOVES: dict[UnitMoveName, tuple[frozenset[UnitState], UnitState]] = {
    UnitMoveName.CLAIM: (frozenset({_U.REQUESTED}), _U.IN_PROGRESS),
    UnitMoveName.PROCESS: (frozenset({_U.IN_PROGRESS}), _U.PROCESSED),
    UnitMoveName.PASS: (frozenset({_U.IN_PROGRESS}), _U.NOOP),
    UnitMoveName.FAIL: (frozenset({_U.IN_PROGRESS}), _U.INVALID),
    UnitMoveName.HAND_OUT_AGAIN: (frozenset({_U.IN_PROGRESS, _U.INVALID}), _U.REQUESTED),
    UnitMoveName.CANCEL: (
        frozenset({_U.REQUESTED, _U.IN_PROGRESS, _U.INVALID}),
        _U.CANCELED,
    ),
}


def after(state: JobState, move: Move) -> JobState:
    """The state of a job after a move; raises IllegalMove."""
    allowed, result = JOB_MOVES[move]
    if state not in allowed:
        raise IllegalMove("the job", state.word, move.value)
    return state if result is None else result


def unit_after(state: UnitState, move: UnitMoveName) -> UnitState:
    """The state of a unit after a move; raises IllegalMove."""
    allowed, result = UNIT_MOVES[move]
    if state not in allowed:
        raise IllegalMove("the unit", state.value, move.value)
    return result
