"""What the collector takes from workers that hold units too long."""

from __future__ import annotations

import pytest

from synergy.errors import LostAttempt
from synergy.lifecycle.reclaim import SLACK
from synergy.model.unit_of_work import UnitState
from synergy.worker.outcome import Outcome, Processed
from synergy.worker.task import Task
from tests.service.slow_units import (
    FIRST,
    a_system,
    claims_of_the_units,
    the_unit,
)


def test_a_timed_out_unit_is_taken_from_a_worker_that_still_sends_heartbeats():
    system = a_system(heartbeat_timeout=60.0)
    claimed, _units = claims_of_the_units(system)
    claimed.next()
    claimed.give_back_waiting()

    def pass_time(seconds: float) -> None:
        for _ in range(int(seconds / 4)):
            system.advance(4)
            claimed.beat()

    pass_time(20 + SLACK - 8)
    assert the_unit(system, FIRST).state is UnitState.IN_PROGRESS
    pass_time(128)
    unit = the_unit(system, FIRST)
    assert (unit.reason, unit.failures) == ("timed out after 20 s", 1)
    assert unit.state in (UnitState.INVALID, UnitState.REQUESTED)
    with pytest.raises(LostAttempt):
        claimed.checkpoint()


def test_a_unit_that_no_worker_ever_took_is_not_given_up():
    system = a_system(life_support=3600.0)
    system.clock.advance(100 * 3600)
    system.advance(120)
    unit = the_unit(system, FIRST)
    assert (unit.state, unit.attempt, unit.failures) == (UnitState.REQUESTED, 1, 0)
    system.work("Hour")
    assert system.rows("hour")[FIRST] == 1


def test_a_started_unit_is_given_up_after_its_life_support():
    system = a_system(life_support=3600.0, max_attempts=99)

    def fail(task: Task) -> Outcome:
        if task.timeperiod == FIRST:
            raise ValueError("no")
        return Processed()

    system.work("Hour", work=fail)
    system.clock.advance(3601)
    system.advance(120)
    unit = the_unit(system, FIRST)
    assert unit.state is UnitState.CANCELED
    assert unit.reason == "not done within 3600 s; last: ValueError: no"
