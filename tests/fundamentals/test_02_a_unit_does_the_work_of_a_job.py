"""A job that has input gets a unit of work. A worker claims it, carries it out and concludes it."""

from __future__ import annotations

from synergy.model.job import JobState
from synergy.model.unit_of_work import UnitState


def test_from_input_to_result(system):
    system.write("visits", "2015051709", n=3)

    system.schedule()
    (unit,) = system.units("SiteHour", "2015051709")
    assert unit.state is UnitState.REQUESTED
    assert system.state("SiteHour", "2015051709") is JobState.IN_PROGRESS

    system.work("SiteHour")
    assert system.unit_states("SiteHour", "2015051709") == [UnitState.PROCESSED]

    system.schedule()
    assert system.state("SiteHour", "2015051709") is JobState.PROCESSED
    assert system.rows("hours") == {"2015051709": 3}


def test_the_unit_covers_what_the_source_held_when_it_was_requested(system):
    system.write("visits", "2015051709", n=3)
    bounds = system.store.documents.bounds("visits", "2015051709", "2015051710")
    system.schedule()
    system.write("visits", "2015051709", n=1, key="later")
    (unit,) = system.units("SiteHour", "2015051709")
    assert bounds is not None
    assert unit.end_id == bounds.high
