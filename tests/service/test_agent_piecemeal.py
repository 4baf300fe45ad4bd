"""Agents over a store without transactions: they end, or are put aside, between any two requests.

The MongoDB engine itself, request by request, over mongomock; messages leave after the batch, one
by one, as with a broker. What must hold in the end: each due time has one run, an event counts
once, no attempt is sent twice, and the journal tells of legal moves only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from random import Random

import mongomock
import pytest
from pymongo.errors import AutoReconnect

from synergy.agent.deciding.launcher import DELIVERIES
from synergy.delivery.request import Request, Response, SendOutcome, failed, sent
from synergy.errors import MessagingUnavailable, StorageUnavailable
from synergy.model.process import Deployment
from synergy.model.retention import DEFAULT
from synergy.model.schedule import RunState
from synergy.scheduler.collector import Collector
from synergy.storage.mongodb import MongoStore
from synergy.storage.mongodb.database import Database
from tests.contract import mongomock_engine
from tests.seeds import by_turns, seeds
from tests.service.agent_harness import NOW, AgentHarness, Member, a_worker, work
from tests.service.faults import Died, FaultyStore
from tests.service.piecemeal import Actor, UnreliableBus
from tests.service.run_story import assert_legal
from tests.service.test_agent_crashes import Course
from tests.service.test_piecemeal_mongodb import WRITES, Collections

assert mongomock_engine  # makes mongomock understand what pymongo asks of it

MINUTE = timedelta(minutes=1)
REST = 4 * MINUTE  # more than takes of a lost agent, and tries after refusals, need
CALM = 1.0  # a roll that is never below any probability


def a_store(disturbed: Callable[[object], object]) -> MongoStore:
    """A new store, over a database that is disturbed."""
    database = Database(mongomock.MongoClient(), "synergy", "mongomock")
    database._database = disturbed(database._database)
    return MongoStore.over(database)


def announce(agents: AgentHarness) -> None:
    """Tells the workers of all units that nobody has taken."""
    processes = agents.deployment.freerun
    collector = Collector(
        agents.store, agents.bus, agents.clock, processes, lambda _: False, DEFAULT
    )
    collector.run_once(flush=True)


# One agent, which ends or is cut off at each request


class Faults:
    """Counts the writes of an agent, once it is watched; at one of them something happens.

    `is_late`: the write is made, and its answer lost.
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
            raise self.fault("as the test wants it")
        answer = real(*arguments, **options)
        if fails:
            raise self.fault("as the test wants it")
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


class MongoCourse(Course):
    """The course of `test_agent_crashes`, over MongoDB, disturbed between two of its writes."""

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

    def disturbed(self) -> None:
        self.faults.is_watched = True
        super().disturbed()
        self.faults.is_watched = False

    def finish(self, member: Member) -> None:
        """As a scheduler's collector: a unit that no worker was told of is told of."""
        self.agents.advance(member, 70)
        announce(self.agents)
        super().finish(member)

    def check(self, *members: Member, sent_again: int) -> None:
        super().check(*members)
        requests = [request for member in members for request in member.sender.requests]
        attempts = Counter((request.key, request.attempt) for request in requests)
        assert set(attempts.values()) == {1}
        assert len(requests) <= 4 + sent_again
        assert_legal(self.agents.store)


LAST = 60  # of the writes that are disturbed


def test_the_writes_that_are_disturbed_are_all_there_are():
    course = MongoCourse()
    course.disturbed()
    states = course.agents.states()
    course.close()
    assert states == {RunState.PROCESSED: 4, RunState.SKIPPED: 2, RunState.LAUNCHED: 1}
    assert 30 < course.faults.writes <= LAST


@pytest.mark.parametrize("fails_at", range(1, LAST + 2))
def test_an_agent_killed_between_any_two_writes_leaves_nothing_undone(fails_at):
    course = MongoCourse(fails_at)
    course.disturbed()
    other = course.agents.member("agent-2")
    course.finish(other)
    course.check(course.member, other, sent_again=2)  # as many as there is room for, twice
    course.close()


@pytest.mark.parametrize(("fails_at", "is_late"), by_turns(range(1, LAST + 1)))
def test_an_agent_goes_on_after_any_write_that_fails(fails_at, is_late):
    course = MongoCourse(fails_at, AutoReconnect, is_late=is_late)
    course.disturbed()
    course.finish(course.member)
    course.check(course.member, sent_again=0)
    course.close()


def test_what_is_to_be_sent_again_while_the_store_is_away_is_not_forgotten():
    """Else it would wait for the deciding agent to look at everything."""
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


# Several agents, each of whose loops may be put aside, or end, at any request


class Agents:
    """One random course of events.

    Agents decide and deliver, each in two loops that stop at requests for longer than any lease
    lasts, end there, or find the store or the broker unavailable. Receivers refuse, or say nothing
    for a while; messages get lost.
    """

    steps = 500
    number = 3

    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)
        self.is_calm = True
        self.put_aside = random.choice([0.05, 0.2, 0.5])
        self.fails = random.choice([0.0, 0.003, 0.01])
        self.ends = random.choice([0.0, 0.01, 0.03])
        store = a_store(lambda database: Collections(database, self._request))
        self.agents = agents = AgentHarness(Deployment({"Export": a_worker()}, {}), store=store)
        self.bus = UnreliableBus(store, lambda: self._roll() < 0.1)
        lasts = {"cron": "* * * * *", "budget": "1d"}  # no refusal is for good
        agents.add("plain", **lasts)
        agents.add("delayed", **lasts, constraints=[{"delay": "5s"}])
        waits = {"concurrency": {"n": 1, "when_unmet": "wait"}}
        agents.add("serial", **lasts, constraints=[waits])
        agents.add("export", cron="* * * * *", process="Export")
        agents.add("sum", trigger={"partition": {"dataset": "orders", "n": 2}})
        self.events = 0
        self.actors: dict[tuple[Member, str], Actor] = {}
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

    def _member(self) -> Member:
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
        actor = Actor.present()
        if actor is None:
            return
        if self._roll() < (self.put_aside if is_write else self.put_aside / 5):
            actor.pause()
        if self._roll() < self.fails:
            raise AutoReconnect("the store is away")

    def _step(self) -> None:
        roll, member = self.random.random(), self.random.choice(self.members)
        if roll < 0.40:
            self._go_on(member, "decide")
        elif roll < 0.75:
            self._go_on(member, "deliver")
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

    def _go_on(self, member: Member, loop: str) -> None:
        """Resumes a loop of an agent, or has it make a turn; seldom, the agent ends."""
        actor = self.actors.get((member, loop))
        if actor is None or actor.is_done:
            actor = self.actors[member, loop] = Actor(partial(self._turn, member, loop))
        elif self.random.random() < self.ends:
            self._end(member)
            return
        actor.resume()

    def _turn(self, member: Member, loop: str) -> None:
        try:
            getattr(member, loop)()
        except StorageUnavailable:
            if loop == "decide":
                member.agent.forget()
        except MessagingUnavailable:
            pass

    def _end(self, member: Member) -> None:
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
def test_no_course_of_events_loses_a_due_time_or_launches_twice(seed):
    Agents(seed).run()
