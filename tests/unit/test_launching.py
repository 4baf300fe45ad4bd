"""The outcome of a run, derived from the unit that carries it out."""

from __future__ import annotations

import pytest

from synergy.lifecycle.legal_moves import RunMove
from synergy.lifecycle.state_changes import outcome_of
from synergy.model.unit_of_work import UnitOfWork, UnitState
from tests.factories import NOW, a_unit

SECOND = "20261121120000"


def a_run_unit(state, **fields):
    return UnitOfWork("u", "P", SECOND, 1, SECOND, SECOND, 7, 7, NOW, state=state, **fields)


@pytest.mark.parametrize(
    ("unit", "outcome"),
    [
        (a_run_unit(UnitState.REQUESTED), None),
        (a_run_unit(UnitState.IN_PROGRESS), None),
        (a_run_unit(UnitState.INVALID, failures=1, reason="E: x"), None),
        (a_run_unit(UnitState.PROCESSED), (RunMove.PROCESS, "")),
        # earlier failed attempts do not matter
        (a_run_unit(UnitState.PROCESSED, failures=2, reason="E: x"), (RunMove.PROCESS, "")),
        (a_run_unit(UnitState.NOOP), (RunMove.PASS, "")),
        (
            a_run_unit(UnitState.CANCELED, failures=1, reason="failed: E: x"),
            (RunMove.FAIL, "failed: E: x"),
        ),
        (a_run_unit(UnitState.CANCELED, failures=2), (RunMove.FAIL, "canceled after a failure")),
        (a_run_unit(UnitState.CANCELED, reason="wrong day"), (RunMove.CANCEL, "wrong day")),
        (a_run_unit(UnitState.CANCELED), (RunMove.CANCEL, "canceled by an operator")),
    ],
)
def test_the_end_of_a_unit_is_the_end_of_its_run(unit, outcome):
    assert outcome_of(unit) == outcome


def test_units_of_runs_are_recognized_by_their_timeperiod():
    assert a_run_unit(UnitState.REQUESTED).is_of_run
    assert not a_unit().is_of_run
