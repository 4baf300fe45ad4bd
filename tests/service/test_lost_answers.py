"""Answers of the store that are lost: what was claimed or concluded stays so."""

from __future__ import annotations

import pytest

from synergy.errors import StorageUnavailable
from synergy.model.unit_of_work import UnitState
from tests.service.hour_and_day import hour_and_day
from tests.service.piecemeal import PiecemealStore
from tests.service.scheduler_harness import SchedulerHarness


def test_a_worker_carries_out_what_it_claimed_although_the_answer_was_lost():
    store = PiecemealStore(lambda _is_write: None)
    system, hour = SchedulerHarness(hour_and_day(), store=store), "2015052010"
    system.write("raw", hour, 1)
    system.schedule()
    real = store.units.claim

    def claim(*arguments: object) -> object:
        real(*arguments)
        raise StorageUnavailable("nobody knows")

    store.units.claim = claim
    with pytest.raises(StorageUnavailable):
        system.round("Hour")
    del store.units.claim
    assert system.round("Hour")
    (unit,) = system.units("Hour", hour)
    assert (unit.state, unit.attempt, unit.failures) == (UnitState.PROCESSED, 1, 0)


def test_a_conclusion_that_was_written_although_the_answer_was_lost_is_not_told_as_refused(caplog):
    store = PiecemealStore(lambda _is_write: None)
    system, hour = SchedulerHarness(hour_and_day(), store=store), "2015052010"
    system.write("raw", hour, 1)
    system.schedule()
    real = store.units.conclude

    def conclude(*arguments: object) -> object:
        real(*arguments)
        raise StorageUnavailable("nobody knows")

    store.units.conclude = conclude
    with pytest.raises(StorageUnavailable):
        system.round("Hour")
    del store.units.conclude
    system.round("Hour")
    assert system.unit_states("Hour", hour) == [UnitState.PROCESSED]
    assert "refused" not in caplog.text
