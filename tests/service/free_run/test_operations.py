"""Operators act on runs of free-run processes; the timetable is not affected."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from synergy.commands.run_units import unit_of
from synergy.commands.runs import RunCommands
from synergy.errors import (
    LostAttempt,
    MessagingUnavailable,
    NotFound,
    Refused,
)
from synergy.lifecycle.legal_moves import RunMove
from synergy.lifecycle.state_changes import outcome_of
from synergy.model.actor import Actor
from synergy.model.job import JobState
from synergy.model.run_detail import RunDetail
from synergy.model.schedule import RunState, Schedule
from synergy.queries.reads import Reads
from synergy.worker.outcome import Processed
from tests.service.free_runs import (
    NOW,
    SECOND,
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


def test_work_of_a_canceled_run_ends_at_its_checkpoint(system):
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


def test_a_unit_of_a_run_is_retried_only_by_schedule_retry(system):
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


def test_a_trigger_makes_a_run_even_if_its_message_is_lost(system, monkeypatch):
    """Messages leave after the commit; an error would invite a second trigger, so a second run."""

    def away():
        raise MessagingUnavailable("the broker is away")

    with monkeypatch.context() as patch:
        patch.setattr(
            system.bus,
            "publish",
            lambda queue, messages, batch, confirmed: batch.after_commit(away),
        )
        run = trigger(system)
    assert system.bus.depths() == {}
    system.schedule()
    assert carry_out(system, no_work)
    assert outcome_of(unit(system, run)) == (RunMove.PROCESS, "")


def test_a_trigger_that_the_bus_refuses_makes_no_run(system, monkeypatch):
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


def test_runs_left_by_a_process_that_is_now_managed_are_not_its_jobs():
    system = a_system(a_free_process("Site"), tree=False)
    run = a_run(process="Site")
    launch(system, run)
    now_managed = a_system()
    now_managed.store.units.create([unit_of(run, NOW)], "a test")
    now_managed.write("raw", "2015052010", 1)
    now_managed.settle()
    assert now_managed.state("Site", "2015052010") is JobState.PROCESSED
    assert now_managed.audit().unexplained == ()


def test_free_run_processes_are_listed_with_their_units(system):
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


def test_a_webhook_schedule_named_like_a_process_is_not_its_own_schedule(system):
    definition = {"name": "Report", "target": "https://example.com", "trigger": "every 30"}
    schedule = Schedule(name="Report", definition=definition, created_at=NOW, changed_at=NOW)
    system.store.schedules.create([schedule], "a test")
    assert trigger(system).schedule == ""
    reads = Reads(system.store, system.bus, system.deployment, system.clock)
    assert reads.process("Report").trigger is None
