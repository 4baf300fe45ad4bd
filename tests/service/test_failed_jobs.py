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
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness, close_worlds, copy_rows

pytestmark = pytest.mark.usefixtures("_closing")

BAD = "2015051705"
DAY, MONTH = "2015051700", "2015050000"
NOW = "2015052012"  # the hour that is open when a world begins
CANCELED, DONE = UnitState.CANCELED, UnitState.PROCESSED
FAILED, GIVEN_UP, SKIPPED = JobState.FAILED, JobState.GIVEN_UP, JobState.SKIPPED


@pytest.fixture
def _closing():
    yield
    close_worlds()


def a_world(blocking=Blocking.CHILDREN, machine=StateMachine.DISCRETE, **hour):
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


def settle(world, work):
    world.forget_crews()  # the present workers work otherwise
    for _ in range(50):
        world.schedule()
        if not world.work("Hour", work=work) + world.work("Day", "Month"):
            return


def a_failed_hour(**fields):
    """A world whose fifth hour has failed, between good neighbours."""
    world = a_world(**fields)
    for hour in ("2015051704", BAD, "2015051706"):
        world.write("raw", hour, 5)
    settle(world, broken)
    return world


def events(world, process, timeperiod):
    story = world.store.journal.of_job(process, timeperiod)[::-1]
    return [entry.event for entry in story if entry.event.startswith("job.")]


def test_what_is_made_from_a_failed_hour_waits_and_says_for_what():
    world = a_failed_hour()
    assert world.state("Hour", BAD) is FAILED
    assert world.state("Hour", "2015051706") is JobState.PROCESSED
    assert world.state("Day", DAY) is JobState.EMBRYO
    assert world.rows("day") == {}
    leaf = next(world.why("Day", DAY).leaves())
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
    world = a_failed_hour()
    touched = world.act(BulkVerb.RETRY, "Hour", "2015051700", "2015051723")
    assert [(one.timeperiod, one.before, one.after) for one in touched] == [
        (BAD, FAILED, JobState.EMBRYO)
    ]
    settle(world, copy_rows)
    assert world.state("Hour", BAD) is JobState.PROCESSED
    assert world.generation("Hour", BAD) == 1
    assert world.rows("day") == {DAY: 15}
    assert world.audit().is_clean
    assert world.unit_states("Hour", BAD) == [CANCELED, DONE]
    assert events(world, "Hour", BAD)[-4:] == [
        "job.failed", "job.retried", "job.in_progress", "job.processed",
    ]  # fmt: skip


def test_a_retry_that_fails_again_fails_the_job_again():
    world = a_failed_hour()
    for tries in range(2, 5):
        world.act(BulkVerb.RETRY, "Hour", BAD)
        settle(world, broken)
        assert world.state("Hour", BAD) is FAILED
        assert world.unit_states("Hour", BAD) == [CANCELED] * tries


def test_a_retry_needs_no_scheduler_and_survives_one():
    world = a_failed_hour()
    world.scheduler._forget()
    world.act(BulkVerb.RETRY, "Hour", BAD)
    settle(world, copy_rows)
    assert world.state("Hour", BAD) is JobState.PROCESSED


def test_a_scheduler_that_is_new_keeps_a_failed_job_as_it_is():
    world = a_failed_hour()
    world.scheduler._forget()
    settle(world, copy_rows)
    world.advance(3600)
    assert world.unit_states("Hour", BAD) == [CANCELED]
    assert world.state("Hour", BAD) is FAILED


def test_a_unit_of_a_retry_whose_scheduler_died_before_the_job_was_moved_is_found_again():
    world = a_failed_hour()
    world.act(BulkVerb.RETRY, "Hour", BAD)
    move, world.store.jobs.move = world.store.jobs.move, lambda moves, _now: list(moves)
    world.scheduler.run_once()
    world.store.jobs.move = move
    world.scheduler._forget()
    settle(world, copy_rows)
    assert world.state("Hour", BAD) is JobState.PROCESSED
    assert world.unit_states("Hour", BAD).count(DONE) == 1


def test_only_failed_jobs_are_retried():
    world = a_failed_hour()
    assert world.act(BulkVerb.RETRY, "Hour", "2015051704") == []
    assert world.act(BulkVerb.RETRY, "Day", DAY) == []
    assert world.act(BulkVerb.ACKNOWLEDGE, "Hour", BAD) == []


def test_a_failed_job_can_be_reprocessed_or_skipped():
    world = a_failed_hour()
    world.act(BulkVerb.REPROCESS, "Hour", BAD)
    settle(world, copy_rows)
    assert (world.state("Hour", BAD), world.generation("Hour", BAD)) == (JobState.PROCESSED, 2)
    other = a_failed_hour()
    other.act(BulkVerb.SKIP, "Hour", BAD)
    settle(other, copy_rows)
    assert other.state("Hour", BAD) is SKIPPED
    assert other.rows("day") == {DAY: 10}
    assert other.audit().is_clean


def test_a_failed_job_takes_no_slot_from_the_others():
    world = a_failed_hour(max_active=2)
    assert world.state("Hour", "2015051706") is JobState.PROCESSED
    for hour in ("2015051801", "2015051802", "2015051803"):
        world.write("raw", hour, 1)
    world.advance(20)
    settle(world, broken)
    assert set(world.rows("hour")) >= {"2015051801", "2015051802", "2015051803"}


def test_strictly_in_order_means_that_a_failed_period_holds_the_next_ones():
    world = a_failed_hour(max_active=1)
    assert world.state("Hour", "2015051706") is JobState.EMBRYO
    leaf = next(world.why("Hour", "2015051706").leaves())
    assert (leaf.kind, leaf.timeperiod) == (Kind.FAILED, BAD)
    world.act(BulkVerb.RETRY, "Hour", BAD)
    settle(world, copy_rows)
    assert world.state("Hour", "2015051706") is JobState.PROCESSED


def test_a_failed_job_is_tried_again_when_its_source_grows():
    world = a_failed_hour()
    world.write("raw", BAD, 6, key="more")
    world.advance(15)
    settle(world, copy_rows)
    assert world.state("Hour", BAD) is JobState.PROCESSED
    assert world.rows("hour")[BAD] == 11


def test_a_failed_job_is_tried_again_by_itself_where_its_process_says_so():
    world = a_failed_hour(retry_failed=3600.0)
    assert "by itself at 2015-05-20 13:00:00" in world.why("Hour", BAD).text
    world.advance(3500)
    assert world.unit_states("Hour", BAD) == [CANCELED]
    world.advance(120)
    settle(world, copy_rows)
    assert world.state("Hour", BAD) is JobState.PROCESSED


def test_a_new_scheduler_knows_when_a_failed_job_is_tried_again():
    world = a_failed_hour(retry_failed=3600.0)
    world.scheduler._forget()
    world.advance(3500)
    assert world.unit_states("Hour", BAD) == [CANCELED]
    world.scheduler._forget()
    world.advance(120)
    settle(world, copy_rows)
    assert world.state("Hour", BAD) is JobState.PROCESSED


def test_a_cancel_by_an_operator_fails_the_job_with_who_and_why():
    world = a_world()
    world.write("raw", BAD, 5)
    world.schedule()
    world.unit_commands.cancel(world.units("Hour", BAD)[0], OPERATOR, world.clock.now())
    settle(world, copy_rows)
    assert world.state("Hour", BAD) is FAILED
    assert "because (an operator)" in world.why("Hour", BAD).text


def test_rows_of_an_earlier_generation_stay_and_are_marked_stale():
    world = a_world()
    world.write("raw", BAD, 5)
    settle(world, copy_rows)
    world.act(BulkVerb.REPROCESS, "Hour", BAD)
    settle(world, broken)
    level = world.timetable().place("Hour").level
    assert level.state(level.ordinal(BAD)) is FAILED
    assert level.is_stale(level.ordinal(BAD))
    assert world.rows("hour") == {BAD: 5}
    assert world.state("Day", DAY) is JobState.EMBRYO


# Open periods


def an_open_hour(**fields):
    world = a_world(machine=StateMachine.CONTINUOUS, **fields)
    world.write("raw", NOW, 1)
    world.schedule()
    return world


def test_a_failure_in_an_open_period_ends_nothing_the_next_data_is_a_new_try():
    world = an_open_hour(late_data=LateData.MARK, max_attempts=3)
    for wait in (61, 121, 241):
        settle(world, fails)
        world.advance(wait)
    assert world.state("Hour", NOW) is FAILED
    world.write("raw", NOW, 2, key="second")
    world.advance(15)
    settle(world, copy_rows)
    assert world.rows("hour") == {NOW: 3}
    world.advance(2 * 3600)
    settle(world, copy_rows)
    assert world.state("Hour", NOW) is JobState.PROCESSED
    assert world.rows("hour") == {NOW: 3}


def test_a_failure_in_an_open_period_is_tried_again_when_the_period_closes():
    world = an_open_hour()
    settle(world, fails)
    assert world.state("Hour", NOW) is FAILED
    assert "when its period closes" in world.why("Hour", NOW).text
    world.advance(3600)
    assert world.unit_states("Hour", NOW) == [CANCELED]
    world.advance(301)
    settle(world, copy_rows)
    assert world.unit_states("Hour", NOW) == [CANCELED, DONE]
    assert world.state("Hour", NOW) is JobState.PROCESSED


def test_the_close_is_one_new_try_and_no_more():
    world = an_open_hour()
    settle(world, fails)
    world.advance(3901)
    settle(world, fails)
    world.advance(3600)
    settle(world, fails)
    assert world.unit_states("Hour", NOW) == [CANCELED, CANCELED]
    assert world.state("Hour", NOW) is FAILED


def test_a_close_that_nobody_saw_is_a_new_try_for_the_next_scheduler():
    world = an_open_hour()
    settle(world, fails)
    world.scheduler._forget()
    world.clock.advance(3 * 3600)
    settle(world, copy_rows)
    assert world.state("Hour", NOW) is JobState.PROCESSED


def test_interim_runs_come_with_the_trigger_where_the_process_says_so():
    world = a_world(machine=StateMachine.CONTINUOUS, refresh=None, trigger_frequency="every 600")
    world.write("raw", NOW, 1)
    world.advance(601)
    settle(world, copy_rows)
    for n in range(5):
        world.write("raw", NOW, 1, key=f"more-{n}")
        world.advance(60)
        settle(world, copy_rows)
    assert len(world.units("Hour", NOW)) == 1
    world.advance(601)
    settle(world, copy_rows)
    assert world.rows("hour") == {NOW: 6}


# Given up


def test_a_process_may_say_that_failures_are_skipped_and_is_told_so_until_it_is_acknowledged():
    world = a_failed_hour(on_failure=OnFailure.SKIP)
    assert world.state("Hour", BAD) is GIVEN_UP
    assert world.rows("day") == {DAY: 10}
    found = world.audit()
    assert (found.failed, found.given_up, found.acknowledged) == (0, 1, 0)
    assert not found.is_clean
    assert world.why("Hour", BAD).kind is Kind.GIVEN_UP
    world.act(BulkVerb.ACKNOWLEDGE, "Hour", BAD)
    settle(world, copy_rows)
    assert world.state("Hour", BAD) is SKIPPED
    found = world.audit()
    assert (found.given_up, found.acknowledged, found.is_clean) == (0, 1, True)
    assert [one.timeperiod for one in found.acknowledgements] == [BAD]
    assert "acknowledged: because (an operator)" in world.why("Hour", BAD).text


def test_nothing_is_given_up_while_its_period_is_open():
    world = an_open_hour(on_failure=OnFailure.SKIP)
    settle(world, fails)
    assert world.state("Hour", NOW) is FAILED
    world.advance(3901)
    settle(world, fails)
    assert world.unit_states("Hour", NOW) == [CANCELED, CANCELED]
    assert world.state("Hour", NOW) is GIVEN_UP


def test_data_that_comes_later_brings_back_what_was_given_up_but_not_what_was_acknowledged():
    world = a_failed_hour(on_failure=OnFailure.SKIP)
    world.write("raw", BAD, 6, key="late")
    world.advance(15)
    settle(world, copy_rows)
    assert world.state("Hour", BAD) is JobState.PROCESSED
    other = a_failed_hour(on_failure=OnFailure.SKIP)
    other.act(BulkVerb.ACKNOWLEDGE, "Hour", BAD)
    other.write("raw", BAD, 6, key="late")
    other.advance(15)
    settle(other, copy_rows)
    assert other.state("Hour", BAD) is SKIPPED
    assert (other.audit().acknowledged, other.audit().unseen) == (1, 1)


def test_what_was_given_up_can_be_reprocessed_with_what_was_made_without_it():
    world = a_failed_hour(on_failure=OnFailure.SKIP)
    world.act(BulkVerb.REPROCESS, "Hour", BAD)
    settle(world, copy_rows)
    assert world.rows("day") == {DAY: 15}
    assert world.audit().is_clean


# Skipped by a person


def test_a_skip_holds_against_data_that_comes_later_until_a_reprocess():
    world = an_open_hour()
    settle(world, copy_rows)
    world.act(BulkVerb.SKIP, "Day", "2015052000")
    assert world.state("Hour", NOW) is SKIPPED
    world.write("raw", NOW, 2, key="second")
    world.advance(20)
    settle(world, copy_rows)
    assert (world.state("Hour", NOW), world.state("Day", "2015052000")) == (SKIPPED, SKIPPED)
    assert world.audit().unseen == 1
    assert "a reprocess brings in" in world.why("Hour", NOW).text
    world.act(BulkVerb.REPROCESS, "Hour", NOW)
    world.advance(13 * 3600)
    settle(world, copy_rows)
    assert world.rows("hour")[NOW] == 3
    assert world.state("Day", "2015052000") is JobState.PROCESSED
    assert world.audit().unseen == 0


@pytest.mark.parametrize("machine", StateMachine)
def test_children_that_begin_later_under_a_skipped_parent_are_skipped_with_its_reason(machine):
    world = a_world(machine=machine)
    world.schedule()
    world.act(BulkVerb.SKIP, "Day", "2015052000")
    world.advance(2 * 3600)
    world.write("raw", "2015052013", 5)
    world.advance(3 * 3600)
    settle(world, copy_rows)
    assert world.state("Hour", "2015052013") is SKIPPED
    entry = next(
        e for e in world.store.journal.of_job("Hour", "2015052013") if e.event == "job.skipped"
    )
    assert entry.why == "Day 2015052000 is skipped: because"
    assert world.unit_states("Hour", "2015052013") == []


def test_late_data_for_a_finished_hour_goes_no_further_than_its_skipped_day():
    world = a_world()
    world.write("raw", BAD, 5)
    world.write("raw", "2015051801", 5)
    settle(world, broken)
    world.act(BulkVerb.SKIP, "Day", DAY)
    settle(world, copy_rows)
    world.act(BulkVerb.REPROCESS, "Hour", "2015051801")
    settle(world, copy_rows)
    assert world.state("Hour", "2015051704") is JobState.NOOP
    world.write("raw", "2015051704", 7)
    world.advance(30)
    settle(world, copy_rows)
    assert world.state("Hour", "2015051704") is JobState.PROCESSED
    assert world.state("Day", DAY) is SKIPPED
    assert world.generation("Day", DAY) == 1


def test_a_trial_by_many_failures_loses_nothing():
    """Every third hour fails twice as often as it may; in the end all is there."""
    world = a_world(machine=StateMachine.CONTINUOUS)
    hours = [f"20150517{hour:02}" for hour in range(24)]
    for hour in hours:
        world.write("raw", hour, 1)
    left = dict.fromkeys(hours[::3], 2)

    def work(task):
        if left.get(task.timeperiod, 0) > 0:
            left[task.timeperiod] -= 1
            raise OSError("again")
        return copy_rows(task)

    for _ in range(3):
        settle(world, work)
        world.act(BulkVerb.RETRY, "Hour", hours[0], hours[-1])
    settle(world, work)
    assert world.rows("day") == {DAY: 24}
    assert world.audit().is_clean


def test_a_worker_that_succeeds_after_its_unit_was_given_up_changes_nothing():
    world = a_world()
    world.write("raw", BAD, 5)
    world.schedule()
    crew_results = []

    def slow(task):
        world.unit_commands.cancel(world.units("Hour", BAD)[0], OPERATOR, world.clock.now())
        crew_results.append(task.timeperiod)
        task.sink.replace(task.timeperiod, [{"domain": "d", "n": 99}])
        return Processed({"rows": 1})

    settle(world, slow)
    assert crew_results == [BAD]
    assert world.state("Hour", BAD) is FAILED
    assert world.rows("hour") == {}
