"""A write into the source of a finished period starts that period over after a quiet time."""

from __future__ import annotations

from synergy.model.job import JobState


def test_late_data_reaches_all_results(system):
    system.write("visits", "2015051709", n=3)
    system.settle()
    assert system.rows("clients") == {"2015051700": 3}

    system.write("visits", "2015051709", n=4, key="another visitor")
    system.advance(15)
    system.settle()

    assert system.generation("SiteHour", "2015051709") == 2
    assert system.rows("clients") == {"2015051700": 7}
    assert system.state("ClientDay", "2015051700") is JobState.PROCESSED
