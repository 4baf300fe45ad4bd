"""Runs of schedules are canceled before they begin."""

from __future__ import annotations

from datetime import timedelta

import pytest

from synergy.commands.run_units import launch_worker
from synergy.errors import Refused
from synergy.model.schedule import Run, RunChange, RunState
from synergy.model.unit_of_work import Hint, UnitChange, UnitState
from synergy.storage.sqlite.runs import SqliteRuns
from tests.service.agent_harness import NOW, AgentHarness
from tests.service.schedule_kit import ALICE, HOOK, WAITING_REPORT, a_run, everything, run_of


@pytest.fixture
def agents(agents):
    """Agents with the schedules `hook` and `report`."""
    agents.actions.create_all([HOOK, WAITING_REPORT], ALICE, NOW)
    return agents


def with_unit(agents: AgentHarness, run: Run) -> Run:
    """Adds the unit of work of the run."""
    process = agents.deployment.freerun()["Report"]
    with agents.store.batch() as batch:
        launch_worker(agents.store, agents.bus, [run], process, NOW, "an agent", batch)
    return run


@pytest.mark.parametrize(
    "state", [RunState.PENDING_CONSTRAINT, RunState.PENDING_LAUNCH, RunState.LAUNCHED]
)
def test_pending_runs_are_canceled(agents, state):
    run = a_run(agents, state, not_before=NOW + timedelta(hours=1))
    agents.actions.cancel(run.id, ALICE, NOW, dry_run=True)
    assert run_of(agents, run.id) == run
    agents.actions.cancel(run.id, ALICE, NOW)
    after = run_of(agents, run.id)
    assert (after.state, after.reason, after.finished_at) == (
        RunState.CANCELED, "for the audit", NOW,
    )  # fmt: skip
    member = agents.member()
    agents.clock.advance(7200)
    member.rest()
    assert member.sender.requests == []
    assert run_of(agents, run.id) == after


def test_canceling_a_run_of_a_worker_cancels_its_unit(agents):
    run = with_unit(agents, a_run(agents, RunState.LAUNCHED, "report"))
    agents.actions.cancel(run.id, ALICE, NOW)
    assert run_of(agents, run.id).state is RunState.CANCELED
    (unit,) = agents.store.units.get([run.id])
    assert (unit.state, unit.reason) == (UnitState.CANCELED, "for the audit")
    agents.member().rest()
    assert run_of(agents, run.id).state is RunState.CANCELED


def test_launched_and_finished_runs_are_not_canceled(agents):
    being_sent = a_run(agents, RunState.LAUNCHED, owner="an agent")
    worked_on = with_unit(agents, a_run(agents, RunState.LAUNCHED, "report"))
    (unit,) = agents.store.units.get([worked_on.id])
    assert agents.store.units.claim([Hint(unit.id, unit.attempt)], "a worker", NOW)
    ended = [a_run(agents, state, key=f"due:{state}") for state in RunState if state.is_finished]
    before = everything(agents)
    for run, reason in (
        (being_sent, "just being sent"),
        (worked_on, f"launch.py unit cancel {worked_on.id}"),
        *((run, f"is {run.state.value}: it has ended") for run in ended),
    ):
        with pytest.raises(Refused, match=reason):
            agents.actions.cancel(run.id, ALICE, NOW)
    assert everything(agents) == before


def test_a_cancellation_is_tried_again_if_a_worker_claims_the_unit_at_that_moment(
    agents, monkeypatch
):
    run = with_unit(agents, a_run(agents, RunState.LAUNCHED, "report"))
    before = agents.runs()
    move = type(agents.store.units).move

    def begun_first(self, moves, now):
        monkeypatch.undo()
        assert self.claim([Hint(run.id, 1)], "a worker", now)
        return move(self, moves, now)

    monkeypatch.setattr(type(agents.store.units), "move", begun_first)
    # The claim was made within the batch that is rolled back; the second try is not disturbed.
    agents.actions.cancel(run.id, ALICE, NOW)
    assert before != agents.runs()
    (unit,) = agents.store.units.get([run.id])
    assert unit.state is UnitState.CANCELED


def test_a_run_whose_unit_was_canceled_by_itself_can_be_canceled_too(agents):
    run = with_unit(agents, a_run(agents, RunState.LAUNCHED, "report"))
    (unit,) = agents.store.units.get([run.id])
    canceled = UnitChange(
        unit.id, unit.state, unit.attempt, UnitState.CANCELED, "", "bob", next_attempt=True
    )
    assert agents.store.units.move([canceled], NOW) == []
    agents.actions.cancel(run.id, ALICE, NOW)
    assert run_of(agents, run.id).state is RunState.CANCELED


def test_a_run_that_keeps_changing_is_not_canceled(agents, monkeypatch):
    run = a_run(agents, RunState.PENDING_CONSTRAINT)
    before = everything(agents)

    def refused(self, changes: list[RunChange]) -> list[RunChange]:
        return list(changes)

    monkeypatch.setattr(SqliteRuns, "change", refused)
    with pytest.raises(Refused, match="keeps changing"):
        agents.actions.cancel(run.id, ALICE, NOW)
    monkeypatch.undo()
    assert everything(agents) == before
