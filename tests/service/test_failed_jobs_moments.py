"""Failed and skipped jobs in odd moments: crashes, races, clocks, and what hangs on them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from synergy.commands.audits import store_audit
from synergy.commands.bulk import BulkVerb
from synergy.errors import StorageUnavailable
from synergy.model.job import JobState
from synergy.model.process import Blocking, OnFailure, StateMachine
from synergy.model.unit_of_work import Hint
from synergy.queries.timetable.audit import LATE, Audit, Unexplained
from synergy.queries.timetable.last_audit import last_audit
from synergy.worker.outcome import Processed
from tests.deployments import DAILY, HOURLY, a_deployment, a_process
from tests.service.piecemeal import PiecemealStore
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness, close_worlds, copy_rows
from tests.service.test_failed_jobs import (
    BAD,
    DAY,
    FAILED,
    GIVEN_UP,
    NOW,
    SKIPPED,
    a_failed_hour,
    a_world,
    an_open_hour,
    fails,
    settle,
)

pytestmark = pytest.mark.usefixtures("_closing")
PROCESSED = JobState.PROCESSED


@pytest.fixture
def _closing():
    yield
    close_worlds()


def rounds(world, works, count=6):
    """Scheduler and workers in turn; `works` says how each process works."""
    for _ in range(count):
        for process, work in works.items():
            world.forget_crews()
            world.schedule()
            world.work(process, work=work)
    world.schedule()


# Sources outside the store


@pytest.mark.parametrize("by_itself", [False, True])
def test_a_failed_final_run_over_an_outside_source_is_never_done_by_an_older_unit(by_itself):
    hour = a_process(
        "Hour", HOURLY, state_machine=StateMachine.CONTINUOUS, trigger_frequency="every 600",
        max_attempts=1, retry_failed=600.0 if by_itself else None,
    )  # fmt: skip
    world = SchedulerHarness(a_deployment({"site": [hour]}), start=NOW)

    def work(task):
        if world.state("Hour", task.timeperiod) is JobState.FINAL_RUN:
            raise OSError("no such disk")
        return Processed()

    rounds(world, {"Hour": work})
    for _ in range(20):
        world.advance(300)
        rounds(world, {"Hour": work}, 2)
    assert world.state("Hour", NOW) is FAILED
    runs = len(world.units("Hour", NOW))
    if not by_itself:
        world.act(BulkVerb.RETRY, "Hour", NOW)
        rounds(world, {"Hour": lambda _task: Processed()})
        assert world.state("Hour", NOW) is PROCESSED
        assert len(world.units("Hour", NOW)) == runs + 1


# What hangs on a job that was given up


def two_trees():
    a = a_process("A", DAILY, source="raw", sink="a", max_attempts=1, on_failure=OnFailure.SKIP)
    b = a_process("B", DAILY, source="a", sink="b", blocking=Blocking.DEPENDENCIES)
    hour = a_process("Hour", HOURLY, source="hours", sink="h", max_attempts=1)
    return SchedulerHarness(a_deployment({"a": [a], "b": [b, hour]}, {"b": ("a",)}))


def test_what_is_skipped_with_a_job_that_was_given_up_comes_back_with_it():
    world = two_trees()
    world.write("raw", DAY, 5)
    rounds(world, {"A": fails, "B": copy_rows})
    assert (world.state("A", DAY), world.state("B", DAY)) == (GIVEN_UP, SKIPPED)
    world.write("raw", DAY, 6, key="late")
    world.advance(30)
    rounds(world, {"A": copy_rows, "B": copy_rows, "Hour": copy_rows})
    assert (world.state("A", DAY), world.state("B", DAY)) == (PROCESSED, PROCESSED)
    assert world.rows("b") == {DAY: 11}


def test_a_parent_of_which_all_children_were_given_up_comes_back_with_them():
    world = a_world(on_failure=OnFailure.SKIP)
    hours = [f"20150517{hour:02}" for hour in range(24)]
    for hour in hours:
        world.write("raw", hour, 1)
    settle(world, fails)
    settle(world, fails)
    assert (world.state("Hour", BAD), world.state("Day", DAY)) == (GIVEN_UP, SKIPPED)
    for hour in hours:
        world.write("raw", hour, 1, key="late")
    world.advance(30)
    settle(world, copy_rows)
    assert world.rows("day") == {DAY: 48}


@pytest.mark.parametrize("has_failed", [False, True])
def test_children_of_a_day_that_is_skipped_only_with_another_one_are_not_skipped(has_failed):
    world = two_trees()
    world.write("raw", DAY, 5)
    world.write("hours", BAD, 5)
    if has_failed:
        rounds(world, {"Hour": fails})
        assert world.state("Hour", BAD) is FAILED
    else:
        world.schedule()
        world.process_commands.switch("Hour", False, OPERATOR, world.clock.now())
    rounds(world, {"A": fails})
    world.process_commands.switch("Hour", True, OPERATOR, world.clock.now())
    world.act(BulkVerb.RETRY, "Hour", BAD)
    rounds(world, {"Hour": copy_rows})
    assert world.state("B", DAY) is SKIPPED
    assert world.state("Hour", BAD) is PROCESSED


def test_a_new_scheduler_knows_what_is_skipped_only_with_others():
    world = two_trees()
    world.write("raw", DAY, 5)
    rounds(world, {"A": fails, "B": copy_rows})
    world.scheduler._forget()
    world.write("raw", DAY, 6, key="late")
    world.advance(30)
    rounds(world, {"A": copy_rows, "B": copy_rows, "Hour": copy_rows})
    assert world.state("B", DAY) is PROCESSED


def test_failed_dependants_of_a_group_are_looked_at_when_its_checkpoint_is_done():
    hour = a_process("Hour", HOURLY, source="raw", sink="hour", max_attempts=1, time_grouping=5)
    dep = a_process(
        "Dep", HOURLY, source="other", sink="dep", max_attempts=1, on_failure=OnFailure.SKIP
    )
    world = SchedulerHarness(a_deployment({"site": [hour], "dep": [dep]}, {"dep": ("site",)}))
    world.write("raw", "2015051703", 5)
    for period in ("2015051703", BAD):
        world.write("other", period, 5)
    rounds(world, {"Hour": fails, "Dep": fails}, 4)
    assert world.state("Dep", "2015051703") is FAILED
    world.act(BulkVerb.RETRY, "Hour", BAD)
    rounds(world, {"Hour": copy_rows}, 2)
    assert [world.state("Dep", at) for at in ("2015051703", BAD)] == [GIVEN_UP, GIVEN_UP]


# Crashes and races


def test_a_job_that_fails_while_an_older_unit_of_it_runs_gives_its_slot_back():
    world = a_world(machine=StateMachine.CONTINUOUS, max_active=2)
    periods = (BAD, "2015051706")
    for period in periods:
        world.write("raw", period, 5)
    world.schedule()
    for period in periods:
        (unit,) = world.units("Hour", period)
        world.store.units.claim([Hint(unit.id, unit.attempt)], "w", world.clock.now())
        world.scheduler.run_once()
        world.write("raw", period, 6, key="more")
    world.advance(15)
    for period in periods:
        newest = world.units("Hour", period)[-1]
        world.unit_commands.cancel(newest, OPERATOR, world.clock.now())
    world.schedule()
    assert [world.state("Hour", period) for period in periods] == [FAILED, FAILED]
    world.write("raw", "2015051709", 1)
    world.advance(30)
    settle(world, copy_rows)
    assert "2015051709" in world.rows("hour")


def test_a_unit_of_a_failed_job_whose_scheduler_died_before_it_moved_the_job_ends_it():
    world = a_failed_hour()
    world.write("raw", BAD, 6, key="more")
    move, world.store.jobs.move = world.store.jobs.move, lambda moves, _now: list(moves)
    world.advance(12)
    world.store.jobs.move = move
    world.scheduler._forget()
    settle(world, copy_rows)
    world.advance(120)
    settle(world, copy_rows)
    assert world.state("Hour", BAD) is PROCESSED


def test_a_retry_leaves_the_unit_that_a_scheduler_has_requested_for_it():
    store = PiecemealStore(lambda _what: None)
    hour = a_process("Hour", HOURLY, source="raw", sink="hour", max_attempts=1)
    world = SchedulerHarness(a_deployment({"site": [hour]}), store=store)
    world.write("raw", BAD, 5)
    rounds(world, {"Hour": fails}, 3)
    assert world.state("Hour", BAD) is FAILED
    unfinished, turns = store.units.unfinished, []

    def after_the_scheduler():
        if not turns:
            turns.append(world.scheduler.run_once())
            turns.append(world.scheduler.run_once())
        return unfinished()

    store.units.unfinished = after_the_scheduler
    world.act(BulkVerb.RETRY, "Hour", BAD)
    store.units.unfinished = unfinished
    rounds(world, {"Hour": copy_rows}, 3)
    assert world.state("Hour", BAD) is PROCESSED


def test_a_unit_that_timed_out_is_not_begun_again_when_the_store_goes_away():
    world = a_world(timeout=20.0, max_attempts=3)
    world.write("raw", BAD, 5)
    world.schedule()
    begun = []

    def work(task):
        begun.append(task.timeperiod)
        world.clock.advance(25)
        crew._hold.time_out(20.0)  # as the heartbeat does
        raise StorageUnavailable("away")

    crew = world.crew("Hour", work)
    consumer = world.bus.consumer("Hour")
    with pytest.raises(StorageUnavailable):
        crew.round(consumer)
    crew.round(consumer)
    consumer.close()
    assert begun == [BAD]


# Time


def test_a_close_that_an_operator_triggers_is_a_new_try():
    world = an_open_hour(trigger_frequency="at 03:00")
    world.process_commands.trigger("Hour", OPERATOR, world.clock.now())
    settle(world, fails)
    assert world.state("Hour", NOW) is FAILED
    world.advance(4000)
    world.process_commands.trigger("Hour", OPERATOR, world.clock.now())
    settle(world, copy_rows)
    assert world.state("Hour", NOW) is PROCESSED


def test_a_clock_that_is_set_back_brings_no_endless_tries():
    world = a_world()
    world.write("raw", NOW, 5)
    world.schedule()
    world.clock.advance(2 * 3600)
    world.schedule()
    world.clock.set_wall(datetime(2015, 5, 20, 12, 10, tzinfo=UTC))
    rounds(world, {"Hour": fails}, 20)
    assert len(world.units("Hour", NOW)) == 1
    world.advance(3600)
    settle(world, copy_rows)
    assert world.state("Hour", NOW) is PROCESSED


def test_late_data_that_is_taken_in_each_time_is_no_failure_however_long_it_comes():
    world = a_world()
    for hour in range(20):
        world.clock.advance(30)
        late = Unexplained("Hour", f"20150517{hour:02}", "processed", LATE)
        store_audit(world.store, Audit(100, 99, 0, (late,), late=1), world.clock.now(), 0.1)
    assert not last_audit(world.store).is_late_for_long
    for _ in range(14):
        world.clock.advance(30)
        store_audit(world.store, Audit(100, 99, 0, (late,), late=1), world.clock.now(), 0.1)
    assert last_audit(world.store).is_late_for_long


# Workers that die, or are thought to


def test_a_unit_that_waited_for_long_is_not_silent_from_the_moment_of_its_claim():
    world = a_world(heartbeat_timeout=60.0)
    world.write("raw", BAD, 5)
    world.schedule()
    world.advance(300)
    (unit,) = world.units("Hour", BAD)
    world.store.units.claim([Hint(unit.id, unit.attempt)], "w", world.clock.now())
    world.maintenance.request_collection("Hour", flush=False, actor=OPERATOR, now=world.clock.now())
    world.schedule()
    (unit,) = world.units("Hour", BAD)
    assert (unit.state.value, unit.failures) == ("in_progress", 0)
    world.advance(130)
    assert world.state("Hour", BAD) is FAILED  # it never beat


@pytest.mark.parametrize(("attempts", "held"), [(1, 1), (3, 4)])
def test_a_worker_holds_one_unit_alone_where_its_death_would_fail_all_that_it_holds(attempts, held):
    world = a_world(max_attempts=attempts)
    for hour in range(8):
        world.write("raw", f"20150517{hour:02}", 1)
    most = []

    def work(task):
        most.append(sum(u.state.value == "in_progress" for u in world.store.units.unfinished()))
        return copy_rows(task)

    settle(world, work)
    assert max(most) == held
