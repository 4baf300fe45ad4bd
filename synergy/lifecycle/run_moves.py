"""The table of legal moves of runs; every other move is an error.

As in `lifecycle.transitions`, which `docs/states.md` is generated from together with this.
"""

from __future__ import annotations

from enum import Enum

from synergy.errors import IllegalMove
from synergy.model.schedule import RunState


class RunMove(Enum):
    """What can happen to a run."""

    ADMIT = "admit"  # its constraints are met; it is to be launched next
    LAUNCH = "launch"  # decided for good
    PROCESS = "process"
    PASS = "pass"  # there was nothing to do
    FAIL = "fail"
    RETRY = "retry"  # launched again, because somebody asks for it
    ABORT = "abort"  # a pending job comes to nothing
    SKIP = "skip"  # a due time that is not run after all
    CANCEL = "cancel"


_R = RunState
_PENDING = frozenset({_R.PENDING_CONSTRAINT, _R.PENDING_LAUNCH})
_LAUNCHED = frozenset({_R.LAUNCHED})

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


def run_after(state: RunState, move: RunMove) -> RunState:
    """The state of a run after a move; raises IllegalMove."""
    allowed, result = RUN_MOVES[move]
    if state not in allowed:
        raise IllegalMove("the run", state.value, move.value)
    return result
