"""An agent over MongoDB that is killed, or loses its connection, at any write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest
from pymongo.errors import AutoReconnect

from synergy.delivery.request import SendOutcome, failed, sent
from synergy.errors import StorageUnavailable
from synergy.model.process import Deployment
from synergy.model.schedule import RunState
from tests.seeds import alternating
from tests.service.agent_harness import NOW, AgentHarness, SteppedAgent, a_worker
from tests.service.agent_piecemeal_kit import a_store, announce
from tests.service.faults import Died, FaultyStore
from tests.service.piecemeal import UnreliableBus
from tests.service.run_story import assert_legal
from tests.service.test_agent_crashes import CrashScenario
from tests.service.test_piecemeal_mongodb import WRITES


class Faults:
    """Counts the writes of an agent while `is_watched`; write number `fails_at` raises `fault`.

    `is_late`: the write is made, but its answer is lost.
    """

    def __init__(self, fails_at: int, fault: type[BaseException], *, is_late: bool) -> None:
        self.writes = 0
        self.fails_at = fails_at
        self.fault = fault
        self.is_late = is_late
        self.is_watched = False

    def over(self, database: object) -> _Database:
        return _Database(database, self)

    def write(self, real: Callable[..., object], *arguments: object, **options: object) -> object:
        if not self.is_watched:
            return real(*arguments, **options)
        self.writes += 1
        fails = self.writes == self.fails_at
        if fails and not self.is_late:
            raise self.fault("raised by the test")
        answer = real(*arguments, **options)
        if fails:
            raise self.fault("raised by the test")
        return answer


class _Database:
    def __init__(self, real: object, faults: Faults) -> None:
        self._real, self._faults = real, faults

    def __getitem__(self, name: str) -> _Collection:
        return _Collection(self._real[name], self._faults)

    def __getattr__(self, method: str) -> object:
        return getattr(self._real, method)


class _Collection:
    def __init__(self, real: object, faults: Faults) -> None:
        self._real, self._faults = real, faults

    def __getattr__(self, method: str) -> object:
        real = getattr(self._real, method)
        return partial(self._faults.write, real) if method in WRITES else real


class MongoCrashScenario(CrashScenario):
    """The scenario of `test_agent_crashes` over MongoDB, with a fault at one of its writes."""

    def __init__(
        self, fails_at: int = 0, fault: type[BaseException] = Died, *, is_late: bool = False
    ) -> None:
        self.faults = Faults(fails_at, fault, is_late=is_late)
        store = a_store(self.faults.over)
        self.agents = agents = AgentHarness(Deployment({"Export": a_worker()}, {}), store=store)
        self.bus = UnreliableBus(store, lambda: False)
        self.answers: Counter[str] = Counter()
        agents.add("plain", cron="0 * * * *")
        agents.add("missed", cron="*/20 * * * *", catchup="latest")
        agents.add("delayed", cron="0 * * * *", constraints=[{"delay": "5s"}])
        agents.add("export", cron="0 * * * *", process="Export")
        agents.add("alone", trigger={"partition": {"dataset": "orders", "n": 2}})
        self.member = agents.member("agent-1", self.answer, rooms=1, bus=self.bus)
        self.member.rest()
        agents.event("PARTITION", "orders", NOW, "one")
        agents.event("PARTITION", "orders", NOW, "two")
        agents.clock.advance(3600)

    @property
    def has_failed(self) -> bool:
        return 0 < self.faults.fails_at <= self.faults.writes

    def run_until_fault(self) -> None:
        self.faults.is_watched = True
        super().run_until_fault()
        self.faults.is_watched = False

    def finish(self, member: SteppedAgent) -> None:
        """Also publishes units whose message was lost, as the collector of a scheduler does."""
        self.agents.advance(member, 70)
        announce(self.agents)
        super().finish(member)

    def check(self, *members: SteppedAgent, sent_again: int) -> None:
        super().check(*members)
        requests = [request for member in members for request in member.sender.requests]
        attempts = Counter((request.key, request.attempt) for request in requests)
        assert set(attempts.values()) == {1}
        assert len(requests) <= 4 + sent_again
        assert_legal(self.agents.store)


LAST = 60  # the last write at which a fault is made


def test_the_agent_finishes_its_work_within_the_tested_writes():
    scenario = MongoCrashScenario()
    scenario.run_until_fault()
    states = scenario.agents.states()
    scenario.close()
    assert states == {RunState.PROCESSED: 4, RunState.SKIPPED: 2, RunState.LAUNCHED: 1}
    assert 30 < scenario.faults.writes <= LAST


@pytest.mark.parametrize("fails_at", range(1, LAST + 2))
def test_another_agent_finishes_the_work_of_one_killed_between_any_two_writes(fails_at):
    scenario = MongoCrashScenario(fails_at)
    scenario.run_until_fault()
    other = scenario.agents.member("agent-2")
    scenario.finish(other)
    scenario.check(scenario.member, other, sent_again=2)  # the capacity of two agents
    scenario.close()


@pytest.mark.parametrize(("fails_at", "is_late"), alternating(range(1, LAST + 1)))
def test_an_agent_continues_after_any_failed_write(fails_at, is_late):
    scenario = MongoCrashScenario(fails_at, AutoReconnect, is_late=is_late)
    scenario.run_until_fault()
    scenario.finish(scenario.member)
    scenario.check(scenario.member, sent_again=0)
    scenario.close()


def test_repetitions_due_during_an_outage_of_the_store_are_sent():
    """The deliverer sends them; it does not wait until the deciding agent checks all runs."""
    agents = AgentHarness()
    store = FaultyStore(agents.store, 0, StorageUnavailable)
    answers = [failed("answered 503", SendOutcome.REFUSED), sent()]
    member = agents.member(receiver=lambda _: answers.pop(0), store=store)
    agents.add("job", when=NOW.isoformat())
    agents.clock.advance(member.rest())
    store.fails_at = store.calls + 1
    with pytest.raises(StorageUnavailable):
        member.deliver()
    member.deliver()
    member.sender.answer()
    member.deliver()
    assert agents.states() == {RunState.PROCESSED: 1}
