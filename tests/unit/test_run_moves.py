"""Every pair of state and move of a run, against what the words say."""

from __future__ import annotations

import pytest

from synergy.errors import IllegalMove
from synergy.lifecycle.run_moves import RunMove, run_after
from synergy.model.schedule import RunState

WAITING, NEXT, LAUNCHED = (
    RunState.PENDING_CONSTRAINT, RunState.PENDING_LAUNCH, RunState.LAUNCHED,
)  # fmt: skip
LEGAL = {
    (WAITING, RunMove.ADMIT): NEXT,
    (WAITING, RunMove.LAUNCH): LAUNCHED,
    (WAITING, RunMove.ABORT): RunState.ABORTED,
    (WAITING, RunMove.SKIP): RunState.SKIPPED,
    (WAITING, RunMove.CANCEL): RunState.CANCELED,
    (NEXT, RunMove.LAUNCH): LAUNCHED,
    (NEXT, RunMove.ABORT): RunState.ABORTED,
    (NEXT, RunMove.SKIP): RunState.SKIPPED,
    (NEXT, RunMove.CANCEL): RunState.CANCELED,
    (LAUNCHED, RunMove.PROCESS): RunState.PROCESSED,
    (LAUNCHED, RunMove.PASS): RunState.NOOP,
    (LAUNCHED, RunMove.FAIL): RunState.FAILED,
    (LAUNCHED, RunMove.CANCEL): RunState.CANCELED,
    (RunState.FAILED, RunMove.RETRY): LAUNCHED,
}


@pytest.mark.parametrize("move", RunMove)
@pytest.mark.parametrize("state", RunState)
def test_only_the_moves_of_the_table_are_made(state, move):
    if (state, move) in LEGAL:
        assert run_after(state, move) is LEGAL[state, move]
    else:
        with pytest.raises(IllegalMove, match=f"the run is {state.value}: {move.value} is not"):
            run_after(state, move)
