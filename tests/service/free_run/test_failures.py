"""Runs whose workers, messages or units fail, and what the collector does for them."""

from __future__ import annotations

import pytest

from synergy.commands.run_units import unit_of
from synergy.lifecycle.legal_moves import RunMove
from synergy.lifecycle.state_changes import outcome_of
from synergy.model.unit_of_work import Hint, UnitChange, UnitState
from synergy.runtime.stop import Stop
from synergy.worker.outcome import Processed
from tests.service.free_runs import (
    NOW,
    a_free_process,
    a_run,
    a_system,
    carry_out,
    fail,
    launch,
    no_work,
    unit,
)
from tests.service.scheduler_harness import OPERATOR


def never(task):
    raise AssertionError("no worker may carry this out")


def test_a_failed_run_is_given_up_with_its_error(system):
    run = a_run()
    launch(system, run)
    system.schedule()
    carry_out(system, fail)
    assert unit(system, run).state is UnitState.INVALID
    assert outcome_of(unit(system, run)) is None
    system.schedule()  # the collector is asked at once, without its minute being over
    done = unit(system, run)
    assert done.state is UnitState.CANCELED
    assert outcome_of(done) == (RunMove.FAIL, "failed: ValueError: the disk is full")


def test_a_failed_run_is_retried_if_attempts_are_left():
    system = a_system(a_free_process(max_attempts=2, retry_backoff=10.0))
    run = a_run()
    launch(system, run)
    system.schedule()
    carry_out(system, fail)
    system.schedule()
    assert not carry_out(system, no_work)  # not before the back-off is over
    system.advance(10)
    assert carry_out(system, no_work)
    done = unit(system, run)
    assert (done.attempt, done.failures) == (2, 1)
    assert outcome_of(done) == (RunMove.PROCESS, "")


def test_the_last_of_several_failures_ends_the_run():
    system = a_system(a_free_process(max_attempts=2, retry_backoff=0.0))
    run = a_run()
    launch(system, run)
    for _ in range(2):
        system.schedule()
        assert carry_out(system, fail)
    system.schedule()
    reason = "failed 2 times; last: ValueError: the disk is full"
    assert outcome_of(unit(system, run)) == (RunMove.FAIL, reason)


def test_a_unit_that_was_never_published_is_published_by_the_collector(system):
    run = a_run()
    system.store.units.create([unit_of(run, NOW)], "a test")
    assert system.bus.depths() == {}
    system.schedule()
    assert system.bus.depths() == {"Report": 1}
    assert carry_out(system, no_work)
    assert unit(system, run).attempt == 1


def test_a_lost_message_is_published_again(system):
    run = a_run()
    launch(system, run)
    system.schedule()
    assert system.bus.purge("Report") == 1
    system.advance(59)
    assert system.bus.depths() == {}
    system.advance(2)
    assert system.bus.depths() == {"Report": 1}


def test_a_lost_message_is_published_again_while_a_run_of_the_same_second_runs(system):
    """A job's second unit waits behind the first; runs do not."""
    runs = [a_run("due:1"), a_run("due:2")]
    launch(system, *runs)
    system.schedule()

    published = []

    def work(task):
        assert system.bus.purge("Report") == 1
        system.maintenance.request_collection("Report", False, OPERATOR, NOW)
        system.schedule()
        published.append(system.bus.depths())
        return Processed()

    carry_out(system, work)
    assert published == [{"Report": 1}]
    assert unit(system, runs[0]).state is UnitState.PROCESSED


@pytest.mark.parametrize(("max_attempts", "is_again"), [(1, False), (2, True)])
def test_a_run_whose_worker_stops_its_heartbeat_is_retried_or_failed(max_attempts, is_again):
    system = a_system(a_free_process(max_attempts=max_attempts))
    run = a_run()
    launch(system, run)
    system.schedule()
    seen = []

    def work(task):
        while unit(system, run).attempt == 1:  # collector runs come every minute
            system.advance(10)
        seen.append(unit(system, run))
        return Processed()

    carry_out(system, work)
    [lost] = seen
    done = unit(system, run)
    assert (lost.state, lost.failures) == (
        UnitState.REQUESTED if is_again else UnitState.CANCELED,
        1,
    )
    assert done == lost  # the result of the old attempt is refused
    if is_again:
        assert carry_out(system, no_work)
        assert outcome_of(unit(system, run)) == (RunMove.PROCESS, "")
    else:
        assert outcome_of(done) == (RunMove.FAIL, "its worker's heartbeat stopped")


def test_a_run_that_no_worker_took_waits_however_long(system):
    run = a_run()
    launch(system, run)
    system.schedule()
    system.clock.advance(30 * 24 * 3600)
    system.schedule()
    assert unit(system, run).state is UnitState.REQUESTED
    carry_out(system, no_work)
    assert outcome_of(unit(system, run)) == (RunMove.PROCESS, "")


def test_a_started_run_that_is_not_done_in_time_fails():
    system = a_system(a_free_process(max_attempts=2))
    run = a_run()
    launch(system, run)
    system.schedule()
    taken = unit(system, run)
    held = system.store.units.claim([Hint(taken.id, taken.attempt)], "somebody", system.clock.now())
    again = UnitChange(
        run.id, UnitState.IN_PROGRESS, held[0].attempt, UnitState.REQUESTED, "", "a test",
        next_attempt=True,
    )  # fmt: skip
    assert system.store.units.move([again], system.clock.now()) == []
    system.clock.advance(48 * 3600 + 1)
    system.schedule()
    done = unit(system, run)
    assert done.state is UnitState.CANCELED
    assert outcome_of(done) == (RunMove.FAIL, "not done within 172800 s")
    carry_out(system, never)  # its message is still there
    assert unit(system, run) == done


def test_nothing_is_done_for_a_process_that_is_switched_off(system):
    run = a_run()
    system.process_commands.switch("Report", False, OPERATOR, NOW)
    system.store.units.create([unit_of(run, NOW)], "a test")
    system.schedule()
    system.advance(120)
    assert system.bus.depths() == {}
    system.process_commands.switch("Report", True, OPERATOR, NOW)
    system.advance(60)
    assert system.bus.depths() == {"Report": 1}


def test_the_collector_works_without_any_tree():
    system = a_system(a_free_process(), tree=False)
    run = a_run()
    system.store.units.create([unit_of(run, NOW)], "a test")
    system.schedule()
    carry_out(system, fail)
    system.schedule()
    assert outcome_of(unit(system, run)) == (
        RunMove.FAIL,
        "failed: ValueError: the disk is full",
    )


def test_agents_are_woken_when_worker_collector_or_operator_ends_a_unit(system):
    runs = [a_run("due:1"), a_run("due:2")]
    launch(system, *runs)
    system.schedule()
    listener = system.bus.listener("agent")
    try:
        carry_out(system, fail)
        assert listener.wait(0)
        system.schedule()  # the collector gives it up
        assert listener.wait(0)
        system.unit_commands.cancel(unit(system, runs[1]), OPERATOR, NOW)
        assert listener.wait(0)
        assert not listener.wait(0)
    finally:
        listener.close()


def test_a_worker_that_is_stopped_gives_its_run_back(system):
    """The run continues with the next attempt, and no failure is counted."""
    run = a_run(request={"arguments": {"days": 3}})
    launch(system, run)

    def work(task):
        system.stop.set()
        task.checkpoint()
        raise AssertionError("the checkpoint lets it go on")

    carry_out(system, work)
    given = unit(system, run)
    assert (given.state, given.attempt, given.failures) == (UnitState.REQUESTED, 2, 0)
    assert outcome_of(given) is None
    system.stop = Stop()
    seen = []

    def again(task):
        seen.append((task.run.id, task.arguments["days"], task.unit.attempt))
        return Processed()

    while carry_out(system, again, owner="another worker"):
        pass
    assert seen == [(run.id, 3, 2)]
    assert outcome_of(unit(system, run)) == (RunMove.PROCESS, "")
