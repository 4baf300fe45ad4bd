"""Jobs whose units were given up are failed until an operator or new data decides."""

from __future__ import annotations

from synergy.commands.bulk import BulkVerb
from synergy.model.job import JobState
from synergy.model.process import StateMachine
from synergy.queries.timetable.causes import Kind
from synergy.worker.outcome import Processed
from tests.service.failed_jobs import (
    BAD,
    CANCELED,
    DAY,
    DONE,
    FAILED,
    SKIPPED,
    a_failed_hour,
    a_system,
    broken,
    settle,
)
from tests.service.scheduler_harness import OPERATOR, copy_rows


def events(system, process, timeperiod):
    story = system.store.journal.of_job(process, timeperiod)[::-1]
    return [entry.event for entry in story if entry.event.startswith("job.")]


def test_dependants_of_a_failed_hour_wait_and_name_it():
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


def test_a_retry_gives_new_attempts_in_the_same_generation():
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


def test_a_retry_while_the_scheduler_restarts_is_carried_out():
    system = a_failed_hour()
    system.scheduler._forget()
    system.act(BulkVerb.RETRY, "Hour", BAD)
    settle(system, copy_rows)
    assert system.state("Hour", BAD) is JobState.PROCESSED


def test_a_restarted_scheduler_leaves_a_failed_job_failed():
    system = a_failed_hour()
    system.scheduler._forget()
    settle(system, copy_rows)
    system.advance(3600)
    assert system.unit_states("Hour", BAD) == [CANCELED]
    assert system.state("Hour", BAD) is FAILED


def test_a_retry_survives_a_scheduler_that_died_before_it_moved_the_job():
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


def test_with_one_active_job_a_failed_period_holds_back_later_ones():
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


def test_a_failed_job_is_retried_automatically_if_retry_failed_is_set():
    system = a_failed_hour(retry_failed=3600.0)
    assert "by itself at 2015-05-20 13:00:00" in system.why("Hour", BAD).text
    system.advance(3500)
    assert system.unit_states("Hour", BAD) == [CANCELED]
    system.advance(120)
    settle(system, copy_rows)
    assert system.state("Hour", BAD) is JobState.PROCESSED


def test_a_restarted_scheduler_keeps_the_time_of_the_next_automatic_retry():
    system = a_failed_hour(retry_failed=3600.0)
    system.scheduler._forget()
    system.advance(3500)
    assert system.unit_states("Hour", BAD) == [CANCELED]
    system.scheduler._forget()
    system.advance(120)
    settle(system, copy_rows)
    assert system.state("Hour", BAD) is JobState.PROCESSED


def test_a_cancel_by_an_operator_fails_the_job_with_name_and_reason():
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


def test_many_failures_and_retries_lose_nothing():
    """Every third hour fails twice, with one attempt allowed; at the end all rows are complete."""
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


def test_a_worker_that_succeeds_after_its_unit_was_canceled_changes_nothing():
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
