"""Whether a unit is superseded, or waits for another unit of its job."""

from __future__ import annotations

from dataclasses import replace

import pytest

from synergy.lifecycle.superseded_units import is_superseded, is_superseded_in, waiting_behind
from synergy.model.job import JobState
from synergy.model.unit_of_work import UnitState
from synergy.timetable.timetable import Timetable
from tests.deployments import HOURLY, a_deployment, a_process
from tests.factories import HOUR, NEXT_HOUR, NOW, a_unit

ACTIVE = [state for state in JobState if state.is_active]
FINISHED = [state for state in JobState if state.is_finished]


@pytest.mark.parametrize("state", JobState)
def test_a_unit_of_an_earlier_generation_is_superseded(state):
    assert is_superseded(a_unit(generation=1), state, 2)


@pytest.mark.parametrize("state", JobState)
def test_a_unit_of_a_generation_that_is_not_known_yet_is_not_superseded(state):
    assert not is_superseded(a_unit(generation=3), state, 2)


@pytest.mark.parametrize("state", FINISHED)
def test_a_unit_of_a_finished_job_is_superseded(state):
    assert is_superseded(a_unit(generation=2), state, 2)


@pytest.mark.parametrize("state", ACTIVE)
def test_a_unit_of_an_active_job_is_not_superseded(state):
    assert not is_superseded(a_unit(generation=2), state, 2)


def test_whether_a_unit_is_superseded_is_read_from_the_timetable():
    timetable = Timetable(
        a_deployment({"Site": [a_process("SiteHourly", HOURLY)]}), "2026112100", NOW
    )
    level = timetable.places["SiteHourly"].level
    unit = a_unit(generation=2)
    at = level.find(HOUR)
    level.set(at, at, JobState.PROCESSED, 1)
    assert not is_superseded_in(timetable, unit)
    level.set(at, at, JobState.PROCESSED, 2)
    assert is_superseded_in(timetable, unit)
    assert not is_superseded_in(timetable, a_unit("Another", generation=2))


def test_a_requested_unit_waits_for_the_running_unit_of_its_job():
    runs = a_unit(state=UnitState.IN_PROGRESS)
    waits, failed = a_unit(start_id=1), a_unit(start_id=2, state=UnitState.INVALID)
    others = [a_unit(timeperiod=NEXT_HOUR), a_unit("Another")]
    assert waiting_behind([runs, waits, failed, *others]) == {waits.id}
    assert waiting_behind([waits, failed, *others]) == frozenset()


def test_units_of_runs_due_in_the_same_second_do_not_wait_for_each_other():
    of_run = {"timeperiod": f"{HOUR}0000"}
    units = [
        replace(a_unit(id="a", state=UnitState.IN_PROGRESS), **of_run),
        replace(a_unit(id="b"), **of_run),
    ]
    assert waiting_behind(units) == frozenset()
