"""The store follows `schedule_context`: created, changed, left alone, disabled."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from synergy.commands.schedule_sync import NO_LONGER_DECLARED, WHO, kept_by_hand, sync_declared
from synergy.commands.schedules import ScheduleCommands
from synergy.model.process import Deployment
from synergy.model.schedule import Origin, RunState, ScheduleChange
from synergy.schedule.check_context import Known
from synergy.schedule.format.read import read
from synergy.schedule.format.write import write
from synergy.schedule.progress.state import Occurrence, ProgressState
from synergy.schedule.progress.steps import take
from tests.service.agent_harness import NOW, OPERATOR, TARGET, AgentHarness
from tests.service.free_runs import a_free_process

NOON = {"name": "noon", "target": TARGET, "trigger": "cron 0 12 * * *"}


REPORT = {"name": "report", "process": "Report", "trigger": "every 3600"}


def a_deployment(*schedules: dict[str, Any], process: str = "Report") -> Deployment:
    """A deployment that declares these schedules in canonical form, as the loader does."""
    declared = {str(s["name"]): write(read(s, Known())) for s in schedules}
    return Deployment({process: a_free_process(process)}, {}, declared)


class Deployed:
    """One store under several deployments, one after the other."""

    def __init__(self, agents: AgentHarness) -> None:
        self.agents = agents
        self.now = NOW

    def sync(self, *schedules: dict[str, Any], policy: str = "create", **given: Any) -> list[str]:
        self.now += timedelta(minutes=1)
        return sync_declared(self.agents.store, a_deployment(*schedules, **given), policy, self.now)

    @property
    def actions(self) -> ScheduleCommands:
        return ScheduleCommands(self.agents.store, self.agents.bus, a_deployment())

    def row(self, name: str):
        (row,) = self.agents.store.schedules.get([name])
        return row


@pytest.fixture
def deployed(agents):
    return Deployed(agents)


def collect(deployed: Deployed, name: str, number: int) -> None:
    """Gives a schedule an event, with which it begins to collect."""
    row = deployed.row(name)
    event = Occurrence(
        stream="events", seq=number, id=f"e{number}", key=row.keys[0], type="PARTITION",
        resource="d", at=NOW,
    )  # fmt: skip
    step = take(read(row.definition, Known()), ProgressState.from_json(row.progress), event, NOW)
    assert step.progress.collecting is not None
    row = replace(row, progress=step.progress.to_json())
    assert deployed.agents.store.schedules.change([ScheduleChange(row)]) == []


def state(agents: AgentHarness) -> object:
    return agents.store.schedules.find(100)[0], agents.runs(), agents.store.journal.last_seq()


def test_missing_declared_schedules_are_created_enabled(deployed):
    assert deployed.sync(NOON, REPORT) == ["noon: created", "report: created"]
    row = deployed.row("noon")
    assert (row.is_enabled, row.origin, row.version) == (True, Origin.CONTEXT, 1)
    assert row.wake_at == NOW + timedelta(days=1)
    (version,) = deployed.agents.store.schedules.versions("noon")
    assert version.who == WHO


def test_a_second_sync_changes_nothing(deployed):
    deployed.sync(NOON, REPORT)
    before = state(deployed.agents)
    assert deployed.sync(NOON, REPORT) == []
    assert deployed.sync(NOON, REPORT, policy="sync") == []
    assert state(deployed.agents) == before


@pytest.mark.parametrize("policy", ["create", "sync"])
def test_an_unedited_schedule_follows_its_declaration(deployed, policy):
    deployed.sync(NOON)
    for number, trigger in enumerate(("every 60", "every 120"), 2):
        assert deployed.sync({**NOON, "trigger": trigger}, policy=policy) == [
            "noon: changed, as declared"
        ]
        row = deployed.row("noon")
        assert (row.version, row.definition["trigger"]) == (number, trigger)
        assert row.progress["begun"] == deployed.now.isoformat().replace("+00:00", "Z")


def test_an_edited_schedule_is_kept_unless_the_policy_is_sync(deployed):
    deployed.sync(NOON)
    deployed.actions.replace("noon", {**NOON, "trigger": "every 60"}, OPERATOR, deployed.now)
    before = state(deployed.agents)
    assert deployed.sync(NOON) == []
    assert deployed.sync({**NOON, "trigger": "every 120"}) == []
    assert state(deployed.agents) == before
    assert deployed.sync({**NOON, "trigger": "every 120"}, policy="sync") == [
        "noon: changed, as declared"
    ]
    row = deployed.row("noon")
    assert (row.version, row.definition["trigger"]) == (3, "every 120")


def test_a_schedule_whose_edit_was_undone_follows_its_declaration(deployed):
    deployed.sync(NOON)
    deployed.actions.replace("noon", {**NOON, "trigger": "every 60"}, OPERATOR, deployed.now)
    deployed.actions.replace("noon", NOON, OPERATOR, deployed.now)
    assert deployed.sync({**NOON, "trigger": "every 120"}) == ["noon: changed, as declared"]


def test_a_schedule_created_by_hand_follows_its_declaration_only_with_policy_sync(deployed):
    deployed.actions.create({**NOON, "trigger": "every 60"}, OPERATOR, NOW)
    before = state(deployed.agents)
    assert deployed.sync(NOON) == []
    assert state(deployed.agents) == before
    assert deployed.sync(NOON, policy="sync") == ["noon: changed, as declared"]
    row = deployed.row("noon")
    assert (row.origin, row.is_enabled, row.version) == (Origin.CONTEXT, False, 2)


@pytest.mark.parametrize("policy", ["create", "sync"])
def test_a_schedule_disabled_by_an_operator_stays_disabled(deployed, policy):
    deployed.sync(NOON)
    deployed.actions.disable("noon", OPERATOR, deployed.now)
    deployed.sync(NOON, policy=policy)
    assert not deployed.row("noon").is_enabled
    assert deployed.sync({**NOON, "trigger": "every 60"}, policy=policy) == [
        "noon: changed, as declared"
    ]
    row = deployed.row("noon")
    assert (row.is_enabled, row.wake_at, row.version) == (False, None, 2)
    assert row.reason == "disabled by an operator"


def test_an_undeclared_schedule_is_disabled_until_it_is_declared_again(deployed):
    deployed.sync(NOON, REPORT)
    assert deployed.sync(REPORT) == [f"noon: disabled, {NO_LONGER_DECLARED}"]
    row = deployed.row("noon")
    assert (row.is_enabled, row.reason, row.wake_at) == (False, NO_LONGER_DECLARED, None)
    assert deployed.row("report").is_enabled
    assert deployed.sync(REPORT) == []
    assert deployed.sync(NOON, REPORT) == ["noon: enabled, as declared"]
    row = deployed.row("noon")
    assert (row.is_enabled, row.reason, row.version) == (True, "", 1)


def test_an_edited_schedule_stays_when_it_is_no_longer_declared(deployed):
    deployed.sync(NOON)
    deployed.actions.replace("noon", {**NOON, "trigger": "every 60"}, OPERATOR, deployed.now)
    assert deployed.sync() == []
    assert deployed.row("noon").is_enabled
    assert deployed.sync(policy="sync") == [f"noon: disabled, {NO_LONGER_DECLARED}"]


def test_a_schedule_created_by_hand_needs_no_declaration(deployed):
    deployed.actions.create(NOON, OPERATOR, NOW, enable=True)
    assert deployed.sync() == []
    assert deployed.sync(policy="sync") == []
    assert deployed.row("noon").is_enabled


@pytest.mark.parametrize("is_declared", [True, False])
def test_a_schedule_without_its_program_is_disabled_with_the_reason(deployed, is_declared):
    if is_declared:
        deployed.sync(REPORT)
    else:
        deployed.actions.create(REPORT, OPERATOR, NOW, enable=True)
    assert deployed.sync(process="Other") == ["report: disabled, its program is gone: Report"]
    assert not deployed.row("report").is_enabled
    came_back = deployed.sync(*([REPORT] if is_declared else []))
    assert came_back == (["report: enabled, as declared"] if is_declared else [])


def test_collected_events_are_recorded_when_a_declaration_changes_or_ends(deployed):
    loads = {"name": "loads", "target": TARGET, "trigger": {"partition": {"dataset": "d", "n": 9}}}
    agents = deployed.agents
    deployed.sync(loads)
    for number, then in enumerate(([{**loads, "priority": 2}], []), 1):
        collect(deployed, "loads", number)
        deployed.sync(*then)
        assert agents.states("loads") == {RunState.ABORTED: number}
    reasons = [run.reason for run in agents.runs("loads")]
    assert reasons == [
        "superseded by version 2",
        f"its schedule was disabled: {NO_LONGER_DECLARED}",
    ]


def test_a_declared_long_payload_is_stored_apart(deployed):
    long = {**NOON, "payload": "x" * 100_000}
    deployed.sync(long)
    kept = deployed.row("noon").definition["payload"]
    assert len(deployed.agents.store.payloads.get(kept["stored"])) == 100_000
    assert deployed.sync(long) == []


def test_a_schedule_changed_meanwhile_is_left_for_later(deployed, monkeypatch):
    deployed.sync(NOON)
    schedules = deployed.agents.store.schedules
    monkeypatch.setattr(type(schedules), "change", lambda self, changes: list(changes))
    assert deployed.sync({**NOON, "trigger": "every 60"}) == []
    assert deployed.sync() == []
    monkeypatch.undo()
    assert deployed.row("noon").version == 1
    assert deployed.sync({**NOON, "trigger": "every 60"}) == ["noon: changed, as declared"]


def test_a_thousand_schedules_are_declared_in_one_step(deployed):
    many = [{**NOON, "name": f"s{number:04}"} for number in range(1200)]
    assert len(deployed.sync(*many)) == 1200
    assert deployed.agents.store.schedules.count() == 1200
    assert len(deployed.sync(many[0])) == 1199
    assert sum(s.is_enabled for s in deployed.agents.store.schedules.find(2000)[0]) == 1


def test_only_what_was_made_by_hand_is_kept(deployed):
    deployed.sync(NOON, REPORT)
    deployed.actions.create({**NOON, "name": "mine"}, OPERATOR, NOW)
    names = ["noon", "report", "mine", "missing"]
    assert kept_by_hand(deployed.agents.store, names) == ["mine"]
    deployed.actions.replace("noon", {**NOON, "trigger": "every 60"}, OPERATOR, deployed.now)
    assert kept_by_hand(deployed.agents.store, names) == ["mine", "noon"]
