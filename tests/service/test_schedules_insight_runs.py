"""Asking for something of runs: by hand, again, canceled; with agents and workers that do it."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta

import pytest

from synergy.commands.run_units import launch_worker
from synergy.delivery.request import failed, sent
from synergy.errors import MessagingUnavailable, NotFound, Refused
from synergy.model.actor import Actor
from synergy.model.process import Deployment
from synergy.model.schedule import Run, RunChange, RunState, run_id
from synergy.model.unit_of_work import Hint, UnitMove, UnitState
from synergy.queries.schedules.retries import failed_runs
from synergy.storage.sqlite.runs import SqliteRuns
from tests.service.agent_harness import NOW, TARGET, AgentHarness
from tests.service.free_runs import a_free_process

ALICE = Actor("alice@services", "for the audit")
HOOK = {
    "name": "hook", "target": TARGET, "trigger": "cron 0 3 * * *",
    "payload": '{"at": "${scheduledTime}", "of": "${scheduleName}", "is": "${runId}", "${x}": 1}',
    "headers": {"X-A": "b"}, "budget": "10s", "constraints": [{"concurrency": 1}],
}  # fmt: skip
REPORT = {
    "name": "report", "process": "Report", "arguments": {"n": 1}, "trigger": "every 3600",
    "constraints": [{"concurrency": 1}],
}  # fmt: skip


@pytest.fixture
def agents():
    made = AgentHarness(Deployment({"Report": a_free_process()}, {}))
    made.actions.create_all([HOOK, REPORT], ALICE, NOW)
    return made


def everything(agents: AgentHarness) -> tuple[object, ...]:
    """All that a refusal must leave as it was."""
    return agents.runs(), dict(agents.store.status().rows), agents.store.journal.last_seq()


def run_of(agents: AgentHarness, id_: str) -> Run:
    (run,) = agents.store.runs.get([id_])
    return run


def a_run(agents: AgentHarness, state: RunState, schedule: str = "hook", **fields: object) -> Run:
    """A run in a state, as an agent has left it."""
    key = str(fields.pop("key", f"due:{state.value}"))
    request = {"target": TARGET, "body": "x"} if schedule == "hook" else {"process": "Report"}
    given = {
        "id": run_id(schedule, key), "schedule": schedule, "key": key, "due_at": NOW,
        "version": 1, "state": state, "created_at": NOW, "request": request,
        "program": "https://receiver.example:443" if schedule == "hook" else "Report",
        "finished_at": NOW if state.is_finished else None, **fields,
    }  # fmt: skip
    (run,) = agents.store.runs.create([Run(**given)], "an agent")
    return run


def with_unit(agents: AgentHarness, run: Run) -> Run:
    """The same with its unit of work."""
    process = agents.deployment.freerun()["Report"]
    with agents.store.batch() as batch:
        launch_worker(agents.store, agents.bus, [run], process, NOW, "an agent", batch)
    return run


# By hand


@pytest.mark.parametrize("is_enabled", [True, False])
def test_triggered_it_is_sent_at_once_whatever_holds_it_back(agents, is_enabled):
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


def test_what_cannot_be_triggered(agents):
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


# Again


def test_a_delivery_that_failed_is_sent_again_with_its_key_and_a_fresh_budget(agents):
    answers = [failed("no"), failed("no")]
    member = agents.member(receiver=lambda _: answers.pop() if answers else sent(200))
    id_ = agents.actions.trigger("hook", ALICE, NOW)
    member.rest()
    agents.clock.advance(30)  # beyond the budget of 10 s
    member.rest()
    run = run_of(agents, id_)
    assert (run.state, run.attempt, run.reason) == (RunState.FAILED, 2, "no")
    again = agents.actions.retry(id_, ALICE, agents.clock.now())
    assert (again.id, again.state) == (id_, RunState.LAUNCHED)
    assert again.detail.first_attempt_at is None
    assert len(again.detail.answers) == 2
    member.rest()
    run = run_of(agents, id_)
    assert (run.state, run.attempt, run.reason) == (RunState.PROCESSED, 3, "")
    assert [request.key for request in member.sender.requests] == [id_] * 3
    assert {request.scheduled_at for request in member.sender.requests} == {NOW}


def test_a_worker_s_run_that_failed_is_taken_up_once_by_another_run(agents):
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
def test_only_what_failed_is_launched_again(agents, state):
    run = a_run(agents, state)
    before = everything(agents)
    with pytest.raises(Refused, match=f"is {state.value}: only what has failed"):
        agents.actions.retry(run.id, ALICE, NOW)
    assert everything(agents) == before


def test_what_cannot_be_launched_again(agents):
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


def test_a_run_that_somebody_else_launches_first_is_refused(agents, monkeypatch):
    run = a_run(agents, RunState.FAILED)
    before = everything(agents)
    monkeypatch.setattr(SqliteRuns, "change", lambda self, changes: list(changes))
    with pytest.raises(Refused, match="changed meanwhile"):
        agents.actions.retry(run.id, ALICE, NOW)
    assert agents.actions.replay(None, ALICE, NOW) == []
    monkeypatch.undo()
    assert everything(agents) == before


def test_all_that_failed_is_launched_again_of_one_schedule_or_of_all(agents, monkeypatch):
    monkeypatch.setattr("synergy.queries.schedules.retries.PAGE", 3)
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


def test_what_failed_and_was_not_taken_up_is_listed_newest_first(agents):
    hook = a_run(agents, RunState.FAILED)
    old = a_run(agents, RunState.FAILED, "report", key="due:1")
    new = a_run(agents, RunState.FAILED, "report", key="due:2")
    agents.actions.retry(old.id, ALICE, NOW)
    assert [run.id for run in failed_runs(agents.store)] == [new.id, hook.id]
    assert [run.id for run in failed_runs(agents.store, limit=1)] == [new.id]
    assert [run.id for run in failed_runs(agents.store, "hook")] == [hook.id]


# Canceled


@pytest.mark.parametrize(
    "state", [RunState.PENDING_CONSTRAINT, RunState.PENDING_LAUNCH, RunState.LAUNCHED]
)
def test_what_has_not_begun_is_canceled(agents, state):
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


def test_with_a_worker_s_run_its_unit_is_canceled(agents):
    run = with_unit(agents, a_run(agents, RunState.LAUNCHED, "report"))
    agents.actions.cancel(run.id, ALICE, NOW)
    assert run_of(agents, run.id).state is RunState.CANCELED
    (unit,) = agents.store.units.get([run.id])
    assert (unit.state, unit.reason) == (UnitState.CANCELED, "for the audit")
    agents.member().rest()
    assert run_of(agents, run.id).state is RunState.CANCELED


def test_what_is_under_way_or_over_is_not_canceled(agents):
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


def test_a_worker_that_begins_at_that_moment_wins(agents, monkeypatch):
    run = with_unit(agents, a_run(agents, RunState.LAUNCHED, "report"))
    before = agents.runs()
    move = type(agents.store.units).move

    def begun_first(self, moves, now):
        monkeypatch.undo()
        assert self.claim([Hint(run.id, 1)], "a worker", now)
        return move(self, moves, now)

    monkeypatch.setattr(type(agents.store.units), "move", begun_first)
    # What the worker did in our batch went with it; the second time round nobody interferes.
    agents.actions.cancel(run.id, ALICE, NOW)
    assert before != agents.runs()
    (unit,) = agents.store.units.get([run.id])
    assert unit.state is UnitState.CANCELED


def test_a_run_whose_unit_was_canceled_by_itself_can_be_canceled_too(agents):
    run = with_unit(agents, a_run(agents, RunState.LAUNCHED, "report"))
    (unit,) = agents.store.units.get([run.id])
    canceled = UnitMove(
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


# The broker is away: messages leave after the commit


@pytest.fixture
def away(agents, monkeypatch):
    def fail():
        raise MessagingUnavailable("the broker is away")

    monkeypatch.setattr(
        agents.bus, "publish", lambda queue, messages, batch, *_: batch.after_commit(fail)
    )


@pytest.mark.usefixtures("away")
def test_what_is_triggered_without_a_broker_is_one_run(agents):
    id_ = agents.actions.trigger("report", ALICE, NOW)
    assert [(run.id, run.state) for run in agents.runs()] == [(id_, RunState.LAUNCHED)]


@pytest.mark.usefixtures("away")
def test_what_is_launched_again_without_a_broker_is_launched(agents):
    failed_ = [a_run(agents, RunState.FAILED, "report", key=f"due:{n}") for n in range(2)]
    again = agents.actions.retry(failed_[0].id, ALICE, NOW)
    assert run_of(agents, again.id).state is RunState.LAUNCHED
    launched = agents.actions.replay(None, ALICE, NOW)
    assert [run_of(agents, run.id).detail.retry_of for run in launched] == [failed_[1].id]


def test_what_the_broker_refuses_before_the_commit_is_not_launched(agents, monkeypatch):
    def refuse(*_):
        raise MessagingUnavailable("the broker is away")

    run = a_run(agents, RunState.FAILED, "report")
    monkeypatch.setattr(agents.bus, "publish", refuse)
    with pytest.raises(MessagingUnavailable):
        agents.actions.retry(run.id, ALICE, NOW)
    with pytest.raises(MessagingUnavailable):
        agents.actions.trigger("report", ALICE, NOW)
    assert [one.id for one in agents.runs()] == [run.id]
