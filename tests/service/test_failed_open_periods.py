"""Failures in a period that is still open."""

from __future__ import annotations

from synergy.model.job import JobState
from synergy.model.process import LateData, StateMachine
from tests.service.failed_jobs import (
    CANCELED,
    DONE,
    FAILED,
    NOW,
    a_system,
    an_open_hour,
    fails,
    settle,
)
from tests.service.scheduler_harness import copy_rows


def test_new_data_retries_a_failed_open_period():
    system = an_open_hour(late_data=LateData.MARK, max_attempts=3)
    for wait in (61, 121, 241):
        settle(system, fails)
        system.advance(wait)
    assert system.state("Hour", NOW) is FAILED
    system.write("raw", NOW, 2, key="second")
    system.advance(15)
    settle(system, copy_rows)
    assert system.rows("hour") == {NOW: 3}
    system.advance(2 * 3600)
    settle(system, copy_rows)
    assert system.state("Hour", NOW) is JobState.PROCESSED
    assert system.rows("hour") == {NOW: 3}


def test_a_failure_in_an_open_period_is_tried_again_when_the_period_closes():
    system = an_open_hour()
    settle(system, fails)
    assert system.state("Hour", NOW) is FAILED
    assert "when its period closes" in system.why("Hour", NOW).text
    system.advance(3600)
    assert system.unit_states("Hour", NOW) == [CANCELED]
    system.advance(301)
    settle(system, copy_rows)
    assert system.unit_states("Hour", NOW) == [CANCELED, DONE]
    assert system.state("Hour", NOW) is JobState.PROCESSED


def test_a_failed_open_period_is_retried_only_once_when_it_closes():
    system = an_open_hour()
    settle(system, fails)
    system.advance(3901)
    settle(system, fails)
    system.advance(3600)
    settle(system, fails)
    assert system.unit_states("Hour", NOW) == [CANCELED, CANCELED]
    assert system.state("Hour", NOW) is FAILED


def test_a_restarted_scheduler_retries_a_failed_period_that_closed_in_the_meantime():
    system = an_open_hour()
    settle(system, fails)
    system.scheduler._forget()
    system.clock.advance(3 * 3600)
    settle(system, copy_rows)
    assert system.state("Hour", NOW) is JobState.PROCESSED


def test_without_refresh_interim_runs_come_only_with_the_trigger():
    system = a_system(machine=StateMachine.CONTINUOUS, refresh=None, trigger_frequency="every 600")
    system.write("raw", NOW, 1)
    system.advance(601)
    settle(system, copy_rows)
    for n in range(5):
        system.write("raw", NOW, 1, key=f"more-{n}")
        system.advance(60)
        settle(system, copy_rows)
    assert len(system.units("Hour", NOW)) == 1
    system.advance(601)
    settle(system, copy_rows)
    assert system.rows("hour") == {NOW: 6}
