"""A tree has processes of falling granularity: a day is made from its hours and waits for them."""

from __future__ import annotations

from synergy.model.job import JobState
from synergy.queries.timetable.causes import Kind


def test_the_day_follows_its_last_hour(system):
    system.write("visits", "2015051709", n=3)
    system.write("visits", "2015051721", n=4)
    system.schedule()

    assert system.why("SiteDay", "2015051700").kind is Kind.BLOCKED
    system.settle()
    assert system.state("SiteDay", "2015051700") is JobState.PROCESSED
    assert system.rows("days") == {"2015051700": 7}
