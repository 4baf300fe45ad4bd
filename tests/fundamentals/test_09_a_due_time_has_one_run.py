"""A schedule creates one run for each due time, even after crashes; a skipped run has a reason."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from synergy.model.schedule import RunState
from tests.service.agent_harness import AgentHarness


@pytest.fixture
def agents() -> Iterator[AgentHarness]:
    made = AgentHarness()
    yield made
    made.close()


def test_each_hour_is_sent_once(agents):
    agents.add("hourly", cron="0 * * * *")
    agent = agents.member()
    agents.advance(agent, 3 * 3600)
    assert agents.states("hourly") == {RunState.PROCESSED: 3}
    assert len({request.key for request in agent.sender.requests}) == 3


def test_due_times_of_an_outage_are_accounted_for(agents):
    agents.add("hourly", cron="0 * * * *", catchup="latest")
    agents.clock.advance(3 * 3600)  # no agent is at work
    agents.advance(agents.member(), 1)
    assert agents.states("hourly") == {RunState.PROCESSED: 1, RunState.SKIPPED: 2}
    assert all(run.reason for run in agents.runs("hourly") if run.state is RunState.SKIPPED)
