"""Jobs whose units were given up: failed until somebody decides, or given up in public."""

from __future__ import annotations

import pytest

from synergy.commands.bulk import BulkVerb
from synergy.model.job import JobState
from synergy.model.process import Blocking, LateData, OnFailure, StateMachine
from synergy.model.unit_of_work import UnitState
from synergy.queries.timetable.causes import Kind
from synergy.worker.outcome import Processed
from tests.deployments import DAILY, HOURLY, MONTHLY, a_deployment, a_process
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness, copy_rows

BAD = "2015051705"
DAY, MONTH = "2015051700", "2015050000"
NOW = "2015052012"  # the hour that is open when a system begins
CANCELED, DONE = UnitState.CANCELED, UnitState.PROCESSED
FAILED, GIVEN_UP, SKIPPED = JobState.FAILED, JobState.GIVEN_UP, JobState.SKIPPED


def a_system(blocking=Blocking.CHILDREN, machine=StateMachine.DISCRETE, **hour):
    processes = [
        a_process("Month", MONTHLY, source="day", sink="month", blocking=blocking),
        a_process("Day", DAILY, source="hour", sink="day", blocking=blocking),
        a_process("Hour", HOURLY, source="raw", sink="hour", state_machine=machine,
                  **{"max_attempts": 1, **hour}),
    ]  # fmt: skip
    return SchedulerHarness(a_deployment({"site": processes}))


def broken(task):
    if task.timeperiod == BAD:
        raise OSError("no such disk")
    return copy_rows(task)


def fails(_task):
    raise OSError("no such disk")


def settle(system, work):
    system.new_workers()  # the present workers work otherwise
    for _ in range(50):
        system.schedule()
        if not system.work("Hour", work=work) + system.work("Day", "Month"):
            return


def a_failed_hour(**fields):
    """A system whose fifth hour has failed, between good neighbours."""
    system = a_system(**fields)
    for hour in ("2015051704", BAD, "2015051706"):
        system.write("raw", hour, 5)
    settle(system, broken)
    return system


def events(system, process, timeperiod):
    story = system.store.journal.of_job(process, timeperiod)[::-1]
    return [entry.event for entry in story if entry.event.startswith("job.")]


def test_what_is_made_from_a_failed_hour_waits_and_says_for_what():
    system = a_failed_hour()
    assert system.state("Hour", BAD) is FAILED
    assert system.state("Hour", "2015051706") is JobState.PROCESSED
    assert system.state("Day", DAY) is JobState.EMBRYO
    assert system.rows("day") == {}
    leaf = next(system.why("Day", DAY).leaves())
    assert (leaf.kind, leaf.process, leaf.timeperiod) == (Kind.FAILED, "Hour", BAD)
    assert "no such disk" in leaf.text
    assert leaf.helps[0].command == f"launch.py timetable retry Hour {BAD}"


def test_an_audit_with_a_failed_period_is_not_clean():
    found = a_failed_hour().audit()
    assert (found.failed, found.given_up, found.is_clean) == (1, 0, False)
    assert [(one.process, one.timeperiod, one.state) for one in found.failures] == [
        ("Hour", BAD, "failed")
    ]
    assert found.unexplained == ()


def test_a_retry_is_a_fresh_budget_in_the_same_generation():
    system = a_failed_hour()
    touched = system.act(BulkVerb.RETRY, "Hour", "2015051700", "2015051723")
    assert [(one.timeperiod, one.before, one.after) for one in touched] == [
        (BAD, FAILED, JobState.EMBRYO)
    ]
    settle(system, copy_rows)
    assert system.state("Hour", BAD) is JobState.PROCESSED
    assert system.generation("Hour", BAD) == 1
    assert system.rows("day") == {DAY: 15}
    assert system.audit().is_clean
    assert system.unit_states("Hour", BAD) == [CANCELED, DONE]
    assert events(system, "Hour", BAD)[-4:] == [
        "job.failed", "job.retried", "job.in_progress", "job.processed",
    ]  # fmt: skip


def test_a_retry_that_fails_again_fails_the_job_again():
    system = a_failed_hour()
    for tries in range(2, 5):
        system.act(BulkVerb.RETRY, "Hour", BAD)
        settle(system, broken)
        assert system.state("Hour", BAD) is FAILED
        assert system.unit_states("Hour", BAD) == [CANCELED] * tries


def test_a_retry_needs_no_scheduler_and_survives_one():
    system = a_failed_hour()
    system.scheduler._forget()
    system.act(BulkVerb.RETRY, "Hour", BAD)
    settle(system, copy_rows)
    assert system.state("Hour", BAD) is JobState.PROCESSED


def test_a_scheduler_that_is_new_keeps_a_failed_job_as_it_is():
    system = a_failed_hour()
    system.scheduler._forget()
    settle(system, copy_rows)
    system.advance(3600)
    assert system.unit_states("Hour", BAD) == [CANCELED]
    assert system.state("Hour", BAD) is FAILED


def test_a_unit_of_a_retry_whose_scheduler_died_before_the_job_was_moved_is_found_again():
    system = a_failed_hour()
    system.act(BulkVerb.RETRY, "Hour", BAD)
    move, system.store.jobs.move = system.store.jobs.move, lambda moves, _now: list(moves)
    system.scheduler.run_once()
    system.store.jobs.move = move
    system.scheduler._forget()
    settle(system, copy_rows)
    assert system.state("Hour", BAD) is JobState.PROCESSED
    assert system.unit_states("Hour", BAD).count(DONE) == 1


def test_only_failed_jobs_are_retried():
    system = a_failed_hour()
    assert system.act(BulkVerb.RETRY, "Hour", "2015051704") == []
    assert system.act(BulkVerb.RETRY, "Day", DAY) == []
    assert system.act(BulkVerb.ACKNOWLEDGE, "Hour", BAD) == []


def test_a_failed_job_can_be_reprocessed_or_skipped():
    system = a_failed_hour()
    system.act(BulkVerb.REPROCESS, "Hour", BAD)
    settle(system, copy_rows)
    assert (system.state("Hour", BAD), system.generation("Hour", BAD)) == (JobState.PROCESSED, 2)
    other = a_failed_hour()
    other.act(BulkVerb.SKIP, "Hour", BAD)
    settle(other, copy_rows)
    assert other.state("Hour", BAD) is SKIPPED
    assert other.rows("day") == {DAY: 10}
    assert other.audit().is_clean


def test_a_failed_job_takes_no_slot_from_the_others():
    system = a_failed_hour(max_active=2)
    assert system.state("Hour", "2015051706") is JobState.PROCESSED
    for hour in ("2015051801", "2015051802", "2015051803"):
        system.write("raw", hour, 1)
    system.advance(20)
    settle(system, broken)
    assert set(system.rows("hour")) >= {"2015051801", "2015051802", "2015051803"}


def test_strictly_in_order_means_that_a_failed_period_holds_the_next_ones():
    system = a_failed_hour(max_active=1)
    assert system.state("Hour", "2015051706") is JobState.EMBRYO
    leaf = next(system.why("Hour", "2015051706").leaves())
    assert (leaf.kind, leaf.timeperiod) == (Kind.FAILED, BAD)
    system.act(BulkVerb.RETRY, "Hour", BAD)
    settle(system, copy_rows)
    assert system.state("Hour", "2015051706") is JobState.PROCESSED


def test_a_failed_job_is_tried_again_when_its_source_grows():
    system = a_failed_hour()
    system.write("raw", BAD, 6, key="more")
    system.advance(15)
    settle(system, copy_rows)
    assert system.state("Hour", BAD) is JobState.PROCESSED
    assert system.rows("hour")[BAD] == 11


def test_a_failed_job_is_tried_again_by_itself_where_its_process_says_so():
    system = a_failed_hour(retry_failed=3600.0)
    assert "by itself at 2015-05-20 13:00:00" in system.why("Hour", BAD).text
    system.advance(3500)
    assert system.unit_states("Hour", BAD) == [CANCELED]
    system.advance(120)
    settle(system, copy_rows)
    assert system.state("Hour", BAD) is JobState.PROCESSED


def test_a_new_scheduler_knows_when_a_failed_job_is_tried_again():
    system = a_failed_hour(retry_failed=3600.0)
    system.scheduler._forget()
    system.advance(3500)
    assert system.unit_states("Hour", BAD) == [CANCELED]
    system.scheduler._forget()
    system.advance(120)
    settle(system, copy_rows)
    assert system.state("Hour", BAD) is JobState.PROCESSED


def test_a_cancel_by_an_operator_fails_the_job_with_who_and_why():
    system = a_system()
    system.write("raw", BAD, 5)
    system.schedule()
    system.unit_commands.cancel(system.units("Hour", BAD)[0], OPERATOR, system.clock.now())
    settle(system, copy_rows)
    assert system.state("Hour", BAD) is FAILED
    assert "because (an operator)" in system.why("Hour", BAD).text


def test_rows_of_an_earlier_generation_stay_and_are_marked_stale():
    system = a_system()
    system.write("raw", BAD, 5)
    settle(system, copy_rows)
    system.act(BulkVerb.REPROCESS, "Hour", BAD)
    settle(system, broken)
    level = system.timetable().place("Hour").level
    assert level.state(level.ordinal(BAD)) is FAILED
    assert level.is_stale(level.ordinal(BAD))
    assert system.rows("hour") == {BAD: 5}
    assert system.state("Day", DAY) is JobState.EMBRYO


# Open periods


def an_open_hour(**fields):
    system = a_system(machine=StateMachine.CONTINUOUS, **fields)
    system.write("raw", NOW, 1)
    system.schedule()
    return system


def test_a_failure_in_an_open_period_ends_nothing_the_next_data_is_a_new_try():
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


def test_the_close_is_one_new_try_and_no_more():
    system = an_open_hour()
    settle(system, fails)
    system.advance(3901)
    settle(system, fails)
    system.advance(3600)
    settle(system, fails)
    assert system.unit_states("Hour", NOW) == [CANCELED, CANCELED]
    assert system.state("Hour", NOW) is FAILED


def test_a_close_that_nobody_saw_is_a_new_try_for_the_next_scheduler():
    system = an_open_hour()
    settle(system, fails)
    system.scheduler._forget()
    system.clock.advance(3 * 3600)
    settle(system, copy_rows)
    assert system.state("Hour", NOW) is JobState.PROCESSED


def test_interim_runs_come_with_the_trigger_where_the_process_says_so():
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


# Given up


def test_a_process_may_say_that_failures_are_skipped_and_is_told_so_until_it_is_acknowledged():
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


def test_data_that_comes_later_brings_back_what_was_given_up_but_not_what_was_acknowledged():
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


def test_what_was_given_up_can_be_reprocessed_with_what_was_made_without_it():
    system = a_failed_hour(on_failure=OnFailure.SKIP)
    system.act(BulkVerb.REPROCESS, "Hour", BAD)
    settle(system, copy_rows)
    assert system.rows("day") == {DAY: 15}
    assert system.audit().is_clean


# Skipped by a person


def test_a_skip_holds_against_data_that_comes_later_until_a_reprocess():
    system = an_open_hour()
    settle(system, copy_rows)
    system.act(BulkVerb.SKIP, "Day", "2015052000")
    assert system.state("Hour", NOW) is SKIPPED
    system.write("raw", NOW, 2, key="second")
    system.advance(20)
    settle(system, copy_rows)
    assert (system.state("Hour", NOW), system.state("Day", "2015052000")) == (SKIPPED, SKIPPED)
    assert system.audit().unseen == 1
    assert "a reprocess brings in" in system.why("Hour", NOW).text
    system.act(BulkVerb.REPROCESS, "Hour", NOW)
    system.advance(13 * 3600)
    settle(system, copy_rows)
    assert system.rows("hour")[NOW] == 3
    assert system.state("Day", "2015052000") is JobState.PROCESSED
    assert system.audit().unseen == 0


@pytest.mark.parametrize("machine", StateMachine)
def test_children_that_begin_later_under_a_skipped_parent_are_skipped_with_its_reason(machine):
    system = a_system(machine=machine)
    system.schedule()
    system.act(BulkVerb.SKIP, "Day", "2015052000")
    system.advance(2 * 3600)
    system.write("raw", "2015052013", 5)
    system.advance(3 * 3600)
    settle(system, copy_rows)
    assert system.state("Hour", "2015052013") is SKIPPED
    entry = next(
        e for e in system.store.journal.of_job("Hour", "2015052013") if e.event == "job.skipped"
    )
    assert entry.why == "Day 2015052000 is skipped: because"
    assert system.unit_states("Hour", "2015052013") == []


def test_late_data_for_a_finished_hour_goes_no_further_than_its_skipped_day():
    system = a_system()
    system.write("raw", BAD, 5)
    system.write("raw", "2015051801", 5)
    settle(system, broken)
    system.act(BulkVerb.SKIP, "Day", DAY)
    settle(system, copy_rows)
    system.act(BulkVerb.REPROCESS, "Hour", "2015051801")
    settle(system, copy_rows)
    assert system.state("Hour", "2015051704") is JobState.NOOP
    system.write("raw", "2015051704", 7)
    system.advance(30)
    settle(system, copy_rows)
    assert system.state("Hour", "2015051704") is JobState.PROCESSED
    assert system.state("Day", DAY) is SKIPPED
    assert system.generation("Day", DAY) == 1


def test_a_trial_by_many_failures_loses_nothing():
    """Every third hour fails twice as often as it may; in the end all is there."""
    system = a_system(machine=StateMachine.CONTINUOUS)
    hours = [f"20150517{hour:02}" for hour in range(24)]
    for hour in hours:
        system.write("raw", hour, 1)
    left = dict.fromkeys(hours[::3], 2)

    def work(task):
        if left.get(task.timeperiod, 0) > 0:
            left[task.timeperiod] -= 1
            raise OSError("again")
        return copy_rows(task)

    for _ in range(3):
        settle(system, work)
        system.act(BulkVerb.RETRY, "Hour", hours[0], hours[-1])
    settle(system, work)
    assert system.rows("day") == {DAY: 24}
    assert system.audit().is_clean


def test_a_worker_that_succeeds_after_its_unit_was_given_up_changes_nothing():
    system = a_system()
    system.write("raw", BAD, 5)
    system.schedule()
    results = []

    def slow(task):
        system.unit_commands.cancel(system.units("Hour", BAD)[0], OPERATOR, system.clock.now())
        results.append(task.timeperiod)
        task.sink.replace(task.timeperiod, [{"domain": "d", "n": 99}])
        return Processed({"rows": 1})

    settle(system, slow)
    assert results == [BAD]
    assert system.state("Hour", BAD) is FAILED
    assert system.rows("hour") == {}
