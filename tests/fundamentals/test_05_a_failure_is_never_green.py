"""A failed attempt is repeated. A job whose attempts are used up is failed, and others wait."""

from __future__ import annotations

from synergy.commands.bulk import BulkVerb
from synergy.model.job import JobState
from tests.service.scheduler_harness import SchedulerHarness


def fail(_task):
    raise OSError("no such disk")


def use_up_the_attempts(system: SchedulerHarness) -> None:
    system.write("visits", "2015051709", n=3)
    for _ in range(2):
        system.schedule()
        system.work("SiteHour", work=fail)
        system.advance(120)  # past the pause before the next attempt, and a turn of the collector
    system.new_workers()


def test_the_period_is_failed_and_says_why(system):
    use_up_the_attempts(system)
    assert system.state("SiteHour", "2015051709") is JobState.FAILED
    assert "no such disk" in system.why("SiteHour", "2015051709").text


def test_jobs_that_need_the_failed_period_wait(system):
    use_up_the_attempts(system)
    assert not system.state("SiteDay", "2015051700").is_finished
    assert not system.audit().is_clean


def test_an_operator_can_retry_the_period(system):
    use_up_the_attempts(system)
    system.act(BulkVerb.RETRY, "SiteHour", "2015051709")
    system.settle()
    assert system.state("SiteHour", "2015051709") is JobState.PROCESSED
    assert system.rows("days") == {"2015051700": 3}


def test_an_operator_can_skip_the_period(system):
    use_up_the_attempts(system)
    system.act(BulkVerb.SKIP, "SiteHour", "2015051709")
    system.settle()
    assert system.state("SiteHour", "2015051709") is JobState.SKIPPED
