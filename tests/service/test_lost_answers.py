"""A unit is claimed or concluded although the answer of the store was lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from synergy.errors import StorageUnavailable
from synergy.model.unit_of_work import UnitState
from tests.service.hour_and_day import hour_and_day
from tests.service.piecemeal import PiecemealStore
from tests.service.scheduler_harness import SchedulerHarness

HOUR = "2015052010"


@pytest.fixture
def requested() -> SchedulerHarness:
    """A system with a requested unit, whose store commits each write by itself."""
    system = SchedulerHarness(hour_and_day(), store=PiecemealStore(lambda _is_write: None))
    system.write("raw", HOUR, 1)
    system.schedule()
    return system


@contextmanager
def lost_answers(system: SchedulerHarness, method: str) -> Iterator[None]:
    """Calls of the method take effect, but raise as if the answer was lost."""
    units = system.store.units
    real = getattr(units, method)

    def answer_nothing(*arguments: object) -> object:
        real(*arguments)
        raise StorageUnavailable("the answer was lost")

    setattr(units, method, answer_nothing)
    with pytest.raises(StorageUnavailable):
        yield
    delattr(units, method)


def test_a_claimed_unit_is_carried_out_although_the_answer_was_lost(requested):
    with lost_answers(requested, "claim"):
        requested.round("Hour")
    assert requested.round("Hour")
    (unit,) = requested.units("Hour", HOUR)
    assert (unit.state, unit.attempt, unit.failures) == (UnitState.PROCESSED, 1, 0)


def test_a_written_conclusion_whose_answer_was_lost_is_not_logged_as_refused(requested, caplog):
    with lost_answers(requested, "conclude"):
        requested.round("Hour")
    requested.round("Hour")
    assert requested.unit_states("Hour", HOUR) == [UnitState.PROCESSED]
    assert "refused" not in caplog.text
