"""Limits and joining over MongoDB, with an agent that is killed between any two writes.

MongoDB writes a decision piece by piece; every part of one may be the last.
"""

from __future__ import annotations

import pytest

from synergy.model.process import Deployment
from synergy.model.schedule import RunState
from tests.seeds import is_extended_run
from tests.service.agent_harness import NOW, AgentHarness, SteppedAgent, a_worker, refused
from tests.service.agent_piecemeal_kit import a_store
from tests.service.faults import Died
from tests.service.test_agent_piecemeal import Faults

EVENTS = ("a", "b", "c")
LAST = 97  # the last write at which the agent is killed
SCHEDULES = {
    "joins": {
        "trigger": {"partition": "visits"},
        "coalesce": True,
        "constraints": [{"delay": "45s"}],
    },
    "counted": {"trigger": "every 60", "process": "Export", "overlap": "skip", "max_runs": 2},
    "cancels": {"trigger": "every 60", "process": "Clean", "overlap": "cancel_other"},
    "paused": {
        "trigger": "every 60",
        "pause_after_failures": 2,
        "budget": "1s",
        "target": "https://refuses.example/",
    },
}


class Scenario:
    """Three events and three minutes, in which an agent dies at one of its writes."""

    def __init__(self, fails_at: int) -> None:
        self.faults = Faults(fails_at, Died, is_late=False)
        workers = {name: a_worker(name) for name in ("Export", "Clean")}
        self.agents = AgentHarness(Deployment(workers, {}), store=a_store(self.faults.over))
        for name, fields in SCHEDULES.items():
            self.agents.add(name, **fields)
        self.events = list(EVENTS)

    def member(self, owner: str) -> SteppedAgent:
        def receiver(request):
            return refused(500) if "refuses" in str(request.target) else None

        return self.agents.member(owner, receiver)

    def live(self, member: SteppedAgent, minutes: int) -> None:
        """Lets the agent work every ten seconds; events come in between."""
        for _ in range(6 * minutes):
            if self.events:
                self.faults.is_watched = False
                self.agents.event("PARTITION", "visits", NOW, self.events.pop(0))
            self.faults.is_watched = True
            member.rest()
            self.agents.clock.advance(10)

    def check(self) -> None:
        agents = self.agents
        causes = [run.detail.cause for run in agents.runs("joins")]
        assert sorted(id_ for cause in causes for id_ in cause["events"]) == list(EVENTS)
        assert sum(cause["count"] for cause in causes) == len(EVENTS)
        assert sum(run.launched_at is not None for run in agents.runs("counted")) <= 2
        assert agents.states("cancels")[RunState.LAUNCHED] == 1
        assert agents.states("cancels").keys() <= {RunState.LAUNCHED, RunState.CANCELED}
        assert agents.states("paused") == {RunState.FAILED: 2}
        (row,) = agents.store.schedules.get(["paused"])
        assert not row.is_enabled


def test_without_a_fault_everything_is_as_it_should_be():
    scenario = Scenario(0)
    scenario.live(scenario.member("agent-1"), 3)
    scenario.check()
    assert [run.detail.cause["events"] for run in scenario.agents.runs("joins")] == [list(EVENTS)]
    assert scenario.faults.writes > LAST


@pytest.mark.parametrize("fails_at", range(1, LAST + 1, 1 if is_extended_run() else 3))
def test_another_agent_loses_and_repeats_nothing(fails_at):
    scenario = Scenario(fails_at)
    with pytest.raises(Died):
        scenario.live(scenario.member("agent-1"), 3)
    scenario.faults.fails_at = 0
    scenario.live(scenario.member("agent-2"), 4)
    scenario.check()
