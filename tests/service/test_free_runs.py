"""Runs of free-run processes: launched, worked on, lost, given up, beside the timetable."""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import timedelta

import pytest

from synergy.agent.context import AgentContext
from synergy.agent.delivering.unit_ends import UnitEnds
from synergy.commands.run_units import launch_worker, unit_of
from synergy.commands.runs import RunCommands
from synergy.errors import (
    LostAttempt,
    MessagingUnavailable,
    NotFound,
    Refused,
    StorageUnavailable,
)
from synergy.lifecycle.moves import outcome_of
from synergy.lifecycle.transitions import RunMove
from synergy.model.actor import Actor
from synergy.model.job import JobState
from synergy.model.run_detail import RunDetail
from synergy.model.schedule import RunState, Schedule
from synergy.model.unit_of_work import Hint, UnitMove, UnitState
from synergy.queries.reads import Reads
from synergy.runtime.agent_counters import Meter
from synergy.runtime.stop import Stop
from synergy.worker.outcome import Nothing, Processed
from tests.service.free_runs import (
    NOW,
    SECOND,
    a_free_process,
    a_run,
    a_system,
    another_runner,
    carry_out,
    events,
    launch,
    unit,
)
from tests.service.scheduler_harness import OPERATOR


@pytest.fixture
def system():
    return a_system(a_free_process(arguments={"site": "a", "days": 7}))


def no_work(task):
    return Processed()


def fail(task):
    raise ValueError("the disk is full")


def never(task):
    raise AssertionError("nobody may carry this out")


# From a run to its end


def test_a_run_becomes_a_unit_of_its_own_id_at_its_due_second():
    run = a_run(due_at=NOW.replace(microsecond=999_999))
    made = unit_of(run, NOW + timedelta(hours=1))
    number = int(run.id[:14], 16)
    assert (made.id, made.process, made.generation) == (run.id, "Report", 1)
    assert (made.timeperiod, made.start_timeperiod, made.end_timeperiod) == (SECOND,) * 3
    assert (made.start_id, made.end_id) == (number, number)
    assert 0 <= number < 1 << 63  # what any store can count with
    assert made.created_at == NOW + timedelta(hours=1)


def test_a_worker_is_given_the_run_and_its_arguments(system):
    request = {"process": "Report", "arguments": {"days": 1, "more": [1, {"x": None}]}}
    run = a_run(request=request)
    seen = []

    def work(task):
        seen.append((task.run.id, task.timeperiod, dict(task.arguments)))
        for name in ("source", "sink"):
            with pytest.raises(ValueError, match=f"Report has no {name}"):
                getattr(task, name)
        return Processed({"rows": 3})

    launch(system, run)
    assert carry_out(system, work)
    assert seen == [(run.id, SECOND, {"site": "a", "days": 1, "more": [1, {"x": None}]})]
    done = unit(system, run)
    assert (done.state, done.counts) == (UnitState.PROCESSED, {"rows": 3})
    assert outcome_of(done) == (RunMove.PROCESS, "")
    assert events(system, [done]) == [
        "run.launched",
        "unit.requested",
        "unit.in_progress",
        "unit.processed",
    ]


def test_a_unit_without_a_run_has_the_arguments_of_the_entry(system):
    run = a_run()
    with system.store.batch() as batch:
        process = system.deployment.freerun()["Report"]
        launch_worker(system.store, system.bus, [run], process, NOW, "a test", batch)
    seen = []

    def work(task):
        seen.append((task.run, dict(task.arguments)))
        return Nothing()

    carry_out(system, work)
    assert seen == [(None, {"site": "a", "days": 7})]
    assert outcome_of(unit(system, run)) == (RunMove.PASS, "")


def test_a_group_of_units_reads_its_runs_in_one_look(system, monkeypatch):
    runs = [a_run(f"due:{n}", request={"arguments": {"n": n}}) for n in range(6)]
    launch(system, *runs)
    asked, seen = [], []
    monkeypatch.setattr(
        system.store.runs,
        "get",
        lambda ids, get=system.store.runs.get: asked.append(ids) or get(ids),
    )

    def work(task):
        seen.append(task.arguments["n"])
        return Processed()

    while system.round("Report", work):
        pass
    assert seen == [0, 1, 2, 3, 4, 5]
    assert sorted(id_ for ids in asked for id_ in ids) == sorted(run.id for run in runs)
    assert len(asked) == 3  # groups of 1, 2, 3


def test_a_store_that_fails_while_runs_are_read_loses_none(system, monkeypatch):
    run = a_run(request={"arguments": {"days": 2}})
    launch(system, run)

    def away(ids):
        raise StorageUnavailable("the store is away")

    seen = []

    def work(task):
        seen.append(task.arguments["days"])
        return Processed()

    with monkeypatch.context() as patch:
        patch.setattr(system.store.runs, "get", away)
        with pytest.raises(StorageUnavailable):
            carry_out(system, work)
    while carry_out(system, work):
        pass
    assert seen == [2]
    assert unit(system, run).state is UnitState.PROCESSED


def test_claims_whose_answer_was_lost_are_taken_up_with_their_runs(system, monkeypatch):
    run = a_run(request={"arguments": {"days": 2}})
    launch(system, run)
    batch = system.store.batch
    seen = []

    def work(task):
        seen.append(task.arguments["days"])
        return Processed()

    @contextmanager
    def lost():
        with batch() as one:
            yield one
        raise StorageUnavailable("the answer is lost")

    with monkeypatch.context() as patch:
        patch.setattr(system.store, "batch", lost)
        with pytest.raises(StorageUnavailable):
            system.round("Report", work)
    assert unit(system, run).state is UnitState.IN_PROGRESS
    assert system.round("Report", work)
    assert seen == [2]


def test_launching_twice_makes_one_unit_and_says_it_once(system):
    run = a_run()
    first = launch(system, run)
    assert launch(system, run) == [unit(system, run)]
    assert [one.id for one in first] == [run.id]
    assert system.bus.depths() == {"Report": 1}
    carry_out(system, no_work)
    [done] = launch(system, run)
    assert (done.state, system.bus.depths()) == (UnitState.PROCESSED, {})


def test_runs_of_one_second_stand_side_by_side_on_two_workers(system):
    runs = [a_run("due:1"), a_run("due:2")]
    launch(system, *runs)
    seen = []

    def inner(task):
        states = [unit(system, run).state for run in runs]
        seen.append((task.timeperiod, states))
        return Processed()

    with closing(another_runner(system, "Report", "second worker", inner)) as second:

        def outer(task):
            with closing(system.bus.consumer("Report")) as consumer:
                assert second.round(consumer)
            return Processed()

        assert carry_out(system, outer, owner="first worker")
    assert seen == [(SECOND, [UnitState.IN_PROGRESS, UnitState.IN_PROGRESS])]
    assert {unit(system, run).owner for run in runs} == {"first worker", "second worker"}
    assert [unit(system, run).state for run in runs] == [UnitState.PROCESSED] * 2


# Failures, and the collector


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


def test_a_process_may_have_its_runs_tried_again():
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


def test_a_unit_that_was_never_published_is_said_by_the_collector(system):
    run = a_run()
    system.store.units.create([unit_of(run, NOW)], "a test")
    assert system.bus.depths() == {}
    system.schedule()
    assert system.bus.depths() == {"Report": 1}
    assert carry_out(system, no_work)
    assert unit(system, run).attempt == 1


def test_a_message_that_is_lost_is_said_again(system):
    run = a_run()
    launch(system, run)
    system.schedule()
    assert system.bus.purge("Report") == 1
    system.advance(59)
    assert system.bus.depths() == {}
    system.advance(2)
    assert system.bus.depths() == {"Report": 1}


def test_a_message_that_is_lost_beside_a_run_of_the_same_second_is_said_again(system):
    """A job's second unit waits behind the first; runs do not."""
    runs = [a_run("due:1"), a_run("due:2")]
    launch(system, *runs)
    system.schedule()

    said = []

    def work(task):
        assert system.bus.purge("Report") == 1
        system.maintenance.request_collection("Report", False, OPERATOR, NOW)
        system.schedule()
        said.append(system.bus.depths())
        return Processed()

    carry_out(system, work)
    assert said == [{"Report": 1}]
    assert unit(system, runs[0]).state is UnitState.PROCESSED


@pytest.mark.parametrize(("max_attempts", "is_again"), [(1, False), (2, True)])
def test_a_worker_that_falls_silent_loses_its_run(max_attempts, is_again):
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
    assert done == lost  # what the old attempt came to is refused
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


def test_a_run_that_was_begun_and_is_not_done_in_time_has_failed():
    system = a_system(a_free_process(max_attempts=2))
    run = a_run()
    launch(system, run)
    system.schedule()
    taken = unit(system, run)
    held = system.store.units.claim([Hint(taken.id, taken.attempt)], "somebody", system.clock.now())
    again = UnitMove(
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


def test_agents_are_woken_by_the_end_of_a_run_whoever_ends_it(system):
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
    """The run goes on where it is taken up next; that is no failure."""
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


# Operators


def test_an_operator_cancels_a_run_and_the_work_notices(system):
    run = a_run()
    launch(system, run)
    errors = []

    def work(task):
        system.unit_commands.cancel(unit(system, run), OPERATOR, NOW)
        system.clock.advance(61)
        runner = system.runner("Report")
        runner._claims.check_current()
        with pytest.raises(LostAttempt) as error:
            task.checkpoint()
        errors.append(error)
        raise error.value

    system.round("Report", work)
    assert len(errors) == 1
    assert outcome_of(unit(system, run)) == (RunMove.CANCEL, "because")


def test_a_unit_of_a_run_is_retried_by_its_schedule_only(system):
    run = a_run()
    launch(system, run)
    carry_out(system, fail)
    invalid = unit(system, run)
    with pytest.raises(Refused, match=rf"launch\.py schedule retry {run.id}"):
        system.unit_commands.retry(invalid, OPERATOR, NOW)
    assert unit(system, run) == invalid


def test_the_collector_can_be_asked_for_one_free_run_process(system):
    other = a_free_process("Other")
    system = a_system(a_free_process(), other)
    runs = [a_run("due:1"), a_run("due:2", process="Other")]
    system.schedule()
    system.store.units.create([unit_of(run, NOW) for run in runs], "a test")
    system.maintenance.request_collection("Report", True, OPERATOR, NOW)
    reads = Reads(system.store, system.bus, system.deployment, system.clock)
    plan = reads.collection_plan("Report")
    assert [(p.unit, p.verdict) for p in plan] == [(runs[0].id, "publish")]
    system.schedule()
    assert system.bus.depths() == {"Report": 1}
    with pytest.raises(NotFound, match="there are: Site, Report, Other"):
        system.maintenance.request_collection("Scheduler", True, OPERATOR, NOW)


def trigger(system, **fields):
    process = system.deployment.freerun()["Report"]
    commands = RunCommands(system.store, system.bus, system.deployment)
    return commands.trigger_process(process, Actor("me", "to see"), system.clock.now(), **fields)


def test_two_triggers_in_one_second_are_two_runs(system):
    runs = [trigger(system), trigger(system)]
    assert len({run.id for run in runs}) == 2
    assert [system.store.runs.get([run.id]) for run in runs] == [
        [replace(run, rev=1)] for run in runs
    ]
    assert {(run.schedule, run.state, run.program) for run in runs} == {
        ("", RunState.LAUNCHED, "Report")
    }
    assert all(run.key.startswith("trigger:") for run in runs)
    seen = []

    def work(task):
        seen.append((task.run.id, dict(task.arguments)))
        return Processed()

    while carry_out(system, work):
        pass
    assert seen == [(run.id, {"site": "a", "days": 7}) for run in runs]
    assert unit(system, runs[0]).timeperiod == unit(system, runs[1]).timeperiod == SECOND


def test_a_trigger_counts_as_a_run_of_the_process_own_schedule(system):
    definition = {
        "name": "Report",
        "process": "Report",
        "arguments": {"days": 1},
        "group": "nightly",
    }
    schedule = Schedule(
        name="Report", definition=definition, version=3, created_at=NOW, changed_at=NOW
    )
    system.store.schedules.create([schedule], "a test")
    run = trigger(system)
    assert (run.schedule, run.version, run.group) == ("Report", 3, "nightly")
    assert run.request == {"process": "Report", "arguments": {"days": 1}}
    assert run.detail == RunDetail(cause={"remark": "by hand, me: to see"})


def test_a_trigger_that_no_message_follows_is_a_run_all_the_same(system, monkeypatch):
    """With a broker, messages leave after the batch, and asking again would be a second run."""

    def away():
        raise MessagingUnavailable("the broker is away")

    with monkeypatch.context() as patch:
        patch.setattr(
            system.bus, "publish",
            lambda queue, messages, batch, confirmed: batch.after_commit(away),
        )  # fmt: skip
        run = trigger(system)
    assert system.bus.depths() == {}
    system.schedule()
    assert carry_out(system, no_work)
    assert outcome_of(unit(system, run)) == (RunMove.PROCESS, "")


def test_a_trigger_that_the_bus_refuses_is_none(system, monkeypatch):
    def away(queue, messages, batch, confirmed):
        raise MessagingUnavailable("the broker is away")

    with monkeypatch.context() as patch:
        patch.setattr(system.bus, "publish", away)
        with pytest.raises(MessagingUnavailable):
            trigger(system)
    assert system.store.runs.unfinished() == []


def test_a_dry_run_of_a_trigger_makes_nothing(system):
    trigger(system, dry_run=True)
    assert system.store.units.unfinished() == []
    assert system.store.runs.unfinished() == []
    assert system.bus.depths() == {}


def test_a_process_that_is_switched_off_cannot_be_triggered(system):
    system.process_commands.switch("Report", False, OPERATOR, NOW)
    with pytest.raises(Refused, match=r"launch\.py process on Report"):
        trigger(system)
    assert system.store.runs.unfinished() == []


# The timetable beside them


def test_the_timetable_is_not_disturbed_by_runs(system):
    states = []
    for number in range(3):
        system.write("raw", "2015052010", 1 + number)
        launch(system, *(a_run(f"due:{number}:{n}") for n in range(2)))
        carry_out(system, fail if number == 1 else no_work)
        system.settle()
        system.advance(61)
        system.settle()
        states.append(system.state("Site", "2015052010"))
    while carry_out(system, no_work):
        pass
    system.advance(61)
    system.settle()
    assert states == [JobState.PROCESSED] * 3
    assert system.rows("site")["2015052010"] == 3
    assert system.audit().unexplained == ()
    reads = Reads(system.store, system.bus, system.deployment, system.clock)
    assert [tree.name for tree in reads.trees()] == ["site"]
    with pytest.raises(NotFound, match="no such managed process: Report; there are: Site"):
        reads.why("Report", SECOND)
    restarted = system.a_scheduler("scheduler-2")  # reads the journal's rows from the beginning
    system.scheduler._resign()
    restarted.run_once()
    assert restarted.leads == {"site"}
    assert system.audit().unexplained == ()


def test_runs_left_by_a_process_that_is_managed_now_are_no_jobs_of_it():
    system = a_system(a_free_process("Site"), tree=False)
    run = a_run(process="Site")
    launch(system, run)
    now_managed = a_system()
    now_managed.store.units.create([unit_of(run, NOW)], "a test")
    now_managed.write("raw", "2015052010", 1)
    now_managed.settle()
    assert now_managed.state("Site", "2015052010") is JobState.PROCESSED
    assert now_managed.audit().unexplained == ()


def test_how_processes_are_shown(system):
    reads = Reads(system.store, system.bus, system.deployment, system.clock)
    launch(system, a_run())
    seen = reads.process("Report")
    assert (seen.kind, seen.qualifier, seen.tree, seen.trigger, seen.next_due) == (
        "freerun", None, None, None, None,
    )  # fmt: skip
    assert (seen.waiting, seen.units) == (1, {"requested": 1})
    assert [view.kind for view in reads.processes()] == ["managed", "freerun"]


def test_a_process_shows_the_trigger_of_its_own_schedule():
    system = a_system(a_free_process(trigger_frequency="every 60"))
    reads = Reads(system.store, system.bus, system.deployment, system.clock)
    assert (reads.process("Report").trigger, reads.process("Report").next_due) == ("every 60", None)
    due = NOW + timedelta(seconds=30)
    definition = {"process": "Report", "trigger": "every 30"}
    schedule = Schedule(
        name="Report", definition=definition, created_at=NOW, changed_at=NOW, is_enabled=True,
        wake_at=due,
    )  # fmt: skip
    system.store.schedules.create([schedule], "a test")
    assert (reads.process("Report").trigger, reads.process("Report").next_due) == ("every 30", due)
    system.process_commands.switch("Report", False, OPERATOR, NOW)
    assert (reads.process("Report").is_on, reads.process("Report").next_due) == (False, None)


def test_a_schedule_of_the_name_that_does_something_else_is_not_its_own(system):
    definition = {"name": "Report", "target": "https://example.com", "trigger": "every 30"}
    schedule = Schedule(name="Report", definition=definition, created_at=NOW, changed_at=NOW)
    system.store.schedules.create([schedule], "a test")
    assert trigger(system).schedule == ""
    reads = Reads(system.store, system.bus, system.deployment, system.clock)
    assert reads.process("Report").trigger is None


# The run's end


def ended(system, run):
    """The run, once an agent has seen how its unit ended."""
    agent = AgentContext(
        system.store, system.bus, system.clock, system.deployment, Meter(), "an agent"
    )
    assert UnitEnds(agent).of_units([run.id], system.clock.now()) == []
    return system.store.runs.get([run.id])[0]


@pytest.mark.parametrize("failures", [1, 2])
def test_a_run_that_failed_was_attempted_as_often_as_it_was_handed_out(failures):
    system = a_system(a_free_process(max_attempts=failures, retry_backoff=0.0))
    run = a_run()
    launch(system, run)
    for _ in range(failures):
        system.schedule()
        assert carry_out(system, fail)
    system.schedule()
    done = ended(system, run)
    assert (done.state, done.attempt) == (RunState.FAILED, failures)


def test_the_attempt_of_a_run_that_succeeds_after_a_failure():
    system = a_system(a_free_process(max_attempts=2, retry_backoff=0.0))
    run = a_run()
    launch(system, run)
    for work in (fail, no_work):
        system.schedule()
        assert carry_out(system, work)
    done = ended(system, run)
    assert (done.state, done.attempt) == (RunState.PROCESSED, 2)


def test_the_attempt_of_a_run_whose_unit_an_operator_canceled(system):
    run = a_run()
    (requested,) = launch(system, run)
    system.unit_commands.cancel(requested, OPERATOR, system.clock.now())
    done = ended(system, run)
    assert (done.state, done.attempt) == (RunState.CANCELED, 1)
