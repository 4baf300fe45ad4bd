"""Schedules are edited, enabled, disabled and removed, also during concurrent changes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from synergy.errors import NotFound, Refused
from synergy.model.process import Deployment
from synergy.model.schedule import Run, RunState, ScheduleChange
from synergy.schedule.check_context import InvalidDefinition
from tests.service.agent_harness import NOW, OPERATOR, TARGET, AgentHarness
from tests.service.schedule_kit import (
    ALICE,
    LOADS,
    NOON,
    REPORT,
    everything,
    journal_of,
    stored,
)


def a_pending_run(agents: AgentHarness, name: str, **fields: Any) -> Run:
    """A run that waits for its constraints, as an agent stores it."""
    given = {
        "id": f"pending-of-{name}", "schedule": name, "key": "due:x", "due_at": NOW, "version": 1,
        "state": RunState.PENDING_CONSTRAINT, "program": "https://receiver.example:443",
        "created_at": NOW, **fields,
    }  # fmt: skip
    (run,) = agents.store.runs.create([Run(**given)], "an agent")
    return run


def test_an_edit_makes_a_version_with_fresh_progress(agents):
    agents.actions.create(LOADS, ALICE, NOW, enable=True)
    member = agents.member()
    agents.event("PARTITION", "visits", NOW)
    member.rest()
    assert stored(agents, "loads").progress["met"]
    later = NOW + timedelta(minutes=5)
    edited = {**LOADS, "trigger": {"partition": {"dataset": "clicks"}}}
    agents.actions.replace("loads", edited, ALICE, later)
    row = stored(agents, "loads")
    assert (row.version, row.is_enabled, row.keys) == (2, True, ("PARTITION|clicks",))
    assert "met" not in row.progress
    assert row.progress["seen_events"] == 1
    assert row.progress["begun"] == "2026-03-10T12:05:00Z"
    versions = [(v.version, v.who) for v in agents.store.schedules.versions("loads")]
    assert versions == [(2, ALICE.who), (1, ALICE.who)]
    # the collected event is recorded, with the reason
    (record,) = agents.runs("loads")
    assert (record.state, record.key) == (RunState.ABORTED, "events:e1")
    assert record.reason == "superseded by version 2"
    assert record.detail.cause["count"] == 1


def test_an_edit_aborts_pending_runs_of_the_previous_version(agents):
    agents.actions.create(NOON, ALICE, NOW, enable=True)
    a_pending_run(agents, "noon")
    launched = a_pending_run(agents, "noon", id="l", key="due:y", state=RunState.LAUNCHED)
    agents.actions.replace("noon", {**NOON, "priority": 1}, ALICE, NOW)
    runs = {run.id: run for run in agents.runs("noon")}
    assert runs["pending-of-noon"].state is RunState.ABORTED
    assert runs["pending-of-noon"].reason == "superseded by version 2"
    assert runs["pending-of-noon"].finished_at == NOW
    assert runs["l"] == launched


def test_an_edit_of_a_disabled_schedule_leaves_it_disabled(agents):
    agents.actions.create(NOON, ALICE, NOW)
    agents.actions.replace("noon", {**NOON, "priority": 1}, ALICE, NOW)
    row = stored(agents, "noon")
    assert (row.version, row.is_enabled, row.wake_at) == (2, False, None)


def test_the_same_definition_in_other_words_changes_nothing(agents):
    agents.actions.create(NOON, ALICE, NOW, enable=True)
    before = everything(agents)
    same = {"target": TARGET, "cron": "0  12 * * *", "priority": 0, "timeout": "1d"}
    assert agents.actions.replace("noon", same, ALICE, NOW).version == 1
    assert everything(agents) == before


def test_hidden_values_may_be_sent_back_hidden(agents):
    secret = {
        **NOON,
        "target": "amqp://me:s3cret@h/v?exchange=e",
        "headers": {"X-Api-Key": "k3y", "X-Plain": "p"},
    }
    agents.actions.create(secret, ALICE, NOW)
    sent = {
        **NOON,
        "target": "amqp://me:***@h/v?exchange=e",
        "headers": {"X-Api-Key": "***", "X-Plain": "q"},
    }
    agents.actions.replace("noon", sent, ALICE, NOW)
    row = stored(agents, "noon").definition
    assert row["target"] == secret["target"]
    assert row["headers"] == {"X-Api-Key": "k3y", "X-Plain": "q"}


@pytest.mark.parametrize(
    ("name", "data", "error", "reason"),
    [
        ("noon", {**NOON, "name": "other"}, InvalidDefinition, "cannot be renamed"),
        ("noon", {**NOON, "trigger": "every 0"}, InvalidDefinition, "seconds must be"),
        (
            "noon",
            {**NOON, "trigger": "cron 0 0 12 1 1 ? 2001"},
            InvalidDefinition,
            "never due in UTC: the year 2001 is over",
        ),
        ("noon", {**NOON, "headers": {"X-New": "***"}}, InvalidDefinition, "write it out"),
        ("none", NOON, NotFound, "no such schedule: none"),
    ],
)
def test_a_refused_edit_changes_nothing(agents, name, data, error, reason):
    agents.actions.create(NOON, ALICE, NOW, enable=True)
    before = everything(agents)
    with pytest.raises(error, match=reason):
        agents.actions.replace(name, data, ALICE, NOW)
    assert everything(agents) == before


def test_a_dry_run_of_an_edit_changes_nothing(agents):
    agents.actions.create(LOADS, ALICE, NOW, enable=True)
    before = everything(agents)
    made = agents.actions.replace("loads", {**LOADS, "priority": 3}, ALICE, NOW, dry_run=True)
    assert made.version == 2
    assert everything(agents) == before


def test_enabling_and_disabling_are_stored_and_journaled(agents):
    agents.actions.create(NOON, ALICE, NOW)
    assert agents.actions.enable("noon", ALICE, NOW).is_enabled
    assert stored(agents, "noon").wake_at == NOW + timedelta(days=1)
    agents.actions.disable("noon", ALICE, NOW)
    row = stored(agents, "noon")
    assert (row.is_enabled, row.wake_at, row.keys, row.reason) == (False, None, (), "for the audit")
    assert [event for event, _, _ in journal_of(agents, "noon")] == [
        "schedule.created", "schedule.enabled", "schedule.disabled",
    ]  # fmt: skip
    assert journal_of(agents, "noon")[-1] == ("schedule.disabled", ALICE.why, ALICE.who)


def test_disabling_without_a_reason_records_who_did_it(agents):
    agents.actions.create(NOON, OPERATOR, NOW, enable=True)
    agents.actions.disable("noon", OPERATOR, NOW)
    assert stored(agents, "noon").reason == "disabled by an operator"


def test_disabling_aborts_pending_runs_with_the_reason(agents):
    agents.actions.create(LOADS, ALICE, NOW, enable=True)
    member = agents.member()
    agents.event("PARTITION", "visits", NOW)
    member.rest()
    a_pending_run(agents, "loads")
    agents.actions.disable("loads", ALICE, NOW)
    ended = {run.key: (run.state, run.reason) for run in agents.runs("loads")}
    expected = (RunState.ABORTED, "its schedule was disabled: for the audit")
    assert ended == {"due:x": expected, "events:e1": expected}


def test_events_while_disabled_do_not_count_and_enabling_starts_from_zero(agents):
    agents.actions.create(LOADS, ALICE, NOW, enable=True)
    member = agents.member()
    for _ in range(2):
        agents.event("PARTITION", "visits", NOW)
    member.rest()
    agents.actions.disable("loads", ALICE, NOW)
    agents.event("PARTITION", "visits", NOW)
    member.rest()
    agents.actions.enable("loads", ALICE, NOW)
    for _ in range(2):
        agents.event("PARTITION", "visits", NOW)
    member.rest()
    assert agents.states("loads") == {
        RunState.ABORTED: 1
    }  # 2 before, 1 meanwhile, 2 after: never 3
    agents.event("PARTITION", "visits", NOW)
    member.rest()
    assert agents.states("loads") == {RunState.ABORTED: 1, RunState.PROCESSED: 1}


@pytest.mark.parametrize("action", ["enable", "disable"])
def test_enabling_an_enabled_schedule_is_refused_and_the_reverse(agents, action):
    agents.actions.create(NOON, ALICE, NOW, enable=action == "enable")
    before = everything(agents)
    with pytest.raises(Refused, match="already"):
        getattr(agents.actions, action)("noon", ALICE, NOW)
    assert everything(agents) == before


@pytest.mark.parametrize("action", ["enable", "disable", "remove", "trigger", "cancel_job"])
def test_unknown_names_are_not_found(agents, action):
    before = everything(agents)
    with pytest.raises(NotFound, match="no such schedule: none"):
        getattr(agents.actions, action)("none", ALICE, NOW)
    assert everything(agents) == before


@pytest.mark.parametrize(
    ("action", "enable"), [("enable", False), ("disable", True), ("remove", True)]
)
def test_dry_runs_change_nothing(agents, action, enable):
    agents.actions.create(NOON, ALICE, NOW, enable=enable)
    a_pending_run(agents, "noon")
    before = everything(agents)
    getattr(agents.actions, action)("noon", ALICE, NOW, dry_run=True)
    assert everything(agents) == before


def test_a_schedule_without_its_program_cannot_be_enabled(agents):
    agents.actions.create(REPORT, ALICE, NOW)
    bare = AgentHarness(Deployment({}, {}), store=agents.store)
    before = everything(agents)
    with pytest.raises(Refused, match="report cannot be enabled: process: unknown process Report"):
        bare.actions.enable("report", ALICE, NOW)
    assert everything(agents) == before


def test_removing_keeps_runs_and_aborts_pending_ones(agents):
    agents.actions.create(NOON, ALICE, NOW, enable=True)
    a_pending_run(agents, "noon")
    agents.actions.remove("noon", ALICE, NOW)
    assert agents.store.schedules.count() == 0
    (run,) = agents.runs("noon")
    assert (run.state, run.reason) == (RunState.ABORTED, "its schedule was removed")
    assert ("schedule.removed", ALICE.why, ALICE.who) in journal_of(agents, "noon")


def test_a_declared_schedule_is_not_removed(agents):
    agents.actions.create(NOON, ALICE, NOW)
    declaring = AgentHarness(Deployment({}, {}, {"noon": NOON}), store=agents.store)
    before = everything(agents)
    with pytest.raises(Refused, match=r"declared in context\.py and would come back"):
        declaring.actions.remove("noon", ALICE, NOW)
    assert everything(agents) == before


class ConcurrentlyChanged:
    """A store's schedules; a row is changed concurrently just before each of the first writes."""

    def __init__(self, schedules, times: int) -> None:
        self._schedules = schedules
        self._times = times

    def __getattr__(self, name: str):
        return getattr(self._schedules, name)

    def change_first(self, name: str) -> None:
        if self._times > 0:
            self._times -= 1
            (row,) = self._schedules.get([name])
            assert self._schedules.change([ScheduleChange(replace(row, wake_at=NOW))]) == []

    def change(self, changes):
        for change in changes:
            self.change_first(change.schedule.name)
        return self._schedules.change(changes)

    def remove(self, schedule, *rest):
        self.change_first(schedule.name)
        return self._schedules.remove(schedule, *rest)


ASKED = {
    "replace": ({**LOADS, "priority": 9},),
    "disable": (),
    "remove": (),
}


@pytest.mark.parametrize("action", ASKED)
def test_an_action_succeeds_after_concurrent_changes(agents, monkeypatch, action):
    agents.actions.create(LOADS, ALICE, NOW, enable=True)
    schedules = ConcurrentlyChanged(agents.store.schedules, times=3)
    monkeypatch.setattr(agents.store, "schedules", schedules)
    getattr(agents.actions, action)("loads", *ASKED[action], ALICE, NOW)
    (row,) = schedules.get(["loads"]) or [None]
    match action:
        case "replace":
            assert row.definition["priority"] == 9
        case "disable":
            assert not row.is_enabled
        case "remove":
            assert row is None


@pytest.mark.parametrize("action", ASKED)
def test_an_action_is_refused_if_the_row_never_stops_changing(agents, monkeypatch, action):
    agents.actions.create(LOADS, ALICE, NOW, enable=True)
    a_pending_run(agents, "loads")
    before = everything(agents)
    schedules = ConcurrentlyChanged(agents.store.schedules, times=1000)
    monkeypatch.setattr(agents.store, "schedules", schedules)
    with pytest.raises(Refused, match="keeps changing"):
        getattr(agents.actions, action)("loads", *ASKED[action], ALICE, NOW)
    monkeypatch.undo()
    # The concurrent changes were made within the batches that were rolled back.
    assert everything(agents) == before
