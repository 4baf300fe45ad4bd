"""Schedules are created, or refused with every mistake and nothing stored."""

from __future__ import annotations

from datetime import timedelta
from ipaddress import ip_network

import pytest

from synergy.commands.schedules import ScheduleCommands
from synergy.delivery.addresses import AddressRules
from synergy.errors import Refused
from synergy.model.schedule import Origin, RunState
from synergy.schedule.check_context import InvalidDefinition
from tests.service.agent_harness import NOW, TARGET
from tests.service.schedule_kit import (
    ALICE,
    JOB,
    LOADS,
    NOON,
    REPORT,
    everything,
    journal_of,
    stored,
)


def test_a_schedule_created_through_the_api_is_disabled(agents):
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
def test_a_schedule_is_enabled_on_request(agents, data, enable, expected):
    assert agents.actions.create(data, ALICE, NOW, enable=enable).is_enabled is expected
    row = stored(agents, data["name"])
    assert row.is_enabled is expected
    assert (row.wake_at is not None) is expected


def test_a_new_schedule_ignores_earlier_events_and_due_times(agents):
    agents.event("PARTITION", "visits", NOW)
    agents.actions.create({**LOADS, "enabled": True}, ALICE, NOW)
    row = stored(agents, "loads")
    assert row.keys == ("PARTITION|visits",)
    assert row.progress["seen_events"] == 1
    # NOW is 12:00; the due time at this instant does not count
    agents.actions.create({**NOON, "enabled": True}, ALICE, NOW)
    assert stored(agents, "noon").wake_at == NOW + timedelta(days=1)


def test_several_schedules_are_created_at_once(agents):
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
        ({**NOON, "target": "ftp://x"}, "unknown scheme 'ftp'"),
        ({**NOON, "payload": {"stored": "nothing"}}, "nothing is stored as nothing"),
        ({**NOON, "headers": {"X-Key": "***"}}, "headers: X-Key: *** is shown in the place"),
        ({**NOON, "target": "amqp://u:***@h/v?exchange=e"}, "target: *** is shown in the place"),
        ({**NOON, "target": "https://h/?token=***&a=b"}, "target: *** is shown in the place"),
        ({**REPORT, "process": "Reprot"}, "did you mean Report?"),
    ],
)
def test_a_wrong_definition_is_refused_and_nothing_is_stored(agents, data, reason):
    before = everything(agents)
    with pytest.raises(InvalidDefinition) as caught:
        agents.actions.create(data, ALICE, NOW, enable=True)
    assert any(reason in mistake for mistake in caught.value.mistakes), caught.value.mistakes
    assert everything(agents) == before


def test_all_mistakes_of_all_definitions_are_listed_with_their_places(agents):
    before = everything(agents)
    wrong = {**NOON, "name": "wrong", "zone": "Mars/X", "trigger": "every 0"}
    with pytest.raises(InvalidDefinition) as caught:
        agents.actions.create_all([NOON, wrong, {"target": TARGET}], ALICE, NOW)
    places = [mistake.partition(":")[0] for mistake in caught.value.mistakes]
    assert sorted(places) == ["number 3", "number 3", "wrong", "wrong"]
    assert everything(agents) == before


def test_the_same_name_twice_in_one_file_is_refused(agents):
    before = everything(agents)
    with pytest.raises(InvalidDefinition, match="noon: 2 schedules of this name"):
        agents.actions.create_all([NOON, NOON], ALICE, NOW)
    assert everything(agents) == before


def test_a_name_that_is_taken_is_refused_with_all_the_others(agents):
    agents.actions.create(NOON, ALICE, NOW)
    before = everything(agents)
    with pytest.raises(Refused, match="already: noon"):
        agents.actions.create_all([REPORT, {**NOON, "trigger": "every 60"}], ALICE, NOW)
    assert everything(agents) == before


def test_a_name_taken_between_read_and_write_undoes_all(agents, monkeypatch):
    agents.actions.create(NOON, ALICE, NOW)
    before = everything(agents)
    monkeypatch.setattr(agents.actions, "_present", lambda items, definitions: {})
    with pytest.raises(Refused, match="already: noon"):
        agents.actions.create_all([{**JOB, "when": "2020-01-01T00:00:00Z"}, NOON], ALICE, NOW)
    assert everything(agents) == before


def test_the_first_run_is_made_at_once_and_only_once(agents):
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


@pytest.mark.parametrize(
    ("payload", "is_apart"),
    [
        ("x" * 65_536, False),
        ("x" * 65_537, True),
        ("ß" * 32_768, False),
        ("ß" * 32_769, True),
    ],
)
def test_a_payload_of_more_than_64_kib_is_stored_apart(agents, payload, is_apart):
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


def test_a_stored_payload_may_be_named_in_an_edit(agents):
    agents.actions.create({**NOON, "payload": "x" * 100_000}, ALICE, NOW)
    sent = {**stored(agents, "noon").definition, "priority": 5}
    agents.actions.replace("noon", sent, ALICE, NOW)
    row = stored(agents, "noon")
    assert row.definition["priority"] == 5
    assert len(agents.store.payloads.get(row.definition["payload"]["stored"])) == 100_000


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
    asked = ScheduleCommands(agents.store, agents.bus, agents.deployment, AddressRules())
    with pytest.raises(InvalidDefinition) as caught:
        asked.create(data, ALICE, NOW, enable=True)
    (mistake,) = caught.value.mistakes
    assert what in mistake
    assert "webhook_networks" in mistake
    assert everything(agents) == before
    networks = (ip_network("0.0.0.0/0"), ip_network("::/0"))
    everywhere = AddressRules(networks, networks)
    allowed = ScheduleCommands(agents.store, agents.bus, agents.deployment, everywhere)
    assert allowed.create(data, ALICE, NOW).name == "noon"


def test_a_private_broker_as_a_target_is_refused_unless_it_is_allowed(agents):
    data = {**NOON, "target": "amqps://me:hidden@10.1.2.3/?exchange=e"}
    asked = ScheduleCommands(agents.store, agents.bus, agents.deployment, AddressRules())
    with pytest.raises(InvalidDefinition) as caught:
        asked.create(data, ALICE, NOW)
    assert caught.value.mistakes == (
        "target: 10.1.2.3 is private: the setting webhook_networks does not allow it",
    )
    rules = AddressRules((ip_network("10.0.0.0/8"),))
    allowed = ScheduleCommands(agents.store, agents.bus, agents.deployment, rules)
    assert allowed.create(data, ALICE, NOW).name == "noon"


@pytest.mark.parametrize(
    ("host", "plaintext", "is_accepted"),
    [
        ("example.com", (), False),
        ("example.com", ("example.com",), True),
        ("EXAMPLE.com:8080", ("example.com",), True),
        ("not.example.com", ("example.com",), False),
        ("example.com", (ip_network("10.0.0.0/8"),), True),  # its address is judged at each request
        ("93.184.216.34", (), False),
        ("93.184.216.34", (ip_network("10.0.0.0/8"),), False),
        ("93.184.216.34", (ip_network("93.184.216.0/24"),), True),
        ("127.0.0.1", (), True),
        ("localhost", (), True),
        ("localhost.example.com", (), False),
    ],
)
def test_http_is_refused_unless_its_host_is_allowed(agents, host, plaintext, is_accepted):
    rules = AddressRules((ip_network("127.0.0.0/8"),), plaintext)
    asked = ScheduleCommands(agents.store, agents.bus, agents.deployment, rules)
    asked.create({**NOON, "name": "tls", "target": f"https://{host}/hook"}, ALICE, NOW)
    data = {**NOON, "target": f"http://{host}/hook"}
    if is_accepted:
        assert asked.create(data, ALICE, NOW).name == "noon"
    else:
        with pytest.raises(InvalidDefinition, match="use https, or the setting webhook_plaintext"):
            asked.create(data, ALICE, NOW)


def test_a_public_address_and_a_host_name_are_accepted(agents):
    asked = ScheduleCommands(agents.store, agents.bus, agents.deployment, AddressRules())
    for name, host in (("one", "93.184.216.34"), ("two", "internal.example")):
        asked.create({**NOON, "name": name, "target": f"https://{host}/"}, ALICE, NOW)
