"""Time is divided into periods. Each period of each process is a job, which records its state."""

from __future__ import annotations

from synergy.model.job import JobState


def test_every_period_since_the_start_has_a_job(system):
    system.schedule()
    hours = system.timetable().place("SiteHour").level
    assert hours.timeperiod(hours.start) == "2015051700"
    assert hours.end - hours.start == 24 + 13  # the hour that has begun is the last one


def test_a_closed_period_without_input_is_finished_without_work(system):
    system.schedule()
    assert system.state("SiteHour", "2015051700") is JobState.NOOP
    assert system.units("SiteHour", "2015051700") == []


def test_a_period_that_is_not_over_is_not_finished(system):
    system.schedule()
    assert system.state("SiteHour", "2015051812") is JobState.EMBRYO
    assert system.state("SiteDay", "2015051800") is not JobState.NOOP
