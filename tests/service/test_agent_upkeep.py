"""Counters of agents, and decisions that are made before the due time."""

from __future__ import annotations

from datetime import timedelta

import pytest
from prometheus_client import generate_latest

from synergy import names
from synergy.model.schedule import RunState
from synergy.queries.metrics.agents import AgentMetrics
from synergy.runtime import agent_counters
from synergy.runtime.shared_parts import AGENTS
from synergy.storage.protocol import QuarantineLimits
from tests.service.agent_harness import NOW, OPERATOR, AgentHarness

DAY = 86_400


# Counting


def write_counters(agents: AgentHarness, number: int, text: str) -> None:
    """Stores these counters for the agent that is, or was, the member with this number."""
    agents.store.leases.take(None, f"{AGENTS}{number}", f"agent-{number}")
    agents.store.facts.set(names.agent_counters(number), text)


def exposed(agents: AgentHarness) -> list[str]:
    """The lines of the metrics of agents."""
    return generate_latest(AgentMetrics(agents.store)).decode().splitlines()


def test_counts_of_all_agents_are_summed(agents: AgentHarness):
    for member in (2, 3):  # the first has counted nothing
        meter = agent_counters.Meter()
        meter.count("job_executed_total", "sent", member - 1)
        meter.observe("job_executed_delay_seconds", "first", 0.2 * (member - 1))
        write_counters(agents, member, meter.text())
    agents.store.leases.take(None, f"{AGENTS}1", "agent-1")
    lines = exposed(agents)
    assert 'synergy_job_executed_total{outcome="sent"} 3.0' in lines
    delay = "synergy_job_executed_delay_seconds"
    assert f'{delay}_bucket{{le="0.1",outcome="first"}} 0.0' in lines
    assert f'{delay}_bucket{{le="0.25",outcome="first"}} 1.0' in lines
    assert f'{delay}_bucket{{le="0.5",outcome="first"}} 2.0' in lines
    assert f'{delay}_bucket{{le="+Inf",outcome="first"}} 2.0' in lines
    assert f'{delay}_count{{outcome="first"}} 2.0' in lines
    assert any(line.startswith(f'{delay}_sum{{outcome="first"}} 0.6') for line in lines)


def test_every_metric_has_its_heading_and_labels_are_escaped(agents: AgentHarness):
    meter = agent_counters.Meter()
    meter.count("error_total", 'a "b"\n')
    write_counters(agents, 1, meter.text())
    lines = exposed(agents)
    kinds = {
        **dict.fromkeys(agent_counters.COUNTERS, "counter"),
        **dict.fromkeys(agent_counters.DURATIONS, "histogram"),
        **dict.fromkeys(("schedules", "runs_unfinished"), "gauge"),
        **dict.fromkeys(("dead_messages", "dead_messages_bytes"), "gauge"),
        "dead_messages_dropped_total": "counter",
    }
    headings = {f"# TYPE synergy_{name} {kind}" for name, kind in kinds.items()}
    assert headings == {line for line in lines if line.startswith("# TYPE ")}
    assert 'synergy_error_total{outcome="a \\"b\\"\\n"} 1.0' in lines


def test_the_contents_of_quarantine_are_measured(agents: AgentHarness):
    limits = QuarantineLimits(messages=2, bytes=100)
    for body in (b"1", b"22", b"333"):
        agents.store.messages.bury("q", body, "odd", agents.clock.now(), limits)
    lines = exposed(agents)
    assert "synergy_dead_messages 2.0" in lines
    assert "synergy_dead_messages_bytes 11.0" in lines
    assert "synergy_dead_messages_dropped_total 1.0" in lines


def test_unreadable_counts_are_zero(agents: AgentHarness):
    write_counters(agents, 1, "rubbish")
    assert agent_counters.collected(agents.store).total("job_executed_total") == 0


def test_an_agent_writes_its_counters_regularly(agents: AgentHarness):
    agents.add("hourly", cron="0 * * * *")
    member = agents.member()
    agents.advance(member, 3600)
    agents.advance(member, 15)
    meter = agent_counters.collected(agents.store)
    assert meter.total("job_executed_total", "sent") == 1
    assert meter.total("job_completed_total", "processed") == 1
    assert meter.total("schedule_job_started_total", "launched") == 1
    assert meter.total("schedule_leased_total", "due") == 1
    agents.advance(member, 3600)
    agents.advance(member, 15)
    assert agent_counters.collected(agents.store).total("job_executed_total") == 2
    assert 'synergy_runs_unfinished{state="pending"} 0.0' in exposed(agents)


# Deciding ahead


def just_before(agents: AgentHarness, member) -> None:
    """Moves to a second before 13:00, when the decision for 13:00 has been made ahead."""
    agents.clock.advance(3595)
    member.rest()
    agents.clock.advance(4)
    member.rest()


def test_a_decision_made_ahead_is_written_when_it_is_due(agents: AgentHarness):
    agents.add("hourly", cron="0 * * * *", payload="${scheduledTime}")
    member = agents.member()
    just_before(agents, member)
    assert not agents.runs()
    agents.clock.advance(1)
    member.rest()
    (run,) = agents.runs()
    assert (run.due_at, run.created_at) == (NOW + timedelta(hours=1),) * 2
    assert member.sender.requests[0].body == b"2026-03-10T13:00:00.000Z"
    agents.advance(member, 3600)
    assert len(agents.runs()) == 2


@pytest.mark.parametrize("change", ["edit", "disable", "remove", "recreate"])
def test_a_decision_made_ahead_is_dropped_if_the_schedule_changes(
    agents: AgentHarness, change: str
):
    agents.add("hourly", cron="0 * * * *")
    member = agents.member()
    just_before(agents, member)
    now = agents.clock.now()
    if change == "edit":
        other = {"target": "https://other.example/", "cron": "0 * * * *"}
        agents.actions.replace("hourly", other, OPERATOR, now)
    elif change == "disable":
        agents.actions.disable("hourly", OPERATOR, now)
    else:
        agents.actions.remove("hourly", OPERATOR, now)
    if change == "recreate":
        agents.add("hourly", cron="0 * * * *", target="https://other.example/")
    agents.clock.advance(1)
    member.rest()
    assert [request.target.url for request in member.sender.requests] == (
        ["https://other.example/"] if change in ("edit", "recreate") else []
    )


def test_a_decision_made_ahead_is_not_used_late(agents: AgentHarness):
    agents.add("minutely", cron="* * * * *", catchup="latest")
    member = agents.member()
    agents.clock.advance(55)
    member.rest()
    agents.clock.advance(65)
    member.rest()
    assert [run.state for run in agents.runs()] == [RunState.SKIPPED, RunState.PROCESSED]
