"""Records past their retention are deleted by the scheduler that leads the collector."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path

import pytest

from synergy.agent.delivering.requests import ANSWERS_KEPT
from synergy.delivery import request
from synergy.model.operation import OperationState
from synergy.model.retention import DEFAULT, Retention, spelled
from synergy.model.schedule import RunState
from synergy.mx.accounts import sessions
from synergy.names import MX_SESSION_IDLE
from synergy.runtime import logs
from synergy.scheduler import retention as pruning
from synergy.scheduler.retention import SWEEP_EVERY_SECONDS, Pruner
from synergy.scheduler.scheduler import Scheduler
from synergy.storage.protocol import Store
from synergy.supervisor import output
from synergy.worker import command, work_log
from tests.contract.operated import an_answer, an_operation
from tests.deployments import site_and_client
from tests.service.agent_harness import NOW, OPERATOR, AgentHarness
from tests.service.scheduler_harness import SchedulerHarness

DAY = 86_400
DOCS = Path(__file__).resolve().parents[2] / "docs" / "operations.md"

PassTime = Callable[[float], None]


@pytest.fixture
def pass_time(agents: AgentHarness) -> PassTime:
    """Lets seconds pass; agents work, then expired records are deleted."""
    pruner = Pruner(agents.store, agents.clock, DEFAULT)

    def pass_time(seconds: float) -> None:
        agents.clock.advance(seconds)
        for member in agents.members:
            member.rest()
        while pruner.sweep(agents.clock.now()):
            pass

    return pass_time


def test_old_runs_and_events_are_deleted(agents: AgentHarness, pass_time: PassTime):
    agents.add("job", when=NOW.isoformat())
    agents.event("TABLE", "t", NOW)
    member = agents.member()
    member.rest()
    agents.event("TABLE", "t", NOW)
    pass_time(7 * DAY - 1)
    assert len(agents.store.events.find()[0]) == 2
    pass_time(3601)
    assert len(agents.store.events.find()[0]) == 1  # the newest is kept
    assert len(agents.runs()) == 1
    pass_time(23 * DAY - 3600 - 3600)
    assert len(agents.runs()) == 1
    pass_time(2 * 3600 + 1)
    assert not agents.runs()


def stored(store: Store, *names: str) -> list[bool]:
    return [store.payloads.get(name) is not None for name in names]


def test_payloads_without_a_reference_are_deleted(agents: AgentHarness, pass_time: PassTime):
    agents.add("kept", cron="0 0 1 1 *", payload="a" * 70_000)
    agents.add("removed", cron="0 0 1 1 *", payload="b" * 70_000)
    agents.add("failed", when=NOW.isoformat(), payload="c" * 70_000)
    names = [
        str(row.definition["payload"]["stored"])
        for row in sorted(agents.store.schedules.get(["kept", "removed", "failed"]),
                          key=lambda row: ["kept", "removed", "failed"].index(row.name))
    ]  # fmt: skip
    member = agents.member(receiver=lambda _: _refused())
    agents.advance(member, 60)
    assert agents.states() == {RunState.FAILED: 1}
    for name in ("removed", "failed"):
        agents.actions.remove(name, OPERATOR, agents.clock.now())
    member.rest()
    assert stored(agents.store, *names) == [True, True, True]
    pass_time(3601)
    assert stored(agents.store, *names) == [
        True,
        False,
        True,
    ]  # a failed delivery may be sent again


def _refused():
    from synergy.delivery.request import Response

    return Response(ok=False, outcome="refused", may_retry=False, status=400, error="no")


def test_the_payload_of_a_schedule_created_meanwhile_is_kept(
    agents: AgentHarness, pass_time: PassTime, monkeypatch
):
    member = agents.member()
    member.rest()
    prune = agents.store.payloads.prune
    find = agents.store.runs.find

    def find_and_add(**asked):
        if not agents.store.schedules.get(["late"]):
            agents.add("late", cron="0 0 1 1 *", payload="x" * 70_000)
        return find(**asked)

    monkeypatch.setattr(agents.store.runs, "find", find_and_add)
    pruned = []
    monkeypatch.setattr(
        agents.store.payloads, "prune", lambda kept: pruned.append(prune(kept)) or pruned[-1]
    )
    pass_time(3601)
    assert pruned == [0]
    (row,) = agents.store.schedules.get(["late"])
    assert stored(agents.store, row.definition["payload"]["stored"]) == [True]


def test_the_payload_of_a_run_launched_again_meanwhile_is_kept(
    agents: AgentHarness, pass_time: PassTime, monkeypatch
):
    agents.add("failed", when=NOW.isoformat(), payload="c" * 70_000)
    member = agents.member(receiver=lambda _: _refused())
    member.rest()
    agents.actions.remove("failed", OPERATOR, agents.clock.now())
    (run,) = agents.runs()
    assert run.state is RunState.FAILED
    find = agents.store.runs.find

    def send_anew_and_find(**asked):
        if asked.get("state") is RunState.FAILED and not asked.get("cursor"):
            agents.actions.retry(run.id, OPERATOR, agents.clock.now())
        return find(**asked)

    monkeypatch.setattr(agents.store.runs, "find", send_anew_and_find)
    pass_time(3601)
    assert stored(agents.store, str(run.request["payload"])) == [True]


def test_operations_and_answers_are_deleted_hourly_however_many(
    agents: AgentHarness, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruning, "AT_ONCE", 2)
    store = agents.store
    ended = {"state": OperationState.DONE, "finished_at": NOW}
    for number in range(5):
        operation = store.operations.accept(an_operation(f"o-{number}", created_at=NOW))
        store.operations.change(replace(operation, **ended))
        store.answers.begin(an_answer(key=f"k{number}", at=NOW))
    store.operations.accept(an_operation("waits", owner="x", state=OperationState.RUNNING))
    pass_time(DAY - 1)
    assert not store.answers.begin(an_answer(key="k0", at=NOW))[1]
    pass_time(SWEEP_EVERY_SECONDS - 1)
    assert not store.answers.begin(an_answer(key="k0", at=NOW))[1]  # not an hour later yet
    pass_time(1)
    assert store.answers.prune(agents.clock.now(), 10) == 0
    pass_time(29 * DAY)
    assert [one.id for one in store.operations.find()[0]] == ["waits"]


def test_the_scheduler_that_leads_the_collector_applies_the_configured_retention() -> None:
    system = SchedulerHarness(site_and_client())
    retention = Retention(answers=timedelta(hours=2), journal=timedelta(hours=3))
    scheduler = Scheduler(replace(system.workplace("", "s-1"), retention=retention))

    def pass_hours(hours: int) -> None:
        for _ in range(hours * 60):
            system.clock.advance(60)
            for _ in range(100):
                if scheduler.run_once() > 0:
                    break

    pass_hours(0)
    scheduler.run_once()
    begun = system.clock.now()
    first = system.store.journal.since(0, 1)[0]
    system.store.answers.begin(an_answer(at=begun))
    pass_hours(1)
    assert system.store.journal.since(0, 1) == [first]
    pass_hours(2)
    assert system.store.answers.begin(an_answer(at=system.clock.now()))[1]
    pass_hours(1)
    (entry,) = system.store.journal.since(0, 1)
    assert entry.seq > first.seq
    assert entry.at >= system.clock.now() - timedelta(hours=3, minutes=1)


# The documentation


def rows(of: str) -> list[list[str]]:
    """The rows of the tables of a section."""
    text = DOCS.read_text().split(f"\n## {of}\n")[1].split("\n## ")[0]
    lines = [line.strip("| ") for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.split(" |")] for line in lines]


def test_the_documentation_names_the_retention_of_each_kind() -> None:
    documented = {
        found[1]: row[1]
        for row in rows("What is deleted")
        if (found := re.fullmatch(r"`([a-z]+)`", row[-1]))
    }
    kinds = {field.name: getattr(DEFAULT, field.name) for field in fields(Retention)}
    assert documented == {kind: spelled(age) for kind, age in kinds.items()}


def test_the_documentation_names_the_bounds_of_everything_else() -> None:
    documented = {row[0]: row[1] for row in rows("What is deleted")}
    mib = 1 << 20
    old = "older files of this size"
    assert (
        documented["`logs/<process>.log`"] == f"{logs.FILE_SIZE // mib} MiB and {logs.KEPT} {old}"
    )
    assert documented["`logs/<process>.out`"].startswith(
        f"{output.MAX_BYTES // mib} MiB and one older file"
    )
    lines, longest = f"{work_log.MOST_LINES:,} lines", f"of {work_log.LONGEST_LINE:,} characters"
    assert documented["the log of a unit"] == f"{lines} of each attempt, {longest} at most"
    assert (
        documented["the output of a command"]
        == f"the last {command.KEPT} lines of standard output, and of standard error"
    )
    bytes_kept = f"{request.KEPT:,} bytes of each body at most"
    assert (
        documented["answers to a delivery, in its run"]
        == f"the last {ANSWERS_KEPT}, with {bytes_kept}"
    )
    life, idle = spelled(sessions.LIFE), f"{MX_SESSION_IDLE} minutes"
    assert documented["sessions of MX"] == (
        f"{life}, or {idle} without a request; {sessions.MOST} of each user"
    )
