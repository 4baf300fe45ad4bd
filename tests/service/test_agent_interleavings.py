"""Several agents over MongoDB, each of whose loops may be paused or killed at any request."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from functools import partial
from random import Random

import pytest
from pymongo.errors import AutoReconnect

from synergy.delivery.request import Request, Response, SendOutcome, failed, sent
from synergy.errors import MessagingUnavailable, StorageUnavailable
from synergy.model.process import Deployment
from synergy.model.schedule import RunState
from synergy.names import DELIVERIES
from tests.seeds import seeds
from tests.service.agent_harness import NOW, AgentHarness, SteppedAgent, a_worker, work
from tests.service.agent_piecemeal_kit import a_store, announce
from tests.service.piecemeal import Actor, UnreliableBus
from tests.service.run_story import assert_legal
from tests.service.test_piecemeal_mongodb import Collections

MINUTE = timedelta(minutes=1)


REST = 4 * MINUTE  # enough to take over from a lost agent and to repeat refused deliveries


CALM = 1.0  # a roll that is never below any probability


class AgentSimulation:
    """One random simulation of several agents.

    Each agent has a loop that decides and one that delivers. At its requests a loop may pause for
    longer than any lease lasts, be killed, or find the store or the broker unavailable. Receivers
    refuse, or do not answer for a while; messages get lost.
    """

    steps = 500
    number = 3

    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)
        self.is_calm = True
        self.pause_probability = random.choice([0.05, 0.2, 0.5])
        self.failure_probability = random.choice([0.0, 0.003, 0.01])
        self.death_probability = random.choice([0.0, 0.01, 0.03])
        store = a_store(lambda database: Collections(database, self._request))
        self.agents = agents = AgentHarness(Deployment({"Export": a_worker()}, {}), store=store)
        self.bus = UnreliableBus(store, lambda: self._roll() < 0.1)
        lasts = {"cron": "* * * * *", "budget": "1d"}  # the budget outlasts all refusals
        agents.add("plain", **lasts)
        agents.add("delayed", **lasts, constraints=[{"delay": "5s"}])
        waits = {"concurrency": {"n": 1, "when_unmet": "wait"}}
        agents.add("serial", **lasts, constraints=[waits])
        agents.add("export", cron="* * * * *", process="Export")
        agents.add("sum", trigger={"partition": {"dataset": "orders", "n": 2}})
        self.events = 0
        self.actors: dict[tuple[SteppedAgent, str], Actor] = {}
        self.members = [self._member() for _ in range(self.number)]
        self.is_calm = False

    def run(self) -> None:
        try:
            for _ in range(self.steps):
                self._step()
            self._come_to_rest()
            self._check()
        finally:
            self.bus.close()
            self.agents.close()

    def _member(self) -> SteppedAgent:
        number = len(self.agents.members) + 1
        return self.agents.member(f"agent-{number}", self._answer, rooms=2, bus=self.bus)

    def _answer(self, _: Request) -> Response | None:
        roll = self._roll()
        if roll < 0.1:
            return None
        if roll < 0.3:
            return failed("answered 503", SendOutcome.REFUSED)
        return sent()

    def _roll(self) -> float:
        return CALM if self.is_calm else self.random.random()

    def _request(self, is_write: bool) -> None:
        actor = Actor.current()
        if actor is None:
            return
        if self._roll() < (self.pause_probability if is_write else self.pause_probability / 5):
            actor.pause()
        if self._roll() < self.failure_probability:
            raise AutoReconnect("the store is unavailable")

    def _step(self) -> None:
        roll, member = self.random.random(), self.random.choice(self.members)
        if roll < 0.40:
            self._start_or_resume(member, "decide")
        elif roll < 0.75:
            self._start_or_resume(member, "deliver")
        elif roll < 0.85:
            member.sender.answer()
        elif roll < 0.94:
            self.agents.clock.advance(self.random.choice([0.1, 0.5, 1, 2, 4, 4, 12, 30]))
        elif roll < 0.97:
            self._event()
        elif roll < 0.98:
            self.agents.bus.purge(DELIVERIES)
        else:
            work(self.agents, "Export")

    def _event(self) -> None:
        self.events += 1
        self.agents.event("PARTITION", "orders", self.agents.clock.now(), f"order {self.events}")

    def _start_or_resume(self, member: SteppedAgent, loop: str) -> None:
        """Resumes a loop of an agent or starts its next turn; sometimes kills the agent instead."""
        actor = self.actors.get((member, loop))
        if actor is None or actor.is_done:
            actor = self.actors[member, loop] = Actor(partial(self._turn, member, loop))
        elif self.random.random() < self.death_probability:
            self._kill(member)
            return
        actor.resume()

    def _turn(self, member: SteppedAgent, loop: str) -> None:
        try:
            getattr(member, loop)()
        except StorageUnavailable:
            if loop == "decide":
                member.agent.forget()
        except MessagingUnavailable:
            pass

    def _kill(self, member: SteppedAgent) -> None:
        for loop in ("decide", "deliver"):
            actor = self.actors.pop((member, loop), None)
            if actor is not None:
                actor.kill()
        self.members[self.members.index(member)] = self._member()

    def _come_to_rest(self) -> None:
        self.is_calm = True
        for actor in self.actors.values():
            while not actor.is_done:
                actor.resume()
        self._rest_until(self.agents.clock.now() + REST)
        self._rest_until(self.agents.clock.now().replace(second=30, microsecond=0) + MINUTE)

    def _rest_until(self, ends_at: datetime) -> None:
        while (left := (ends_at - self.agents.clock.now()).total_seconds()) > 0:
            self.agents.clock.advance(min(3.0, left))
            announce(self.agents)
            work(self.agents, "Export")
            for member in self.members:
                member.rest()

    def _check(self) -> None:
        agents = self.agents
        agents.store.recover()
        assert_legal(agents.store)
        ended = (agents.clock.now() - NOW) // MINUTE
        minutes = [NOW + n * MINUTE for n in range(1, ended + 1)]
        for name in ("plain", "delayed", "serial", "export"):
            assert [run.due_at for run in agents.runs(name)] == minutes, name
        for name in ("plain", "delayed", "serial"):
            assert set(agents.states(name)) <= {RunState.PROCESSED}, name
        assert set(agents.states("export")) <= {RunState.PROCESSED, RunState.SKIPPED}
        assert len(agents.runs("sum")) == self.events // 2
        units, _ = agents.store.units.find(process="Export", limit=1000)
        assert len(units) == agents.states("export")[RunState.PROCESSED]
        sent_keys = Counter(
            (request.key, request.attempt)
            for member in agents.members
            for request in member.sender.requests
        )
        assert set(sent_keys.values()) == {1}


@pytest.mark.parametrize("seed", seeds(3))
def test_random_simulations_lose_no_due_time_and_launch_none_twice(seed):
    AgentSimulation(seed).run()
