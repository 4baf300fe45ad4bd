"""Runs that an agent launches and workers carry out."""

from __future__ import annotations

import pytest

from synergy.commands.runs import RunCommands
from synergy.model.schedule import RunState
from synergy.model.unit_of_work import UnitState
from tests.service.agent_harness import NOW, OPERATOR, work


def test_a_run_ends_when_a_worker_has_processed_its_unit(factory):
    factory.add("export", cron="0 * * * *", process="Export", arguments={"to": "x"})
    member = factory.member()
    factory.advance(member, 3600)
    (run,) = factory.runs()
    assert (run.state, run.request) == (
        RunState.LAUNCHED,
        {"process": "Export", "arguments": {"to": "x"}},
    )
    assert work(factory, "Export") == 1
    member.rest()
    assert factory.states() == {RunState.PROCESSED: 1}


@pytest.mark.parametrize(
    ("end", "state"),
    [(UnitState.NOOP, RunState.NOOP), (UnitState.PROCESSED, RunState.PROCESSED)],
)
def test_a_process_triggered_by_hand_ends_as_its_unit(factory, end, state):
    member = factory.member()
    member.rest()
    now = factory.clock.now()
    process = factory.deployment.freerun()["Export"]
    commands = RunCommands(factory.store, factory.bus, factory.deployment)
    commands.trigger_process(process, OPERATOR, now)
    member.rest()
    assert work(factory, "Export", end) == 1
    member.rest()
    assert factory.states() == {state: 1}


def test_a_due_time_during_a_run_is_recorded_as_skipped(factory):
    factory.add("export", cron="0 * * * *", process="Export")
    member = factory.member()
    factory.advance(member, 7200)
    assert [run.state for run in factory.runs()] == [RunState.LAUNCHED, RunState.SKIPPED]
    assert factory.runs()[1].reason == "a run is under way"
    work(factory, "Export")
    factory.advance(member, 3600)
    assert factory.states() == {RunState.PROCESSED: 1, RunState.SKIPPED: 1, RunState.LAUNCHED: 1}


def test_a_process_that_is_switched_off_is_not_run(factory):
    factory.add("export", cron="0 * * * *", process="Export")
    member = factory.member()
    factory.store.controls.set_on("Export", False, "me", "", NOW)
    factory.advance(member, 3600)
    (run,) = factory.runs()
    assert (run.state, run.reason) == (RunState.ABORTED, "Export is switched off")
    factory.store.controls.set_on("Export", True, "me", "", NOW)
    factory.advance(member, 3600)
    assert factory.states() == {RunState.ABORTED: 1, RunState.LAUNCHED: 1}


def test_a_launched_run_whose_unit_was_not_created_gets_one(factory):
    """A store without transactions may fail after it wrote the run and before it adds the unit."""
    factory.add("export", cron="0 * * * *", process="Export")
    create, factory.store.units.create = factory.store.units.create, lambda units, who: []
    member = factory.member()
    factory.advance(member, 3600)
    factory.store.units.create = create
    assert not factory.store.units.unfinished()
    factory.advance(member, 61)
    assert work(factory, "Export") == 1
