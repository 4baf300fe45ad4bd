"""Rows of the store that the scheduler does not expect."""

from __future__ import annotations

from synergy.model.job import JobState
from synergy.scheduler import feed, late_data
from tests.deployments import DAILY, a_deployment, a_process
from tests.service.hour_and_day import hour_and_day
from tests.service.scheduler_harness import SchedulerHarness


def test_units_of_another_qualifier_do_no_harm():
    system = SchedulerHarness(hour_and_day())
    system.write("raw", "2015051703", 1)
    system.schedule()
    system.scheduler._leadership.resign()
    changed = SchedulerHarness(
        a_deployment({"site": [a_process("Hour", DAILY, source="raw", sink="hour")]}),
        store=system.store,
    )
    changed.settle()
    assert changed.state("Hour", "2015051700") is JobState.PROCESSED
    assert not changed.audit().unexplained


def test_documents_without_timeperiod_do_no_harm():
    system = SchedulerHarness(hour_and_day())
    system.settle()
    system.write("raw", "20150517xx", 1)
    system.write("raw", "2015051704", 2)
    system.advance(30)
    system.settle()
    assert system.rows("hour") == {"2015051704": 2}
    assert not system.audit().unexplained


def test_more_changes_than_fit_into_a_turn_are_read_without_a_pause(monkeypatch):
    system = SchedulerHarness(hour_and_day())
    system.settle()
    monkeypatch.setattr(feed, "PAGE", 5)
    monkeypatch.setattr(late_data, "PAGE", 5)
    for hour in range(24):
        system.write("raw", f"20150517{hour:02}", 1)
    assert system.scheduler.run_once() == 0
