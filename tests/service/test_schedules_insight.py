"""Asking for something of schedules: each change, and what is refused and changes nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from ipaddress import ip_network
from typing import Any

import pytest

from synergy.commands.schedules import ScheduleCommands
from synergy.errors import InvalidValue, NotFound, Refused
from synergy.model.actor import Actor
from synergy.model.process import DaemonProcess, Deployment
from synergy.model.schedule import Origin, Run, RunState, Schedule, ScheduleChange
from synergy.schedule.format.read import InvalidDefinition
from tests.deployments import HOURLY, a_process
from tests.service.agent_harness import NOW, OPERATOR, TARGET, AgentHarness
from tests.service.free_runs import a_free_process

ALICE = Actor("alice@services", "for the audit")
NOON: dict[str, Any] = {"name": "noon", "target": TARGET, "trigger": "cron 0 12 * * *"}
REPORT: dict[str, Any] = {"name": "report", "process": "Report", "trigger": "every 3600"}
LOADS: dict[str, Any] = {
    "name": "loads", "target": TARGET, "trigger": {"partition": {"dataset": "visits", "n": 3}},
}  # fmt: skip
JOB: dict[str, Any] = {"name": "job", "target": TARGET, "when": "2026-03-10T12:05:00Z"}


@pytest.fixture
def agents():
    """A deployment with one process of each kind."""
    daemon = DaemonProcess(name="Agent", classname="x", token="x", present_on_boxes=(".*",))
    processes = [a_free_process(), a_process("Site", HOURLY), daemon]
    return AgentHarness(Deployment({process.name: process for process in processes}, {}))


def everything(agents: AgentHarness) -> tuple[object, ...]:
    """All that a refusal must leave as it was."""
    schedules, _ = agents.store.schedules.find(1000)
    return (
        schedules,
        agents.runs(),
        dict(agents.store.status().rows),
        agents.store.journal.last_seq(),
        agents.store.events.last_seq(),
    )


def stored(agents: AgentHarness, name: str) -> Schedule:
    (schedule,) = agents.store.schedules.get([name])
    return schedule


def journal_of(agents: AgentHarness, name: str) -> list[tuple[str, str, str]]:
    """What the journal says of a schedule, oldest first: event, why, who."""
    entries = agents.store.journal.find(process=name)
    return [(e.event, e.why, e.who) for e in reversed(entries)]


def a_pending_run(agents: AgentHarness, name: str, **fields: Any) -> Run:
    """One that waits for its constraints, as an agent would have decided."""
    given = {
        "id": f"pending-of-{name}", "schedule": name, "key": "due:x", "due_at": NOW, "version": 1,
        "state": RunState.PENDING_CONSTRAINT, "program": "https://receiver.example:443",
        "created_at": NOW, **fields,
    }  # fmt: skip
    (run,) = agents.store.runs.create([Run(**given)], "an agent")
    return run


# Created


def test_created_through_the_api_it_is_disabled_and_waits_for_nothing(agents):
    made = agents.actions.create(NOON, ALICE, NOW)
    row = stored(agents, "noon")
    assert (row.is_enabled, row.wake_at, row.keys, row.progress) == (False, None, (), {})
    assert (row.version, row.origin, row.created_at) == (1, Origin.API, NOW)
    assert row.definition == NOON
    assert made.name == "noon"
    assert [event for event, _, who in journal_of(agents, "noon") if who == ALICE.who] == [
        "schedule.created"
    ]


@pytest.mark.parametrize(
    ("data", "enable", "expected"),
    [
        (NOON, True, True),
        ({**NOON, "enabled": True}, False, True),
        ({**NOON, "enabled": False}, False, False),
        ({**NOON, "enabled": False}, True, True),
        (JOB, False, True),
        ({**JOB, "enabled": False}, False, False),
    ],
)
def test_who_asks_otherwise_gets_it_enabled(agents, data, enable, expected):
    assert agents.actions.create(data, ALICE, NOW, enable=enable).is_enabled is expected
    row = stored(agents, data["name"])
    assert row.is_enabled is expected
    assert (row.wake_at is not None) is expected


def test_an_enabled_one_counts_nothing_from_before(agents):
    agents.event("PARTITION", "visits", NOW)
    agents.actions.create({**LOADS, "enabled": True}, ALICE, NOW)
    row = stored(agents, "loads")
    assert row.keys == ("PARTITION|visits",)
    assert row.progress["seen_events"] == 1
    # NOW is 12:00, and what is due at this very moment is not after it
    agents.actions.create({**NOON, "enabled": True}, ALICE, NOW)
    assert stored(agents, "noon").wake_at == NOW + timedelta(days=1)


def test_several_at_once_are_one_change(agents):
    made = agents.actions.create_all([NOON, REPORT, JOB], ALICE, NOW, enable=True)
    assert [schedule.name for schedule in made] == ["noon", "report", "job"]
    assert agents.store.schedules.count() == 3


def test_a_dry_run_answers_the_same_and_changes_nothing(agents):
    before = everything(agents)
    dry = agents.actions.create_all([NOON, JOB], ALICE, NOW, enable=True, dry_run=True)
    assert everything(agents) == before
    real = agents.actions.create_all([NOON, JOB], ALICE, NOW, enable=True)
    assert [s.wake_at for s in dry] == [s.wake_at for s in real]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({**NOON, "name": "a b"}, "name: 'a b'"),
        ({**NOON, "name": None}, "name is missing"),
        ({**NOON, "trigger": "every 0"}, "seconds must be 1"),
        ({**NOON, "trigger": "at 24:00"}, "24:00"),
        ({**NOON, "trigger": None}, "trigger is missing"),
        ({**NOON, "zone": "Mars/X"}, "no time zone 'Mars/X'"),
        ({**NOON, "target": "ftp://x"}, "unknown scheme 'ftp'"),
        ({**NOON, "target": "https://u:p@h/"}, "no user or password"),
        ({**NOON, "target": "https://h/" + "x" * 2040}, "2,048"),
        ({**NOON, "headers": {"Idempotency-Key": "x"}}, "Synergy sets it itself"),
        ({**NOON, "content_type": "x"}, "content type"),
        ({**NOON, "payload": "x" * 16_777_216}, "16,777,216 bytes"),
        ({**NOON, "external_id": "x" * 257}, "external_id: 257"),
        ({**NOON, "by": "x" * 257}, "by: 257"),
        ({**NOON, "payload": {"stored": "nothing"}}, "nothing is stored as nothing"),
        ({**NOON, "headers": {"X-Key": "***"}}, "headers: X-Key: *** is shown in the place"),
        ({**NOON, "target": "amqp://u:***@h/v?exchange=e"}, "target: *** is shown in the place"),
        ({**NOON, "target": "https://h/?token=***&a=b"}, "target: *** is shown in the place"),
        ({**NOON, "process": "Report"}, "process or target, not both"),
        ({**REPORT, "process": "Site"}, "managed process"),
        ({**REPORT, "process": "Agent"}, "daemon"),
        ({**REPORT, "process": "Reprot"}, "did you mean Report?"),
        ({**NOON, "colour": "red"}, "unknown field colour"),
        ({**JOB, "when": "tomorrow"}, "when: expected an instant"),
        ({**JOB, "trigger": "every 60"}, "expected one of"),
    ],
)
def test_each_mistake_is_named_and_nothing_is_stored(agents, data, reason):
    before = everything(agents)
    with pytest.raises(InvalidDefinition) as caught:
        agents.actions.create(data, ALICE, NOW, enable=True)
    assert any(reason in mistake for mistake in caught.value.mistakes), caught.value.mistakes
    assert everything(agents) == before


def test_all_mistakes_of_all_are_told_at_once_with_their_places(agents):
    before = everything(agents)
    wrong = {**NOON, "name": "wrong", "zone": "Mars/X", "trigger": "every 0"}
    with pytest.raises(InvalidDefinition) as caught:
        agents.actions.create_all([NOON, wrong, {"target": TARGET}], ALICE, NOW)
    places = [mistake.partition(":")[0] for mistake in caught.value.mistakes]
    assert sorted(places) == ["number 3", "number 3", "wrong", "wrong"]
    assert everything(agents) == before


def test_the_same_name_twice_in_one_file(agents):
    before = everything(agents)
    with pytest.raises(InvalidDefinition, match="noon: 2 schedules of this name"):
        agents.actions.create_all([NOON, NOON], ALICE, NOW)
    assert everything(agents) == before


def test_a_name_that_is_taken_is_refused_with_all_the_others(agents):
    agents.actions.create(NOON, ALICE, NOW)
    before = everything(agents)
    with pytest.raises(Refused, match="already noon"):
        agents.actions.create_all([REPORT, {**NOON, "trigger": "every 60"}], ALICE, NOW)
    assert everything(agents) == before


def test_a_name_that_is_taken_between_the_look_and_the_write_undoes_all(agents, monkeypatch):
    agents.actions.create(NOON, ALICE, NOW)
    before = everything(agents)
    monkeypatch.setattr(agents.actions, "_present", lambda items, definitions: {})
    with pytest.raises(Refused, match="already noon"):
        agents.actions.create_all([{**JOB, "when": "2020-01-01T00:00:00Z"}, NOON], ALICE, NOW)
    assert everything(agents) == before


def test_a_first_run_comes_at_once_and_once_in_a_life(agents):
    first = {**NOON, "first_run": "immediately"}
    agents.actions.create(first, ALICE, NOW, enable=True)
    (run,) = agents.runs("noon")
    assert (run.key, run.state, run.due_at) == ("first", RunState.PENDING_CONSTRAINT, NOW)
    assert run.program == "https://receiver.example:443"
    member = agents.member()
    member.rest()
    agents.actions.replace("noon", {**first, "priority": 1}, ALICE, NOW)
    agents.actions.disable("noon", ALICE, NOW)
    agents.actions.enable("noon", ALICE, NOW)
    member.rest()
    assert [(run.key, run.state) for run in agents.runs("noon")] == [("first", RunState.PROCESSED)]
    assert len(member.sender.requests) == 1


# Payloads


@pytest.mark.parametrize(
    ("payload", "is_apart"),
    [
        ("x" * 65_536, False),
        ("x" * 65_537, True),
        ("ß" * 32_768, False),
        ("ß" * 32_769, True),
    ],
)
def test_a_payload_of_more_than_64_kib_lies_apart(agents, payload, is_apart):
    agents.actions.create({**NOON, "payload": payload}, ALICE, NOW)
    kept = stored(agents, "noon").definition["payload"]
    if is_apart:
        assert agents.store.payloads.get(kept["stored"]) == payload.encode()
    else:
        assert kept == payload


def test_a_dry_run_stores_no_payload(agents):
    before = everything(agents)
    agents.actions.create({**NOON, "payload": "x" * 100_000}, ALICE, NOW, dry_run=True)
    assert everything(agents) == before


def test_what_was_stored_apart_may_be_named_in_an_edit(agents):
    agents.actions.create({**NOON, "payload": "x" * 100_000}, ALICE, NOW)
    sent = {**stored(agents, "noon").definition, "priority": 5}
    agents.actions.replace("noon", sent, ALICE, NOW)
    row = stored(agents, "noon")
    assert row.definition["priority"] == 5
    assert len(agents.store.payloads.get(row.definition["payload"]["stored"])) == 100_000


# Replaced


def test_an_edit_is_a_version_and_begins_anew(agents):
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
    # what it had collected has a record, with the reason
    (record,) = agents.runs("loads")
    assert (record.state, record.key) == (RunState.ABORTED, "events:e1")
    assert record.reason == "superseded by version 2"
    assert record.detail.cause["count"] == 1


def test_an_edit_drops_what_waits_of_the_version_before(agents):
    agents.actions.create(NOON, ALICE, NOW, enable=True)
    a_pending_run(agents, "noon")
    launched = a_pending_run(agents, "noon", id="l", key="due:y", state=RunState.LAUNCHED)
    agents.actions.replace("noon", {**NOON, "priority": 1}, ALICE, NOW)
    runs = {run.id: run for run in agents.runs("noon")}
    assert runs["pending-of-noon"].state is RunState.ABORTED
    assert runs["pending-of-noon"].reason == "superseded by version 2"
    assert runs["pending-of-noon"].finished_at == NOW
    assert runs["l"] == launched


def test_an_edit_of_a_disabled_one_leaves_it_disabled(agents):
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


def test_what_is_not_shown_may_be_sent_back_as_it_was_shown(agents):
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


def test_an_edit_dry(agents):
    agents.actions.create(LOADS, ALICE, NOW, enable=True)
    before = everything(agents)
    made = agents.actions.replace("loads", {**LOADS, "priority": 3}, ALICE, NOW, dry_run=True)
    assert made.version == 2
    assert everything(agents) == before


# Enabled and disabled


def test_enabling_and_disabling(agents):
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


def test_disabling_without_a_reason_says_who_did_it(agents):
    agents.actions.create(NOON, OPERATOR, NOW, enable=True)
    agents.actions.disable("noon", OPERATOR, NOW)
    assert stored(agents, "noon").reason == "disabled by an operator"


def test_disabling_drops_what_is_pending_with_the_reason(agents):
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
def test_what_is_so_already_is_refused(agents, action):
    agents.actions.create(NOON, ALICE, NOW, enable=action == "enable")
    before = everything(agents)
    with pytest.raises(Refused, match="already"):
        getattr(agents.actions, action)("noon", ALICE, NOW)
    assert everything(agents) == before


@pytest.mark.parametrize("action", ["enable", "disable", "remove", "trigger", "cancel_job"])
def test_what_there_is_not(agents, action):
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


def test_one_whose_program_is_gone_cannot_be_enabled(agents):
    agents.actions.create(REPORT, ALICE, NOW)
    bare = AgentHarness(Deployment({}, {}), store=agents.store)
    before = everything(agents)
    with pytest.raises(Refused, match="report cannot be enabled: process: unknown process Report"):
        bare.actions.enable("report", ALICE, NOW)
    assert everything(agents) == before


# Removed


def test_removing_keeps_the_runs_and_drops_what_is_pending(agents):
    agents.actions.create(NOON, ALICE, NOW, enable=True)
    a_pending_run(agents, "noon")
    agents.actions.remove("noon", ALICE, NOW)
    assert agents.store.schedules.count() == 0
    (run,) = agents.runs("noon")
    assert (run.state, run.reason) == (RunState.ABORTED, "its schedule was removed")
    assert ("schedule.removed", ALICE.why, ALICE.who) in journal_of(agents, "noon")


def test_one_that_the_context_declares_is_not_removed(agents):
    agents.actions.create(NOON, ALICE, NOW)
    declaring = AgentHarness(Deployment({}, {}, {"noon": NOON}), store=agents.store)
    before = everything(agents)
    with pytest.raises(Refused, match=r"declared in context\.py and would come back"):
        declaring.actions.remove("noon", ALICE, NOW)
    assert everything(agents) == before


# Others at the same time


class Meddling:
    """A store's schedules, where somebody else changes a row just before each of our writes."""

    def __init__(self, schedules, times: int) -> None:
        self._schedules = schedules
        self._times = times

    def __getattr__(self, name: str):
        return getattr(self._schedules, name)

    def meddle(self, name: str) -> None:
        if self._times > 0:
            self._times -= 1
            (row,) = self._schedules.get([name])
            assert self._schedules.change([ScheduleChange(replace(row, wake_at=NOW))]) == []

    def change(self, changes):
        for change in changes:
            self.meddle(change.schedule.name)
        return self._schedules.change(changes)

    def remove(self, schedule, *rest):
        self.meddle(schedule.name)
        return self._schedules.remove(schedule, *rest)


ASKED = {
    "replace": ({**LOADS, "priority": 9},),
    "disable": (),
    "remove": (),
}


@pytest.mark.parametrize("action", ASKED)
def test_a_row_that_keeps_changing_is_changed_in_the_end(agents, monkeypatch, action):
    agents.actions.create(LOADS, ALICE, NOW, enable=True)
    meddling = Meddling(agents.store.schedules, times=3)
    monkeypatch.setattr(agents.store, "schedules", meddling)
    getattr(agents.actions, action)("loads", *ASKED[action], ALICE, NOW)
    (row,) = meddling.get(["loads"]) or [None]
    match action:
        case "replace":
            assert row.definition["priority"] == 9
        case "disable":
            assert not row.is_enabled
        case "remove":
            assert row is None


@pytest.mark.parametrize("action", ASKED)
def test_one_that_never_stands_still_is_refused_and_nothing_is_half_done(
    agents, monkeypatch, action
):
    agents.actions.create(LOADS, ALICE, NOW, enable=True)
    a_pending_run(agents, "loads")
    before = everything(agents)
    meddling = Meddling(agents.store.schedules, times=1000)
    monkeypatch.setattr(agents.store, "schedules", meddling)
    with pytest.raises(Refused, match="keeps changing"):
        getattr(agents.actions, action)("loads", *ASKED[action], ALICE, NOW)
    monkeypatch.undo()
    # The others' changes were in our batches, and went with them.
    assert everything(agents) == before


# One-off jobs


def test_a_job_without_a_name_is_the_same_when_it_is_asked_for_twice(agents):
    data = {"target": TARGET, "when": "2026-03-10T12:05:00Z", "payload": "x"}
    first = agents.actions.create(data, ALICE, NOW)
    before = everything(agents)
    assert agents.actions.create(data, ALICE, NOW + timedelta(hours=1)).name == first.name
    assert everything(agents) == before
    assert first.is_enabled
    assert agents.actions.create({**data, "payload": "y"}, ALICE, NOW).name != first.name


def test_a_job_that_is_past_runs_at_once(agents):
    member = agents.member()
    agents.actions.create({**JOB, "when": "2026-03-10T11:00:00Z"}, ALICE, NOW)
    member.rest()
    (run,) = agents.runs("job")
    assert (run.state, run.key) == (RunState.PROCESSED, "due:2026-03-10T11:00:00Z")
    assert len(member.sender.requests) == 1


def test_a_canceled_job_never_runs_and_has_its_record(agents):
    member = agents.member()
    agents.actions.create(JOB, ALICE, NOW)
    run = agents.actions.cancel_job("job", ALICE, NOW)
    assert (run.state, run.reason) == (RunState.CANCELED, "for the audit")
    agents.advance(member, 300)
    (record,) = agents.runs("job")
    assert (record.state, record.key) == (RunState.CANCELED, "due:2026-03-10T12:05:00Z")
    assert not stored(agents, "job").is_enabled
    assert member.sender.requests == []


def test_jobs_that_cannot_be_canceled(agents):
    member = agents.member()
    agents.actions.create(JOB, ALICE, NOW)
    agents.actions.create({**JOB, "name": "off", "enabled": False}, ALICE, NOW)
    agents.actions.create(NOON, ALICE, NOW, enable=True)
    before = everything(agents)
    agents.actions.cancel_job("job", ALICE, NOW, dry_run=True)
    for name, reason in (("off", "disabled already"), ("noon", "no one-off job")):
        with pytest.raises(Refused, match=reason):
            agents.actions.cancel_job(name, ALICE, NOW)
    assert everything(agents) == before
    agents.advance(member, 300)
    before = everything(agents)
    with pytest.raises(Refused, match="is processed: it has ended"):
        agents.actions.cancel_job("job", ALICE, NOW)
    assert everything(agents) == before


def test_errors_of_schedules_are_errors_of_values():
    assert issubclass(InvalidDefinition, InvalidValue)


@pytest.mark.parametrize(
    ("host", "what"),
    [
        ("127.0.0.1", "127.0.0.1 is loopback"),
        ("127.1", "127.0.0.1 is loopback"),
        ("0x7f000001", "127.0.0.1 is loopback"),
        ("10.1.2.3:8080", "10.1.2.3 is private"),
        ("169.254.169.254", "169.254.169.254 is link-local"),
        ("[::1]", "::1 is loopback"),
        ("[::ffff:10.0.0.1]", "10.0.0.1"),
    ],
)
def test_a_private_address_as_a_target_is_refused_unless_it_is_allowed(agents, host, what):
    data = {**NOON, "target": f"http://{host}/hook"}
    before = everything(agents)
    asked = ScheduleCommands(agents.store, agents.bus, agents.deployment, ())
    with pytest.raises(InvalidDefinition) as caught:
        asked.create(data, ALICE, NOW, enable=True)
    (mistake,) = caught.value.mistakes
    assert what in mistake
    assert "webhook_networks" in mistake
    assert everything(agents) == before
    everywhere = [ip_network("0.0.0.0/0"), ip_network("::/0")]
    allowed = ScheduleCommands(agents.store, agents.bus, agents.deployment, everywhere)
    assert allowed.create(data, ALICE, NOW).name == "noon"


def test_a_public_address_and_a_name_are_taken(agents):
    asked = ScheduleCommands(agents.store, agents.bus, agents.deployment, ())
    for name, host in (("one", "93.184.216.34"), ("two", "internal.example")):
        asked.create({**NOON, "name": name, "target": f"https://{host}/"}, ALICE, NOW)
