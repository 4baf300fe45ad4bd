"""What agents count, and what they decide ahead."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from prometheus_client import generate_latest

from synergy import names
from synergy.model.schedule import RunState
from synergy.queries.metrics.agents import AgentMetrics
from synergy.runtime import agent_counters
from synergy.runtime.leaders import AGENTS
from tests.service.agent_harness import NOW, OPERATOR, AgentHarness

DAY = 86_400


@pytest.fixture
def yard() -> Iterator[AgentHarness]:
    yard = AgentHarness()
    yield yard
    yard.close()


# Counting


def an_agent_wrote(yard: AgentHarness, number: int, text: str) -> None:
    """The agent that has, or had, this number as a member."""
    yard.store.leases.take(None, f"{AGENTS}{number}", f"agent-{number}")
    yard.store.facts.set(names.agent_counters(number), text)


def exposed(yard: AgentHarness) -> list[str]:
    """The lines of the metrics of agents."""
    return generate_latest(AgentMetrics(yard.store)).decode().splitlines()


def test_counts_of_all_agents_are_summed(yard: AgentHarness):
    for member in (2, 3):  # the first has counted nothing
        meter = agent_counters.Meter()
        meter.count("job_executed_total", "sent", member - 1)
        meter.observe("job_executed_delay_seconds", "first", 0.2 * (member - 1))
        an_agent_wrote(yard, member, meter.text())
    yard.store.leases.take(None, f"{AGENTS}1", "agent-1")
    lines = exposed(yard)
    assert 'synergy_job_executed_total{outcome="sent"} 3.0' in lines
    delay = "synergy_job_executed_delay_seconds"
    assert f'{delay}_bucket{{le="0.1",outcome="first"}} 0.0' in lines
    assert f'{delay}_bucket{{le="0.25",outcome="first"}} 1.0' in lines
    assert f'{delay}_bucket{{le="0.5",outcome="first"}} 2.0' in lines
    assert f'{delay}_bucket{{le="+Inf",outcome="first"}} 2.0' in lines
    assert f'{delay}_count{{outcome="first"}} 2.0' in lines
    assert any(line.startswith(f'{delay}_sum{{outcome="first"}} 0.6') for line in lines)


def test_every_metric_has_its_heading_and_labels_are_escaped(yard: AgentHarness):
    meter = agent_counters.Meter()
    meter.count("error_total", 'a "b"\n')
    an_agent_wrote(yard, 1, meter.text())
    lines = exposed(yard)
    kinds = {
        **dict.fromkeys(agent_counters.COUNTERS, "counter"),
        **dict.fromkeys(agent_counters.DURATIONS, "histogram"),
        **dict.fromkeys(("schedules", "runs_unfinished", "dead_messages"), "gauge"),
    }
    headings = {f"# TYPE synergy_{name} {kind}" for name, kind in kinds.items()}
    assert headings == {line for line in lines if line.startswith("# TYPE ")}
    assert 'synergy_error_total{outcome="a \\"b\\"\\n"} 1.0' in lines


def test_what_cannot_be_read_counts_nothing(yard: AgentHarness):
    an_agent_wrote(yard, 1, "rubbish")
    assert agent_counters.collected(yard.store).total("job_executed_total") == 0


def test_an_agent_writes_its_counts_now_and_then(yard: AgentHarness):
    yard.add("hourly", cron="0 * * * *")
    member = yard.member()
    yard.advance(member, 3600)
    yard.advance(member, 15)
    meter = agent_counters.collected(yard.store)
    assert meter.total("job_executed_total", "sent") == 1
    assert meter.total("job_completed_total", "processed") == 1
    assert meter.total("schedule_job_started_total", "launched") == 1
    assert meter.total("schedule_leased_total", "due") == 1
    yard.advance(member, 3600)
    yard.advance(member, 15)
    assert agent_counters.collected(yard.store).total("job_executed_total") == 2
    assert 'synergy_runs_unfinished{state="pending"} 0.0' in exposed(yard)


# Deciding ahead


def just_before(yard: AgentHarness, member) -> None:
    """A second before one o'clock; what is due then was decided about."""
    yard.clock.advance(3595)
    member.rest()
    yard.clock.advance(4)
    member.rest()


def test_what_was_decided_ahead_is_written_when_it_is_due_and_not_before(yard: AgentHarness):
    yard.add("hourly", cron="0 * * * *", payload="${scheduledTime}")
    member = yard.member()
    just_before(yard, member)
    assert not yard.runs()
    yard.clock.advance(1)
    member.rest()
    (run,) = yard.runs()
    assert (run.due_at, run.created_at) == (NOW + timedelta(hours=1),) * 2
    assert member.sender.requests[0].body == b"2026-03-10T13:00:00.000Z"
    yard.advance(member, 3600)
    assert len(yard.runs()) == 2


@pytest.mark.parametrize("change", ["edit", "disable", "remove", "make anew"])
def test_a_decision_made_ahead_counts_for_that_very_row_only(yard: AgentHarness, change: str):
    yard.add("hourly", cron="0 * * * *")
    member = yard.member()
    just_before(yard, member)
    now = yard.clock.now()
    if change == "edit":
        other = {"target": "https://other.example/", "cron": "0 * * * *"}
        yard.actions.replace("hourly", other, OPERATOR, now)
    elif change == "disable":
        yard.actions.disable("hourly", OPERATOR, now)
    else:
        yard.actions.remove("hourly", OPERATOR, now)
    if change == "make anew":
        yard.add("hourly", cron="0 * * * *", target="https://other.example/")
    yard.clock.advance(1)
    member.rest()
    assert [request.target.url for request in member.sender.requests] == (
        ["https://other.example/"] if change in ("edit", "make anew") else []
    )


def test_a_decision_made_ahead_is_not_used_late(yard: AgentHarness):
    yard.add("minutely", cron="* * * * *", catchup="latest")
    member = yard.member()
    yard.clock.advance(55)
    member.rest()
    yard.clock.advance(65)
    member.rest()
    assert [run.state for run in yard.runs()] == [RunState.SKIPPED, RunState.PROCESSED]
