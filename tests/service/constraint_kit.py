"""Runs that wait for a constraint."""

from __future__ import annotations

from synergy.model.schedule import RunState
from tests.service.agent_harness import AgentHarness

WAITS = {"concurrency": {"n": 1, "when_unmet": "wait"}}


def launched(agents: AgentHarness) -> list[str]:
    return sorted(run.schedule for run in agents.runs() if run.state is RunState.LAUNCHED)
