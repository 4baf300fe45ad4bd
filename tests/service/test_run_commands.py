"""Runs of schedules are triggered by hand, and launched again after a failure."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta

import pytest

from synergy.delivery.request import UNREACHED, failed, sent
from synergy.errors import MessagingUnavailable, NotFound, Refused
from synergy.model.schedule import RunState
from synergy.model.unit_of_work import UnitState
from synergy.queries.schedules.run_successors import failed_runs
from synergy.storage.sqlite.runs import SqliteRuns
from tests.service.agent_harness import NOW, AgentHarness
from tests.service.schedule_kit import ALICE, HOOK, WAITING_REPORT, a_run, everything, run_of


@pytest.fixture
def agents(agents):
    """Agents with the schedules `hook` and `report`."""
    agents.actions.create_all([HOOK, WAITING_REPORT], ALICE, NOW)
    return agents


@pytest.mark.parametrize("is_enabled", [True, False])
def test_a_triggered_delivery_is_sent_at_once_despite_constraints(agents, is_enabled):
    if is_enabled:
        agents.actions.enable("hook", ALICE, NOW)
    a_run(agents, RunState.LAUNCHED, key="due:other", not_before=NOW + timedelta(hours=1))
    member = agents.member()
    id_ = agents.actions.trigger("hook", ALICE, NOW)
    member.rest()
    run = run_of(agents, id_)
    assert (run.state, run.schedule, run.due_at) == (RunState.PROCESSED, "hook", NOW)
    assert run.key.startswith("trigger:")
    (request,) = member.sender.requests
    assert request.key == id_
    assert request.headers == {"X-A": "b"}
    assert request.body.decode() == (
        f'{{"at": "2026-03-10T12:00:00.000Z", "of": "hook", "is": "{id_}", "${{x}}": 1}}'
    )
    assert "alice@services: for the audit" in run.detail.cause["remark"]


def test_two_triggers_in_one_second_are_two_runs(agents):
    ids = {
        agents.actions.trigger(name, ALICE, NOW) for name in ("hook", "hook", "report", "report")
    }
    assert len(ids) == 4
    assert agents.states() == {RunState.LAUNCHED: 4}


def test_a_worker_gets_its_unit_with_the_run(agents):
    id_ = agents.actions.trigger("report", ALICE, NOW)
    (unit,) = agents.store.units.get([id_])
    assert (unit.process, unit.timeperiod, unit.state) == (
        "Report", "20260310120000", UnitState.REQUESTED,
    )  # fmt: skip
    assert run_of(agents, id_).request == {"process": "Report", "arguments": {"n": 1}}
    assert agents.bus.depths(["Report"]) == {"Report": 1}


def test_a_trigger_wakes_the_agents(agents):
    with closing(agents.bus.listener("agent")) as listener:
        agents.actions.trigger("hook", ALICE, NOW)
        assert listener.wait(60)


def test_a_long_payload_is_filled_in_when_it_is_sent(agents):
    agents.actions.create(
        {**HOOK, "name": "long", "payload": "${scheduleName} " + "x" * 70_000}, ALICE, NOW
    )
    member = agents.member()
    id_ = agents.actions.trigger("long", ALICE, NOW)
    assert len(str(run_of(agents, id_).request)) < 4000
    member.rest()
    (request,) = member.sender.requests
    assert request.body == b"long " + b"x" * 70_000


def test_a_schedule_without_a_usable_process_cannot_be_triggered(agents):
    agents.store.controls.set_on("Report", False, "bob", "", NOW)
    before = everything(agents)
    with pytest.raises(Refused, match="Report is switched off"):
        agents.actions.trigger("report", ALICE, NOW)
    agents.actions.trigger("hook", ALICE, NOW, dry_run=True)
    assert everything(agents) == before
    bare = AgentHarness(store=agents.store)
    with pytest.raises(Refused, match="report cannot be run: process: unknown process Report"):
        bare.actions.trigger("report", ALICE, NOW)
    assert everything(agents) == before


def test_a_delivery_that_failed_is_sent_again_with_its_key_and_a_fresh_budget(agents):
    answers = [failed("no"), failed("no")]
    member = agents.member(receiver=lambda _: answers.pop() if answers else sent(200))
    id_ = agents.actions.trigger("hook", ALICE, NOW)
    member.rest()
    agents.clock.advance(30)  # beyond the budget of 10 s
    member.rest()
    run = run_of(agents, id_)
    assert (run.state, run.attempt, run.reason) == (RunState.FAILED, 2, UNREACHED)
    again = agents.actions.retry(id_, ALICE, agents.clock.now())
    assert (again.id, again.state) == (id_, RunState.LAUNCHED)
    assert again.detail.first_attempt_at is None
    assert len(again.detail.answers) == 2
    member.rest()
    run = run_of(agents, id_)
    assert (run.state, run.attempt, run.reason) == (RunState.PROCESSED, 3, "")
    assert [request.key for request in member.sender.requests] == [id_] * 3
    assert {request.scheduled_at for request in member.sender.requests} == {NOW}


def test_a_failed_run_of_a_worker_is_retried_once_by_another_run(agents):
    run = a_run(agents, RunState.FAILED, "report", reason="broke", attempt=1)
    again = agents.actions.retry(run.id, ALICE, NOW + timedelta(hours=1))
    assert again.id != run.id
    assert (again.schedule, again.due_at, again.attempt) == ("report", NOW, 0)
    assert again.detail.retry_of == run.id
    assert run_of(agents, run.id) == run
    (unit,) = agents.store.units.get([again.id])
    assert unit.timeperiod == "20260310120000"
    before = everything(agents)
    with pytest.raises(Refused, match=f"launched again already, as {again.id}"):
        agents.actions.retry(run.id, ALICE, NOW)
    assert everything(agents) == before


@pytest.mark.parametrize("state", [s for s in RunState if s is not RunState.FAILED])
def test_only_failed_runs_are_launched_again(agents, state):
    run = a_run(agents, state)
    before = everything(agents)
    with pytest.raises(Refused, match=f"is {state.value}: only what has failed"):
        agents.actions.retry(run.id, ALICE, NOW)
    assert everything(agents) == before


def test_unknown_runs_and_runs_of_a_switched_off_process_are_not_launched_again(agents):
    run = a_run(agents, RunState.FAILED, "report")
    agents.store.controls.set_on("Report", False, "bob", "", NOW)
    before = everything(agents)
    with pytest.raises(Refused, match="Report is switched off"):
        agents.actions.retry(run.id, ALICE, NOW)
    for action in (agents.actions.retry, agents.actions.cancel):
        with pytest.raises(NotFound, match="no such run: none"):
            action("none", ALICE, NOW)
    assert agents.actions.replay(None, ALICE, NOW) == []
    assert everything(agents) == before


def test_a_run_launched_by_another_first_is_refused(agents, monkeypatch):
    run = a_run(agents, RunState.FAILED)
    before = everything(agents)
    monkeypatch.setattr(SqliteRuns, "change", lambda self, changes: list(changes))
    with pytest.raises(Refused, match="changed meanwhile"):
        agents.actions.retry(run.id, ALICE, NOW)
    assert agents.actions.replay(None, ALICE, NOW) == []
    monkeypatch.undo()
    assert everything(agents) == before


def test_failed_runs_of_one_or_of_all_schedules_are_launched_again(agents, monkeypatch):
    monkeypatch.setattr("synergy.queries.schedules.run_successors.PAGE", 3)
    hooks = [a_run(agents, RunState.FAILED, key=f"due:{n}") for n in range(7)]
    reports = [a_run(agents, RunState.FAILED, "report", key=f"due:{n}") for n in range(4)]
    a_run(agents, RunState.PROCESSED)
    agents.actions.retry(reports[0].id, ALICE, NOW)
    before = everything(agents)
    assert len(agents.actions.replay(None, ALICE, NOW, dry_run=True)) == 10
    assert everything(agents) == before
    again = agents.actions.replay("hook", ALICE, NOW)
    assert {run.id for run in again} == {run.id for run in hooks}
    assert agents.states("hook") == {RunState.LAUNCHED: 7, RunState.PROCESSED: 1}
    again = agents.actions.replay(None, ALICE, NOW)
    assert {run.detail.retry_of for run in again} == {run.id for run in reports[1:]}
    assert agents.states("report") == {RunState.FAILED: 4, RunState.LAUNCHED: 4}
    assert agents.actions.replay(None, ALICE, NOW) == []
    assert failed_runs(agents.store) == []
    with pytest.raises(NotFound):
        agents.actions.replay("none", ALICE, NOW)


def test_failed_runs_that_await_a_decision_are_listed_newest_first(agents):
    hook = a_run(agents, RunState.FAILED)
    old = a_run(agents, RunState.FAILED, "report", key="due:1")
    new = a_run(agents, RunState.FAILED, "report", key="due:2")
    agents.actions.retry(old.id, ALICE, NOW)
    assert [run.id for run in failed_runs(agents.store)] == [new.id, hook.id]
    assert [run.id for run in failed_runs(agents.store, limit=1)] == [new.id]
    assert [run.id for run in failed_runs(agents.store, "hook")] == [hook.id]


@pytest.fixture
def away(agents, monkeypatch):
    def fail():
        raise MessagingUnavailable("the broker is away")

    monkeypatch.setattr(
        agents.bus, "publish", lambda queue, messages, batch, *_: batch.after_commit(fail)
    )


@pytest.mark.usefixtures("away")
def test_a_trigger_without_a_broker_makes_one_run(agents):
    id_ = agents.actions.trigger("report", ALICE, NOW)
    assert [(run.id, run.state) for run in agents.runs()] == [(id_, RunState.LAUNCHED)]


@pytest.mark.usefixtures("away")
def test_a_run_is_launched_again_without_a_broker(agents):
    failed_ = [a_run(agents, RunState.FAILED, "report", key=f"due:{n}") for n in range(2)]
    again = agents.actions.retry(failed_[0].id, ALICE, NOW)
    assert run_of(agents, again.id).state is RunState.LAUNCHED
    launched = agents.actions.replay(None, ALICE, NOW)
    assert [run_of(agents, run.id).detail.retry_of for run in launched] == [failed_[1].id]


def test_a_run_that_the_broker_refuses_before_the_commit_is_not_launched(agents, monkeypatch):
    def refuse(*_):
        raise MessagingUnavailable("the broker is away")

    run = a_run(agents, RunState.FAILED, "report")
    monkeypatch.setattr(agents.bus, "publish", refuse)
    with pytest.raises(MessagingUnavailable):
        agents.actions.retry(run.id, ALICE, NOW)
    with pytest.raises(MessagingUnavailable):
        agents.actions.trigger("report", ALICE, NOW)
    assert [one.id for one in agents.runs()] == [run.id]
