"""Jobs that were given up, and what is skipped with them."""

from __future__ import annotations

import pytest

from synergy.commands.bulk import BulkVerb
from synergy.model.job import JobState
from synergy.model.process import Blocking, OnFailure
from synergy.queries.timetable.causes import Kind
from tests.deployments import DAILY, HOURLY, a_deployment, a_process
from tests.service.failed_jobs import (
    BAD,
    CANCELED,
    DAY,
    FAILED,
    GIVEN_UP,
    NOW,
    PROCESSED,
    SKIPPED,
    a_failed_hour,
    a_system,
    an_open_hour,
    fails,
    rounds,
    settle,
)
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness, copy_rows


def two_trees():
    a = a_process("A", DAILY, source="raw", sink="a", max_attempts=1, on_failure=OnFailure.SKIP)
    b = a_process("B", DAILY, source="a", sink="b", blocking=Blocking.DEPENDENCIES)
    hour = a_process("Hour", HOURLY, source="hours", sink="h", max_attempts=1)
    return SchedulerHarness(a_deployment({"a": [a], "b": [b, hour]}, {"b": ("a",)}))


def test_a_job_skipped_because_of_a_given_up_job_is_processed_after_it():
    system = two_trees()
    system.write("raw", DAY, 5)
    rounds(system, {"A": fails, "B": copy_rows})
    assert (system.state("A", DAY), system.state("B", DAY)) == (GIVEN_UP, SKIPPED)
    system.write("raw", DAY, 6, key="late")
    system.advance(30)
    rounds(system, {"A": copy_rows, "B": copy_rows, "Hour": copy_rows})
    assert (system.state("A", DAY), system.state("B", DAY)) == (PROCESSED, PROCESSED)
    assert system.rows("b") == {DAY: 11}


def test_a_parent_skipped_with_its_given_up_children_is_processed_after_them():
    system = a_system(on_failure=OnFailure.SKIP)
    hours = [f"20150517{hour:02}" for hour in range(24)]
    for hour in hours:
        system.write("raw", hour, 1)
    settle(system, fails)
    settle(system, fails)
    assert (system.state("Hour", BAD), system.state("Day", DAY)) == (GIVEN_UP, SKIPPED)
    for hour in hours:
        system.write("raw", hour, 1, key="late")
    system.advance(30)
    settle(system, copy_rows)
    assert system.rows("day") == {DAY: 48}


@pytest.mark.parametrize("has_failed", [False, True])
def test_children_of_a_day_skipped_because_of_its_dependency_are_not_skipped(has_failed):
    system = two_trees()
    system.write("raw", DAY, 5)
    system.write("hours", BAD, 5)
    if has_failed:
        rounds(system, {"Hour": fails})
        assert system.state("Hour", BAD) is FAILED
    else:
        system.schedule()
        system.process_commands.switch("Hour", False, OPERATOR, system.clock.now())
    rounds(system, {"A": fails})
    system.process_commands.switch("Hour", True, OPERATOR, system.clock.now())
    system.act(BulkVerb.RETRY, "Hour", BAD)
    rounds(system, {"Hour": copy_rows})
    assert system.state("B", DAY) is SKIPPED
    assert system.state("Hour", BAD) is PROCESSED


def test_a_restarted_scheduler_knows_which_jobs_were_skipped_because_of_others():
    system = two_trees()
    system.write("raw", DAY, 5)
    rounds(system, {"A": fails, "B": copy_rows})
    system.scheduler._forget()
    system.write("raw", DAY, 6, key="late")
    system.advance(30)
    rounds(system, {"A": copy_rows, "B": copy_rows, "Hour": copy_rows})
    assert system.state("B", DAY) is PROCESSED


def test_failed_dependants_of_a_group_are_given_up_when_its_checkpoint_is_done():
    hour = a_process("Hour", HOURLY, source="raw", sink="hour", max_attempts=1, time_grouping=5)
    dep = a_process(
        "Dep", HOURLY, source="other", sink="dep", max_attempts=1, on_failure=OnFailure.SKIP
    )
    system = SchedulerHarness(a_deployment({"site": [hour], "dep": [dep]}, {"dep": ("site",)}))
    system.write("raw", "2015051703", 5)
    for period in ("2015051703", BAD):
        system.write("other", period, 5)
    rounds(system, {"Hour": fails, "Dep": fails}, 4)
    assert system.state("Dep", "2015051703") is FAILED
    system.act(BulkVerb.RETRY, "Hour", BAD)
    rounds(system, {"Hour": copy_rows}, 2)
    assert [system.state("Dep", at) for at in ("2015051703", BAD)] == [GIVEN_UP, GIVEN_UP]


def test_with_on_failure_skip_a_given_up_period_is_reported_until_acknowledged():
    system = a_failed_hour(on_failure=OnFailure.SKIP)
    assert system.state("Hour", BAD) is GIVEN_UP
    assert system.rows("day") == {DAY: 10}
    found = system.audit()
    assert (found.failed, found.given_up, found.acknowledged) == (0, 1, 0)
    assert not found.is_clean
    assert system.why("Hour", BAD).kind is Kind.GIVEN_UP
    system.act(BulkVerb.ACKNOWLEDGE, "Hour", BAD)
    settle(system, copy_rows)
    assert system.state("Hour", BAD) is SKIPPED
    found = system.audit()
    assert (found.given_up, found.acknowledged, found.is_clean) == (0, 1, True)
    assert [one.timeperiod for one in found.acknowledgements] == [BAD]
    assert "acknowledged: because (an operator)" in system.why("Hour", BAD).text


def test_nothing_is_given_up_while_its_period_is_open():
    system = an_open_hour(on_failure=OnFailure.SKIP)
    settle(system, fails)
    assert system.state("Hour", NOW) is FAILED
    system.advance(3901)
    settle(system, fails)
    assert system.unit_states("Hour", NOW) == [CANCELED, CANCELED]
    assert system.state("Hour", NOW) is GIVEN_UP


def test_late_data_reprocesses_given_up_periods_but_not_acknowledged_ones():
    system = a_failed_hour(on_failure=OnFailure.SKIP)
    system.write("raw", BAD, 6, key="late")
    system.advance(15)
    settle(system, copy_rows)
    assert system.state("Hour", BAD) is JobState.PROCESSED
    other = a_failed_hour(on_failure=OnFailure.SKIP)
    other.act(BulkVerb.ACKNOWLEDGE, "Hour", BAD)
    other.write("raw", BAD, 6, key="late")
    other.advance(15)
    settle(other, copy_rows)
    assert other.state("Hour", BAD) is SKIPPED
    assert (other.audit().acknowledged, other.audit().unseen) == (1, 1)


def test_a_given_up_job_is_reprocessed_with_its_dependants():
    system = a_failed_hour(on_failure=OnFailure.SKIP)
    system.act(BulkVerb.REPROCESS, "Hour", BAD)
    settle(system, copy_rows)
    assert system.rows("day") == {DAY: 15}
    assert system.audit().is_clean
