"""Moves of runs and units: which are legal, and which fields they change."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from synergy.errors import IllegalMove
from synergy.lifecycle.legal_moves import RunMove, UnitMove, run_after
from synergy.lifecycle.state_changes import advance, conclude, move_unit
from synergy.model.schedule import Run, RunState
from synergy.model.unit_of_work import UnitState
from tests.factories import NOW, a_unit

WAITING, NEXT, LAUNCHED = (RunState.PENDING_CONSTRAINT, RunState.PENDING_LAUNCH, RunState.LAUNCHED)
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
def test_run_moves_are_legal_only_from_the_states_of_the_table(state, move):
    if (state, move) in LEGAL:
        assert run_after(state, move) is LEGAL[state, move]
    else:
        with pytest.raises(IllegalMove, match=f"the run is {state.value}: {move.value} is not"):
            run_after(state, move)


LATER = NOW + timedelta(hours=1)
HELD = Run(
    id="r", schedule="nightly", key="due:1", due_at=NOW, version=1, program="P", created_at=NOW,
    state=LAUNCHED, owner="an agent", not_before=LATER, reason="was held", launched_at=NOW,
)  # fmt: skip


@pytest.mark.parametrize("move", [RunMove.PROCESS, RunMove.PASS, RunMove.FAIL, RunMove.CANCEL])
def test_an_ended_run_has_an_end_time_and_no_owner(move):
    ended = advance(HELD, move, LATER, "so it is")
    assert ended == replace(
        HELD, state=LEGAL[LAUNCHED, move], reason="so it is", finished_at=LATER,
        owner=None, not_before=None,
    )  # fmt: skip


def test_a_retried_run_loses_its_end_reason_and_owner():
    failed = replace(HELD, state=RunState.FAILED, finished_at=LATER)
    again = advance(failed, RunMove.RETRY, LATER)
    assert again == replace(HELD, launched_at=LATER, reason="", owner=None, not_before=None)


def test_a_finished_run_cannot_be_finished_again():
    ended = advance(HELD, RunMove.CANCEL, LATER)
    with pytest.raises(IllegalMove, match="the run is canceled: process is not possible"):
        advance(ended, RunMove.PROCESS, LATER)


def test_a_failed_unit_gets_a_new_attempt():
    unit = a_unit(state=UnitState.IN_PROGRESS, attempt=3)
    move = move_unit(unit, UnitMove.FAIL, "too long", "collector", is_failure=True)
    assert (move.before, move.after, move.attempt) == (unit.state, UnitState.INVALID, 3)
    assert (move.next_attempt, move.failed, move.forgive) == (True, True, False)


def test_a_finished_unit_cannot_be_moved():
    with pytest.raises(IllegalMove, match="the unit is processed: cancel is not possible"):
        move_unit(a_unit(state=UnitState.PROCESSED), UnitMove.CANCEL, "", "")


def test_only_a_unit_in_progress_can_be_concluded():
    with pytest.raises(IllegalMove, match="the unit is requested: process is not possible"):
        conclude(a_unit(), "worker", UnitMove.PROCESS)
