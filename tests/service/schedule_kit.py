"""Schedules and runs that tests ask for, and what a refusal must leave unchanged."""

from __future__ import annotations

from typing import Any

from synergy.model.actor import Actor
from synergy.model.schedule import Run, RunState, Schedule, run_id
from tests.service.agent_harness import NOW, OPERATOR, TARGET, AgentHarness

ALICE = Actor("alice@services", "for the audit")
NOON: dict[str, Any] = {"name": "noon", "target": TARGET, "trigger": "cron 0 12 * * *"}
REPORT: dict[str, Any] = {"name": "report", "process": "Report", "trigger": "every 3600"}
AT_NOON, AT_ONE = "2026-03-10T12:00:00Z", "2026-03-10T13:00:00Z"
LOADS: dict[str, Any] = {
    "name": "loads", "target": TARGET, "trigger": {"partition": {"dataset": "visits", "n": 3}},
}  # fmt: skip
JOB: dict[str, Any] = {"name": "job", "target": TARGET, "when": "2026-03-10T12:05:00Z"}
HOOK: dict[str, Any] = {
    "name": "hook", "target": TARGET, "trigger": "cron 0 3 * * *",
    "payload": '{"at": "${scheduledTime}", "of": "${scheduleName}", "is": "${runId}", "${x}": 1}',
    "headers": {"X-A": "b"}, "budget": "10s", "constraints": [{"concurrency": 1}],
}  # fmt: skip
WAITING_REPORT = {**REPORT, "arguments": {"n": 1}, "constraints": [{"concurrency": 1}]}
BERLIN: dict[str, Any] = {
    "name": "berlin", "target": TARGET, "trigger": "cron 30 2 * * *", "zone": "Europe/Berlin",
    "payload": "${yesterdaysDate} ${nothing} ${scheduleName}", "template_zone": "UTC",
}  # fmt: skip
SECRET: dict[str, Any] = {
    "name": "secret", "target": "amqp://me:s3cret@h/v?exchange=e&routing_key=k",
    "headers": {"Authorization": "Bearer t0ken", "x-api-KEY": "k3y", "X-Plain": "plain"},
    "trigger": "every 60", "payload": "x",
}  # fmt: skip


def everything(agents: AgentHarness) -> tuple[object, ...]:
    """All that a refusal must leave unchanged."""
    store = agents.store
    schedules, _ = store.schedules.find(1000)
    rows = dict(store.status().rows)
    return schedules, agents.runs(), rows, store.journal.last_seq(), store.events.last_seq()


def stored(agents: AgentHarness, name: str) -> Schedule:
    (schedule,) = agents.store.schedules.get([name])
    return schedule


def journal_of(agents: AgentHarness, name: str) -> list[tuple[str, str, str]]:
    """Event, reason and actor of each journal entry of a schedule, oldest first."""
    entries = agents.store.journal.find(process=name)
    return [(e.event, e.why, e.who) for e in reversed(entries)]


def edit(agents: AgentHarness, name: str, data: dict[str, object]) -> None:
    agents.actions.replace(name, data, OPERATOR, agents.clock.now())


def keys(agents: AgentHarness) -> list[tuple[str, RunState]]:
    """Key and state of each run, oldest due time first."""
    return [(run.key, run.state) for run in agents.runs()]


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
