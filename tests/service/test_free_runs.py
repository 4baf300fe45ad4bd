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
    a_world,
    another_crew,
    carry_out,
    events,
    launch,
    unit,
)
from tests.service.scheduler_harness import OPERATOR, close_worlds


@pytest.fixture(autouse=True)
def _closed():
    yield
    close_worlds()


@pytest.fixture
def world():
    return a_world(a_free_process(arguments={"site": "a", "days": 7}))


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


def test_a_worker_is_given_the_run_and_its_arguments(world):
    request = {"process": "Report", "arguments": {"days": 1, "more": [1, {"x": None}]}}
    run = a_run(request=request)
    seen = []

    def work(task):
        seen.append((task.run.id, task.timeperiod, dict(task.arguments)))
        for name in ("source", "sink"):
            with pytest.raises(ValueError, match=f"Report has no {name}"):
                getattr(task, name)
        return Processed({"rows": 3})

    launch(world, run)
    assert carry_out(world, work)
    assert seen == [(run.id, SECOND, {"site": "a", "days": 1, "more": [1, {"x": None}]})]
    done = unit(world, run)
    assert (done.state, done.counts) == (UnitState.PROCESSED, {"rows": 3})
    assert outcome_of(done) == (RunMove.PROCESS, "")
    assert events(world, [done]) == [
        "run.launched",
        "unit.requested",
        "unit.in_progress",
        "unit.processed",
    ]


def test_a_unit_without_a_run_has_the_arguments_of_the_entry(world):
    run = a_run()
    with world.store.batch() as batch:
        process = world.deployment.freerun()["Report"]
        launch_worker(world.store, world.bus, [run], process, NOW, "a test", batch)
    seen = []

    def work(task):
        seen.append((task.run, dict(task.arguments)))
        return Nothing()

    carry_out(world, work)
    assert seen == [(None, {"site": "a", "days": 7})]
    assert outcome_of(unit(world, run)) == (RunMove.PASS, "")


def test_a_group_of_units_reads_its_runs_in_one_look(world, monkeypatch):
    runs = [a_run(f"due:{n}", request={"arguments": {"n": n}}) for n in range(6)]
    launch(world, *runs)
    asked, seen = [], []
    monkeypatch.setattr(
        world.store.runs, "get", lambda ids, get=world.store.runs.get: asked.append(ids) or get(ids)
    )

    def work(task):
        seen.append(task.arguments["n"])
        return Processed()

    while world.round("Report", work):
        pass
    assert seen == [0, 1, 2, 3, 4, 5]
    assert sorted(id_ for ids in asked for id_ in ids) == sorted(run.id for run in runs)
    assert len(asked) == 3  # groups of 1, 2, 3


def test_a_store_that_fails_while_runs_are_read_loses_none(world, monkeypatch):
    run = a_run(request={"arguments": {"days": 2}})
    launch(world, run)

    def away(ids):
        raise StorageUnavailable("the store is away")

    seen = []

    def work(task):
        seen.append(task.arguments["days"])
        return Processed()

    with monkeypatch.context() as patch:
        patch.setattr(world.store.runs, "get", away)
        with pytest.raises(StorageUnavailable):
            carry_out(world, work)
    while carry_out(world, work):
        pass
    assert seen == [2]
    assert unit(world, run).state is UnitState.PROCESSED


def test_claims_whose_answer_was_lost_are_taken_up_with_their_runs(world, monkeypatch):
    run = a_run(request={"arguments": {"days": 2}})
    launch(world, run)
    batch = world.store.batch
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
        patch.setattr(world.store, "batch", lost)
        with pytest.raises(StorageUnavailable):
            world.round("Report", work)
    assert unit(world, run).state is UnitState.IN_PROGRESS
    assert world.round("Report", work)
    assert seen == [2]


def test_launching_twice_makes_one_unit_and_says_it_once(world):
    run = a_run()
    first = launch(world, run)
    assert launch(world, run) == [unit(world, run)]
    assert [one.id for one in first] == [run.id]
    assert world.bus.depths() == {"Report": 1}
    carry_out(world, no_work)
    [done] = launch(world, run)
    assert (done.state, world.bus.depths()) == (UnitState.PROCESSED, {})


def test_runs_of_one_second_stand_side_by_side_on_two_workers(world):
    runs = [a_run("due:1"), a_run("due:2")]
    launch(world, *runs)
    seen = []

    def inner(task):
        states = [unit(world, run).state for run in runs]
        seen.append((task.timeperiod, states))
        return Processed()

    with closing(another_crew(world, "Report", "second worker", inner)) as second:

        def outer(task):
            with closing(world.bus.consumer("Report")) as consumer:
                assert second.round(consumer)
            return Processed()

        assert carry_out(world, outer, owner="first worker")
    assert seen == [(SECOND, [UnitState.IN_PROGRESS, UnitState.IN_PROGRESS])]
    assert {unit(world, run).owner for run in runs} == {"first worker", "second worker"}
    assert [unit(world, run).state for run in runs] == [UnitState.PROCESSED] * 2


# Failures, and the collector


def test_a_failed_run_is_given_up_with_its_error(world):
    run = a_run()
    launch(world, run)
    world.schedule()
    carry_out(world, fail)
    assert unit(world, run).state is UnitState.INVALID
    assert outcome_of(unit(world, run)) is None
    world.schedule()  # the collector is asked at once, without its minute being over
    done = unit(world, run)
    assert done.state is UnitState.CANCELED
    assert outcome_of(done) == (RunMove.FAIL, "failed: ValueError: the disk is full")


def test_a_process_may_have_its_runs_tried_again():
    world = a_world(a_free_process(max_attempts=2, retry_backoff=10.0))
    run = a_run()
    launch(world, run)
    world.schedule()
    carry_out(world, fail)
    world.schedule()
    assert not carry_out(world, no_work)  # not before the back-off is over
    world.advance(10)
    assert carry_out(world, no_work)
    done = unit(world, run)
    assert (done.attempt, done.failures) == (2, 1)
    assert outcome_of(done) == (RunMove.PROCESS, "")


def test_the_last_of_several_failures_ends_the_run():
    world = a_world(a_free_process(max_attempts=2, retry_backoff=0.0))
    run = a_run()
    launch(world, run)
    for _ in range(2):
        world.schedule()
        assert carry_out(world, fail)
    world.schedule()
    reason = "failed 2 times; last: ValueError: the disk is full"
    assert outcome_of(unit(world, run)) == (RunMove.FAIL, reason)


def test_a_unit_that_was_never_published_is_said_by_the_collector(world):
    run = a_run()
    world.store.units.create([unit_of(run, NOW)], "a test")
    assert world.bus.depths() == {}
    world.schedule()
    assert world.bus.depths() == {"Report": 1}
    assert carry_out(world, no_work)
    assert unit(world, run).attempt == 1


def test_a_message_that_is_lost_is_said_again(world):
    run = a_run()
    launch(world, run)
    world.schedule()
    assert world.bus.purge("Report") == 1
    world.advance(59)
    assert world.bus.depths() == {}
    world.advance(2)
    assert world.bus.depths() == {"Report": 1}


def test_a_message_that_is_lost_beside_a_run_of_the_same_second_is_said_again(world):
    """A job's second unit waits behind the first; runs do not."""
    runs = [a_run("due:1"), a_run("due:2")]
    launch(world, *runs)
    world.schedule()

    said = []

    def work(task):
        assert world.bus.purge("Report") == 1
        world.maintenance.request_collection("Report", False, OPERATOR, NOW)
        world.schedule()
        said.append(world.bus.depths())
        return Processed()

    carry_out(world, work)
    assert said == [{"Report": 1}]
    assert unit(world, runs[0]).state is UnitState.PROCESSED


@pytest.mark.parametrize(("max_attempts", "is_again"), [(1, False), (2, True)])
def test_a_worker_that_falls_silent_loses_its_run(max_attempts, is_again):
    world = a_world(a_free_process(max_attempts=max_attempts))
    run = a_run()
    launch(world, run)
    world.schedule()
    seen = []

    def work(task):
        while unit(world, run).attempt == 1:  # collector runs come every minute
            world.advance(10)
        seen.append(unit(world, run))
        return Processed()

    carry_out(world, work)
    [lost] = seen
    done = unit(world, run)
    assert (lost.state, lost.failures) == (
        UnitState.REQUESTED if is_again else UnitState.CANCELED,
        1,
    )
    assert done == lost  # what the old attempt came to is refused
    if is_again:
        assert carry_out(world, no_work)
        assert outcome_of(unit(world, run)) == (RunMove.PROCESS, "")
    else:
        assert outcome_of(done) == (RunMove.FAIL, "its worker's heartbeat stopped")


def test_a_run_that_no_worker_took_waits_however_long(world):
    run = a_run()
    launch(world, run)
    world.schedule()
    world.clock.advance(30 * 24 * 3600)
    world.schedule()
    assert unit(world, run).state is UnitState.REQUESTED
    carry_out(world, no_work)
    assert outcome_of(unit(world, run)) == (RunMove.PROCESS, "")


def test_a_run_that_was_begun_and_is_not_done_in_time_has_failed():
    world = a_world(a_free_process(max_attempts=2))
    run = a_run()
    launch(world, run)
    world.schedule()
    taken = unit(world, run)
    held = world.store.units.claim([Hint(taken.id, taken.attempt)], "somebody", world.clock.now())
    again = UnitMove(
        run.id, UnitState.IN_PROGRESS, held[0].attempt, UnitState.REQUESTED, "", "a test",
        next_attempt=True,
    )  # fmt: skip
    assert world.store.units.move([again], world.clock.now()) == []
    world.clock.advance(48 * 3600 + 1)
    world.schedule()
    done = unit(world, run)
    assert done.state is UnitState.CANCELED
    assert outcome_of(done) == (RunMove.FAIL, "not done within 172800 s")
    carry_out(world, never)  # its message is still there
    assert unit(world, run) == done


def test_nothing_is_done_for_a_process_that_is_switched_off(world):
    run = a_run()
    world.process_commands.switch("Report", False, OPERATOR, NOW)
    world.store.units.create([unit_of(run, NOW)], "a test")
    world.schedule()
    world.advance(120)
    assert world.bus.depths() == {}
    world.process_commands.switch("Report", True, OPERATOR, NOW)
    world.advance(60)
    assert world.bus.depths() == {"Report": 1}


def test_the_collector_works_without_any_tree():
    world = a_world(a_free_process(), tree=False)
    run = a_run()
    world.store.units.create([unit_of(run, NOW)], "a test")
    world.schedule()
    carry_out(world, fail)
    world.schedule()
    assert outcome_of(unit(world, run)) == (
        RunMove.FAIL,
        "failed: ValueError: the disk is full",
    )


def test_agents_are_woken_by_the_end_of_a_run_whoever_ends_it(world):
    runs = [a_run("due:1"), a_run("due:2")]
    launch(world, *runs)
    world.schedule()
    listener = world.bus.listener("agent")
    try:
        carry_out(world, fail)
        assert listener.wait(0)
        world.schedule()  # the collector gives it up
        assert listener.wait(0)
        world.unit_commands.cancel(unit(world, runs[1]), OPERATOR, NOW)
        assert listener.wait(0)
        assert not listener.wait(0)
    finally:
        listener.close()


def test_a_worker_that_is_stopped_gives_its_run_back(world):
    """The run goes on where it is taken up next; that is no failure."""
    run = a_run(request={"arguments": {"days": 3}})
    launch(world, run)

    def work(task):
        world.stop.set()
        task.checkpoint()
        raise AssertionError("the checkpoint lets it go on")

    carry_out(world, work)
    given = unit(world, run)
    assert (given.state, given.attempt, given.failures) == (UnitState.REQUESTED, 2, 0)
    assert outcome_of(given) is None
    world.stop = Stop()
    seen = []

    def again(task):
        seen.append((task.run.id, task.arguments["days"], task.unit.attempt))
        return Processed()

    while carry_out(world, again, owner="another worker"):
        pass
    assert seen == [(run.id, 3, 2)]
    assert outcome_of(unit(world, run)) == (RunMove.PROCESS, "")


# Operators


def test_an_operator_cancels_a_run_and_the_work_notices(world):
    run = a_run()
    launch(world, run)
    told = []

    def work(task):
        world.unit_commands.cancel(unit(world, run), OPERATOR, NOW)
        world.clock.advance(61)
        crew = world.crew("Report")
        crew._hold.look()
        with pytest.raises(LostAttempt) as error:
            task.checkpoint()
        told.append(error)
        raise error.value

    world.round("Report", work)
    assert len(told) == 1
    assert outcome_of(unit(world, run)) == (RunMove.CANCEL, "because")


def test_a_unit_of_a_run_is_retried_by_its_schedule_only(world):
    run = a_run()
    launch(world, run)
    carry_out(world, fail)
    invalid = unit(world, run)
    with pytest.raises(Refused, match=rf"launch\.py schedule retry {run.id}"):
        world.unit_commands.retry(invalid, OPERATOR, NOW)
    assert unit(world, run) == invalid


def test_the_collector_can_be_asked_for_one_free_run_process(world):
    other = a_free_process("Other")
    world = a_world(a_free_process(), other)
    runs = [a_run("due:1"), a_run("due:2", process="Other")]
    world.schedule()
    world.store.units.create([unit_of(run, NOW) for run in runs], "a test")
    world.maintenance.request_collection("Report", True, OPERATOR, NOW)
    reads = Reads(world.store, world.bus, world.deployment, world.clock)
    plan = reads.collection_plan("Report")
    assert [(p.unit, p.verdict) for p in plan] == [(runs[0].id, "publish")]
    world.schedule()
    assert world.bus.depths() == {"Report": 1}
    with pytest.raises(NotFound, match="there are: Site, Report, Other"):
        world.maintenance.request_collection("Scheduler", True, OPERATOR, NOW)


def trigger(world, **fields):
    process = world.deployment.freerun()["Report"]
    commands = RunCommands(world.store, world.bus, world.deployment)
    return commands.trigger_process(process, Actor("me", "to see"), world.clock.now(), **fields)


def test_two_triggers_in_one_second_are_two_runs(world):
    runs = [trigger(world), trigger(world)]
    assert len({run.id for run in runs}) == 2
    assert [world.store.runs.get([run.id]) for run in runs] == [
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

    while carry_out(world, work):
        pass
    assert seen == [(run.id, {"site": "a", "days": 7}) for run in runs]
    assert unit(world, runs[0]).timeperiod == unit(world, runs[1]).timeperiod == SECOND


def test_a_trigger_counts_as_a_run_of_the_process_own_schedule(world):
    definition = {
        "name": "Report",
        "process": "Report",
        "arguments": {"days": 1},
        "group": "nightly",
    }
    schedule = Schedule(
        name="Report", definition=definition, version=3, created_at=NOW, changed_at=NOW
    )
    world.store.schedules.create([schedule], "a test")
    run = trigger(world)
    assert (run.schedule, run.version, run.group) == ("Report", 3, "nightly")
    assert run.request == {"process": "Report", "arguments": {"days": 1}}
    assert run.detail == RunDetail(cause={"remark": "by hand, me: to see"})


def test_a_trigger_that_no_message_follows_is_a_run_all_the_same(world, monkeypatch):
    """With a broker, messages leave after the batch, and asking again would be a second run."""

    def away():
        raise MessagingUnavailable("the broker is away")

    with monkeypatch.context() as patch:
        patch.setattr(
            world.bus, "publish",
            lambda queue, messages, batch, confirmed: batch.after_commit(away),
        )  # fmt: skip
        run = trigger(world)
    assert world.bus.depths() == {}
    world.schedule()
    assert carry_out(world, no_work)
    assert outcome_of(unit(world, run)) == (RunMove.PROCESS, "")


def test_a_trigger_that_the_bus_refuses_is_none(world, monkeypatch):
    def away(queue, messages, batch, confirmed):
        raise MessagingUnavailable("the broker is away")

    with monkeypatch.context() as patch:
        patch.setattr(world.bus, "publish", away)
        with pytest.raises(MessagingUnavailable):
            trigger(world)
    assert world.store.runs.unfinished() == []


def test_a_dry_run_of_a_trigger_makes_nothing(world):
    trigger(world, dry_run=True)
    assert world.store.units.unfinished() == []
    assert world.store.runs.unfinished() == []
    assert world.bus.depths() == {}


def test_a_process_that_is_switched_off_cannot_be_triggered(world):
    world.process_commands.switch("Report", False, OPERATOR, NOW)
    with pytest.raises(Refused, match=r"launch\.py process on Report"):
        trigger(world)
    assert world.store.runs.unfinished() == []


# The timetable beside them


def test_the_timetable_is_not_disturbed_by_runs(world):
    states = []
    for number in range(3):
        world.write("raw", "2015052010", 1 + number)
        launch(world, *(a_run(f"due:{number}:{n}") for n in range(2)))
        carry_out(world, fail if number == 1 else no_work)
        world.settle()
        world.advance(61)
        world.settle()
        states.append(world.state("Site", "2015052010"))
    while carry_out(world, no_work):
        pass
    world.advance(61)
    world.settle()
    assert states == [JobState.PROCESSED] * 3
    assert world.rows("site")["2015052010"] == 3
    assert world.audit().unexplained == ()
    reads = Reads(world.store, world.bus, world.deployment, world.clock)
    assert [tree.name for tree in reads.trees()] == ["site"]
    with pytest.raises(NotFound, match="no such managed process: Report; there are: Site"):
        reads.why("Report", SECOND)
    restarted = world.a_scheduler("scheduler-2")  # reads the journal's rows from the beginning
    world.scheduler._resign()
    restarted.run_once()
    assert restarted.leads == {"site"}
    assert world.audit().unexplained == ()


def test_runs_left_by_a_process_that_is_managed_now_are_no_jobs_of_it():
    world = a_world(a_free_process("Site"), tree=False)
    run = a_run(process="Site")
    launch(world, run)
    now_managed = a_world()
    now_managed.store.units.create([unit_of(run, NOW)], "a test")
    now_managed.write("raw", "2015052010", 1)
    now_managed.settle()
    assert now_managed.state("Site", "2015052010") is JobState.PROCESSED
    assert now_managed.audit().unexplained == ()


def test_how_processes_are_shown(world):
    reads = Reads(world.store, world.bus, world.deployment, world.clock)
    launch(world, a_run())
    seen = reads.process("Report")
    assert (seen.kind, seen.qualifier, seen.tree, seen.trigger, seen.next_due) == (
        "freerun", None, None, None, None,
    )  # fmt: skip
    assert (seen.waiting, seen.units) == (1, {"requested": 1})
    assert [view.kind for view in reads.processes()] == ["managed", "freerun"]


def test_a_process_shows_the_trigger_of_its_own_schedule():
    world = a_world(a_free_process(trigger_frequency="every 60"))
    reads = Reads(world.store, world.bus, world.deployment, world.clock)
    assert (reads.process("Report").trigger, reads.process("Report").next_due) == ("every 60", None)
    due = NOW + timedelta(seconds=30)
    definition = {"process": "Report", "trigger": "every 30"}
    schedule = Schedule(
        name="Report", definition=definition, created_at=NOW, changed_at=NOW, is_enabled=True,
        wake_at=due,
    )  # fmt: skip
    world.store.schedules.create([schedule], "a test")
    assert (reads.process("Report").trigger, reads.process("Report").next_due) == ("every 30", due)
    world.process_commands.switch("Report", False, OPERATOR, NOW)
    assert (reads.process("Report").is_on, reads.process("Report").next_due) == (False, None)


def test_a_schedule_of_the_name_that_does_something_else_is_not_its_own(world):
    definition = {"name": "Report", "target": "https://example.com", "trigger": "every 30"}
    schedule = Schedule(name="Report", definition=definition, created_at=NOW, changed_at=NOW)
    world.store.schedules.create([schedule], "a test")
    assert trigger(world).schedule == ""
    reads = Reads(world.store, world.bus, world.deployment, world.clock)
    assert reads.process("Report").trigger is None


# The run's end


def ended(world, run):
    """The run, once an agent has seen how its unit ended."""
    agent = AgentContext(world.store, world.bus, world.clock, world.deployment, Meter(), "an agent")
    assert UnitEnds(agent).of_units([run.id], world.clock.now()) == []
    return world.store.runs.get([run.id])[0]


@pytest.mark.parametrize("failures", [1, 2])
def test_a_run_that_failed_was_attempted_as_often_as_it_was_handed_out(failures):
    world = a_world(a_free_process(max_attempts=failures, retry_backoff=0.0))
    run = a_run()
    launch(world, run)
    for _ in range(failures):
        world.schedule()
        assert carry_out(world, fail)
    world.schedule()
    done = ended(world, run)
    assert (done.state, done.attempt) == (RunState.FAILED, failures)


def test_the_attempt_of_a_run_that_succeeds_after_a_failure():
    world = a_world(a_free_process(max_attempts=2, retry_backoff=0.0))
    run = a_run()
    launch(world, run)
    for work in (fail, no_work):
        world.schedule()
        assert carry_out(world, work)
    done = ended(world, run)
    assert (done.state, done.attempt) == (RunState.PROCESSED, 2)


def test_the_attempt_of_a_run_whose_unit_an_operator_canceled(world):
    run = a_run()
    (requested,) = launch(world, run)
    world.unit_commands.cancel(requested, OPERATOR, world.clock.now())
    done = ended(world, run)
    assert (done.state, done.attempt) == (RunState.CANCELED, 1)
