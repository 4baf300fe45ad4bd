"""A tree may depend on another: its period waits for the same period there, its counterpart."""

from __future__ import annotations

from synergy.model.job import JobState


def test_the_clients_day_follows_the_sites_day(system):
    system.write("visits", "2015051709", n=3)
    system.schedule()
    system.work("SiteHour")
    system.schedule()
    assert system.state("ClientDay", "2015051700") is JobState.EMBRYO

    system.settle()
    assert system.state("ClientDay", "2015051700") is JobState.PROCESSED
    assert system.rows("clients") == {"2015051700": 3}
