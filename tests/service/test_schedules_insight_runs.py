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
def yard():
    made = AgentHarness(Deployment({"Report": a_free_process()}, {}))
    made.actions.create_all([HOOK, REPORT], ALICE, NOW)
    yield made
    made.close()


def everything(yard: AgentHarness) -> tuple[object, ...]:
    """All that a refusal must leave as it was."""
    return yard.runs(), dict(yard.store.status().rows), yard.store.journal.last_seq()


def run_of(yard: AgentHarness, id_: str) -> Run:
    (run,) = yard.store.runs.get([id_])
    return run


def a_run(yard: AgentHarness, state: RunState, schedule: str = "hook", **fields: object) -> Run:
    """A run in a state, as an agent has left it."""
    key = str(fields.pop("key", f"due:{state.value}"))
    request = {"target": TARGET, "body": "x"} if schedule == "hook" else {"process": "Report"}
    given = {
        "id": run_id(schedule, key), "schedule": schedule, "key": key, "due_at": NOW,
        "version": 1, "state": state, "created_at": NOW, "request": request,
        "program": "https://receiver.example:443" if schedule == "hook" else "Report",
        "finished_at": NOW if state.is_finished else None, **fields,
    }  # fmt: skip
    (run,) = yard.store.runs.create([Run(**given)], "an agent")
    return run


def with_unit(yard: AgentHarness, run: Run) -> Run:
    """The same with its unit of work."""
    process = yard.deployment.freerun()["Report"]
    with yard.store.batch() as batch:
        launch_worker(yard.store, yard.bus, [run], process, NOW, "an agent", batch)
    return run


# By hand


@pytest.mark.parametrize("is_enabled", [True, False])
def test_triggered_it_is_sent_at_once_whatever_holds_it_back(yard, is_enabled):
    if is_enabled:
        yard.actions.enable("hook", ALICE, NOW)
    a_run(yard, RunState.LAUNCHED, key="due:other", not_before=NOW + timedelta(hours=1))
    member = yard.member()
    id_ = yard.actions.trigger("hook", ALICE, NOW)
    member.rest()
    run = run_of(yard, id_)
    assert (run.state, run.schedule, run.due_at) == (RunState.PROCESSED, "hook", NOW)
    assert run.key.startswith("trigger:")
    (request,) = member.sender.requests
    assert request.key == id_
    assert request.headers == {"X-A": "b"}
    assert request.body.decode() == (
        f'{{"at": "2026-03-10T12:00:00.000Z", "of": "hook", "is": "{id_}", "${{x}}": 1}}'
    )
    assert "alice@services: for the audit" in run.detail.cause["remark"]


def test_two_triggers_in_one_second_are_two_runs(yard):
    ids = {yard.actions.trigger(name, ALICE, NOW) for name in ("hook", "hook", "report", "report")}
    assert len(ids) == 4
    assert yard.states() == {RunState.LAUNCHED: 4}


def test_a_worker_gets_its_unit_with_the_run(yard):
    id_ = yard.actions.trigger("report", ALICE, NOW)
    (unit,) = yard.store.units.get([id_])
    assert (unit.process, unit.timeperiod, unit.state) == (
        "Report", "20260310120000", UnitState.REQUESTED,
    )  # fmt: skip
    assert run_of(yard, id_).request == {"process": "Report", "arguments": {"n": 1}}
    assert yard.bus.depths(["Report"]) == {"Report": 1}


def test_a_trigger_wakes_the_agents(yard):
    with closing(yard.bus.listener("agent")) as listener:
        yard.actions.trigger("hook", ALICE, NOW)
        assert listener.wait(60)


def test_a_long_payload_is_filled_in_when_it_is_sent(yard):
    yard.actions.create(
        {**HOOK, "name": "long", "payload": "${scheduleName} " + "x" * 70_000}, ALICE, NOW
    )
    member = yard.member()
    id_ = yard.actions.trigger("long", ALICE, NOW)
    assert len(str(run_of(yard, id_).request)) < 4000
    member.rest()
    (request,) = member.sender.requests
    assert request.body == b"long " + b"x" * 70_000


def test_what_cannot_be_triggered(yard):
    yard.store.controls.set_on("Report", False, "bob", "", NOW)
    before = everything(yard)
    with pytest.raises(Refused, match="Report is switched off"):
        yard.actions.trigger("report", ALICE, NOW)
    yard.actions.trigger("hook", ALICE, NOW, dry_run=True)
    assert everything(yard) == before
    bare = AgentHarness(store=yard.store)
    with pytest.raises(Refused, match="report cannot be run: process: unknown process Report"):
        bare.actions.trigger("report", ALICE, NOW)
    assert everything(yard) == before
    bare.bus.close()


# Again


def test_a_delivery_that_failed_is_sent_again_with_its_key_and_a_fresh_budget(yard):
    answers = [failed("no"), failed("no")]
    member = yard.member(receiver=lambda _: answers.pop() if answers else sent(200))
    id_ = yard.actions.trigger("hook", ALICE, NOW)
    member.rest()
    yard.clock.advance(30)  # beyond the budget of 10 s
    member.rest()
    run = run_of(yard, id_)
    assert (run.state, run.attempt, run.reason) == (RunState.FAILED, 2, "no")
    again = yard.actions.retry(id_, ALICE, yard.clock.now())
    assert (again.id, again.state) == (id_, RunState.LAUNCHED)
    assert again.detail.first_attempt_at is None
    assert len(again.detail.answers) == 2
    member.rest()
    run = run_of(yard, id_)
    assert (run.state, run.attempt, run.reason) == (RunState.PROCESSED, 3, "")
    assert [request.key for request in member.sender.requests] == [id_] * 3
    assert {request.scheduled_at for request in member.sender.requests} == {NOW}


def test_a_worker_s_run_that_failed_is_taken_up_once_by_another_run(yard):
    run = a_run(yard, RunState.FAILED, "report", reason="broke", attempt=1)
    again = yard.actions.retry(run.id, ALICE, NOW + timedelta(hours=1))
    assert again.id != run.id
    assert (again.schedule, again.due_at, again.attempt) == ("report", NOW, 0)
    assert again.detail.retry_of == run.id
    assert run_of(yard, run.id) == run
    (unit,) = yard.store.units.get([again.id])
    assert unit.timeperiod == "20260310120000"
    before = everything(yard)
    with pytest.raises(Refused, match=f"launched again already, as {again.id}"):
        yard.actions.retry(run.id, ALICE, NOW)
    assert everything(yard) == before


@pytest.mark.parametrize("state", [s for s in RunState if s is not RunState.FAILED])
def test_only_what_failed_is_launched_again(yard, state):
    run = a_run(yard, state)
    before = everything(yard)
    with pytest.raises(Refused, match=f"is {state.value}: only what has failed"):
        yard.actions.retry(run.id, ALICE, NOW)
    assert everything(yard) == before


def test_what_cannot_be_launched_again(yard):
    run = a_run(yard, RunState.FAILED, "report")
    yard.store.controls.set_on("Report", False, "bob", "", NOW)
    before = everything(yard)
    with pytest.raises(Refused, match="Report is switched off"):
        yard.actions.retry(run.id, ALICE, NOW)
    for action in (yard.actions.retry, yard.actions.cancel):
        with pytest.raises(NotFound, match="no such run: none"):
            action("none", ALICE, NOW)
    assert yard.actions.replay(None, ALICE, NOW) == []
    assert everything(yard) == before


def test_a_run_that_somebody_else_launches_first_is_refused(yard, monkeypatch):
    run = a_run(yard, RunState.FAILED)
    before = everything(yard)
    monkeypatch.setattr(SqliteRuns, "change", lambda self, changes: list(changes))
    with pytest.raises(Refused, match="changed meanwhile"):
        yard.actions.retry(run.id, ALICE, NOW)
    assert yard.actions.replay(None, ALICE, NOW) == []
    monkeypatch.undo()
    assert everything(yard) == before


def test_all_that_failed_is_launched_again_of_one_schedule_or_of_all(yard, monkeypatch):
    monkeypatch.setattr("synergy.queries.schedules.retries.PAGE", 3)
    hooks = [a_run(yard, RunState.FAILED, key=f"due:{n}") for n in range(7)]
    reports = [a_run(yard, RunState.FAILED, "report", key=f"due:{n}") for n in range(4)]
    a_run(yard, RunState.PROCESSED)
    yard.actions.retry(reports[0].id, ALICE, NOW)
    before = everything(yard)
    assert len(yard.actions.replay(None, ALICE, NOW, dry_run=True)) == 10
    assert everything(yard) == before
    again = yard.actions.replay("hook", ALICE, NOW)
    assert {run.id for run in again} == {run.id for run in hooks}
    assert yard.states("hook") == {RunState.LAUNCHED: 7, RunState.PROCESSED: 1}
    again = yard.actions.replay(None, ALICE, NOW)
    assert {run.detail.retry_of for run in again} == {run.id for run in reports[1:]}
    assert yard.states("report") == {RunState.FAILED: 4, RunState.LAUNCHED: 4}
    assert yard.actions.replay(None, ALICE, NOW) == []
    assert failed_runs(yard.store) == []
    with pytest.raises(NotFound):
        yard.actions.replay("none", ALICE, NOW)


def test_what_failed_and_was_not_taken_up_is_listed_newest_first(yard):
    hook = a_run(yard, RunState.FAILED)
    old = a_run(yard, RunState.FAILED, "report", key="due:1")
    new = a_run(yard, RunState.FAILED, "report", key="due:2")
    yard.actions.retry(old.id, ALICE, NOW)
    assert [run.id for run in failed_runs(yard.store)] == [new.id, hook.id]
    assert [run.id for run in failed_runs(yard.store, limit=1)] == [new.id]
    assert [run.id for run in failed_runs(yard.store, "hook")] == [hook.id]


# Canceled


@pytest.mark.parametrize(
    "state", [RunState.PENDING_CONSTRAINT, RunState.PENDING_LAUNCH, RunState.LAUNCHED]
)
def test_what_has_not_begun_is_canceled(yard, state):
    run = a_run(yard, state, not_before=NOW + timedelta(hours=1))
    yard.actions.cancel(run.id, ALICE, NOW, dry_run=True)
    assert run_of(yard, run.id) == run
    yard.actions.cancel(run.id, ALICE, NOW)
    after = run_of(yard, run.id)
    assert (after.state, after.reason, after.finished_at) == (
        RunState.CANCELED, "for the audit", NOW,
    )  # fmt: skip
    member = yard.member()
    yard.clock.advance(7200)
    member.rest()
    assert member.sender.requests == []
    assert run_of(yard, run.id) == after


def test_with_a_worker_s_run_its_unit_is_canceled(yard):
    run = with_unit(yard, a_run(yard, RunState.LAUNCHED, "report"))
    yard.actions.cancel(run.id, ALICE, NOW)
    assert run_of(yard, run.id).state is RunState.CANCELED
    (unit,) = yard.store.units.get([run.id])
    assert (unit.state, unit.reason) == (UnitState.CANCELED, "for the audit")
    yard.member().rest()
    assert run_of(yard, run.id).state is RunState.CANCELED


def test_what_is_under_way_or_over_is_not_canceled(yard):
    being_sent = a_run(yard, RunState.LAUNCHED, owner="an agent")
    worked_on = with_unit(yard, a_run(yard, RunState.LAUNCHED, "report"))
    (unit,) = yard.store.units.get([worked_on.id])
    assert yard.store.units.claim([Hint(unit.id, unit.attempt)], "a worker", NOW)
    ended = [a_run(yard, state, key=f"due:{state}") for state in RunState if state.is_finished]
    before = everything(yard)
    for run, reason in (
        (being_sent, "just being sent"),
        (worked_on, f"launch.py unit cancel {worked_on.id}"),
        *((run, f"is {run.state.value}: it has ended") for run in ended),
    ):
        with pytest.raises(Refused, match=reason):
            yard.actions.cancel(run.id, ALICE, NOW)
    assert everything(yard) == before


def test_a_worker_that_begins_at_that_moment_wins(yard, monkeypatch):
    run = with_unit(yard, a_run(yard, RunState.LAUNCHED, "report"))
    before = yard.runs()
    move = type(yard.store.units).move

    def begun_first(self, moves, now):
        monkeypatch.undo()
        assert self.claim([Hint(run.id, 1)], "a worker", now)
        return move(self, moves, now)

    monkeypatch.setattr(type(yard.store.units), "move", begun_first)
    # What the worker did in our batch went with it; the second time round nobody interferes.
    yard.actions.cancel(run.id, ALICE, NOW)
    assert before != yard.runs()
    (unit,) = yard.store.units.get([run.id])
    assert unit.state is UnitState.CANCELED


def test_a_run_whose_unit_was_canceled_by_itself_can_be_canceled_too(yard):
    run = with_unit(yard, a_run(yard, RunState.LAUNCHED, "report"))
    (unit,) = yard.store.units.get([run.id])
    canceled = UnitMove(
        unit.id, unit.state, unit.attempt, UnitState.CANCELED, "", "bob", next_attempt=True
    )
    assert yard.store.units.move([canceled], NOW) == []
    yard.actions.cancel(run.id, ALICE, NOW)
    assert run_of(yard, run.id).state is RunState.CANCELED


def test_a_run_that_keeps_changing_is_not_canceled(yard, monkeypatch):
    run = a_run(yard, RunState.PENDING_CONSTRAINT)
    before = everything(yard)

    def refused(self, changes: list[RunChange]) -> list[RunChange]:
        return list(changes)

    monkeypatch.setattr(SqliteRuns, "change", refused)
    with pytest.raises(Refused, match="keeps changing"):
        yard.actions.cancel(run.id, ALICE, NOW)
    monkeypatch.undo()
    assert everything(yard) == before


# The broker is away: messages leave after the commit


@pytest.fixture
def away(yard, monkeypatch):
    def fail():
        raise MessagingUnavailable("the broker is away")

    monkeypatch.setattr(
        yard.bus, "publish", lambda queue, messages, batch, *_: batch.after_commit(fail)
    )


@pytest.mark.usefixtures("away")
def test_what_is_triggered_without_a_broker_is_one_run(yard):
    id_ = yard.actions.trigger("report", ALICE, NOW)
    assert [(run.id, run.state) for run in yard.runs()] == [(id_, RunState.LAUNCHED)]


@pytest.mark.usefixtures("away")
def test_what_is_launched_again_without_a_broker_is_launched(yard):
    failed_ = [a_run(yard, RunState.FAILED, "report", key=f"due:{n}") for n in range(2)]
    again = yard.actions.retry(failed_[0].id, ALICE, NOW)
    assert run_of(yard, again.id).state is RunState.LAUNCHED
    launched = yard.actions.replay(None, ALICE, NOW)
    assert [run_of(yard, run.id).detail.retry_of for run in launched] == [failed_[1].id]


def test_what_the_broker_refuses_before_the_commit_is_not_launched(yard, monkeypatch):
    def refuse(*_):
        raise MessagingUnavailable("the broker is away")

    run = a_run(yard, RunState.FAILED, "report")
    monkeypatch.setattr(yard.bus, "publish", refuse)
    with pytest.raises(MessagingUnavailable):
        yard.actions.retry(run.id, ALICE, NOW)
    with pytest.raises(MessagingUnavailable):
        yard.actions.trigger("report", ALICE, NOW)
    assert [one.id for one in yard.runs()] == [run.id]
