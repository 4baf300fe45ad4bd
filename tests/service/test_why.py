"""`why` and the audit name what really holds a period back."""

from __future__ import annotations

from synergy.model.job import JobState
from synergy.model.process import StateMachine
from synergy.model.unit_of_work import UnitState
from synergy.queries.timetable.causes import Kind
from tests.deployments import DAILY, HOURLY, a_deployment, a_process
from tests.service.hour_and_day import claimed, fail, hour_and_day
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness, copy_rows


def strictly_in_order_behind_a_failure() -> SchedulerHarness:
    """17 May waits for an hour that fails, 18 May for 17 May."""
    day = a_process("Day", DAILY, source="hour", sink="day", max_active=1)
    hour = a_process("Hour", HOURLY, source="raw", sink="hour", retry_backoff=3600.0)
    system = SchedulerHarness(a_deployment({"site": [day, hour]}))
    system.write("raw", "2015051704", 1)
    system.write("raw", "2015051805", 1)
    system.schedule()
    system.work("Hour", work=lambda t: fail(t) if t.timeperiod == "2015051704" else copy_rows(t))
    system.advance(120)
    return system


def test_why_follows_the_order_of_a_process_that_does_one_period_at_a_time():
    system = strictly_in_order_behind_a_failure()
    (leaf,) = system.why("Day", "2015051800").leaves()
    assert (leaf.kind, leaf.timeperiod) == (Kind.RETRYING, "2015051704")
    assert not system.audit().unexplained


def test_why_a_failed_unit_is_not_retried_without_scheduler_or_process():
    system, hour = SchedulerHarness(hour_and_day()), "2015051704"
    system.write("raw", hour, 1)
    system.schedule()
    system.work("Hour", work=fail)
    system.schedule()
    assert system.why("Hour", hour).kind is Kind.RETRYING
    system.process_commands.switch("Hour", False, OPERATOR, system.clock.now())
    assert system.why("Hour", hour).kind is Kind.SWITCHED_OFF
    system.process_commands.switch("Hour", True, OPERATOR, system.clock.now())
    system.scheduler._leadership.resign()
    assert system.why("Hour", hour).kind is Kind.NO_SCHEDULER


def test_why_names_the_unit_that_runs_before_the_one_behind_it():
    system, hour = SchedulerHarness(hour_and_day(StateMachine.CONTINUOUS)), "2015052011"
    system.write("raw", hour, 1)
    system.schedule()
    claimed(system, "Hour")
    system.advance(12)
    system.write("raw", hour, 1, key="e")
    system.advance(12)
    assert len(system.units("Hour", hour)) == 2
    assert system.why("Hour", hour).kind is Kind.RUNNING


def test_the_audit_asks_the_checkpoint_of_a_grouped_process_for_the_children_it_covers():
    day = a_process("Day", DAILY, source="hour", sink="day", time_grouping=7)
    hour = a_process("Hour", HOURLY, source="raw", sink="hour")
    system = SchedulerHarness(a_deployment({"site": [day, hour]}))
    system.write("raw", "2015051704", 1)
    system.schedule()
    system.work("Hour", work=fail)
    system.schedule()
    assert system.state("Day", "2015051700") is JobState.NOOP
    assert not system.audit().unexplained


def test_a_parent_that_failed_is_tried_again_when_its_children_bring_more():
    day = a_process("Day", DAILY, source="hour", sink="day", max_attempts=1)
    hour = a_process("Hour", HOURLY, source="raw", sink="hour", retry_backoff=3600.0)
    system = SchedulerHarness(a_deployment({"site": [day, hour]}))
    system.write("raw", "2015051704", 1)
    system.write("raw", "2015051705", 1)
    system.schedule()
    system.work("Hour", work=lambda t: fail(t) if t.timeperiod == "2015051704" else copy_rows(t))
    system.schedule()
    system.work("Day", work=fail)
    system.schedule()
    assert system.unit_states("Day", "2015051700") == [UnitState.CANCELED]
    assert system.state("Day", "2015051700") is JobState.FAILED
    assert system.state("Hour", "2015051704").is_active
    assert not system.audit().unexplained
    system.advance(3601)
    system.new_workers()
    system.settle()
    assert system.state("Hour", "2015051704") is JobState.PROCESSED
    assert system.state("Day", "2015051700") is JobState.PROCESSED
    assert system.rows("day")["2015051700"] == 2
    assert not system.audit().unexplained
