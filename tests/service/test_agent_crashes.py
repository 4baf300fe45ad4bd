"""An agent may be killed at any call of the store, or that call may fail; no work is lost."""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import suppress

import pytest

from synergy.delivery.request import Request, sent
from synergy.errors import MessagingUnavailable, StorageUnavailable
from synergy.messaging.stored import StoredBus
from synergy.model.process import Deployment
from synergy.model.schedule import RunState
from tests.seeds import alternating, is_extended_run
from tests.service.agent_harness import NOW, AgentHarness, SteppedAgent, a_worker, work
from tests.service.faults import Died, FaultyStore

HOUR = 3600.0


class CrashScenario:
    """Schedules of several kinds that are due an hour later, and an agent with a faulty store."""

    def __init__(self, fails_at: int, fault: type[BaseException], *, is_late: bool) -> None:
        self.agents = AgentHarness(Deployment({"Export": a_worker()}, {}))
        agents = self.agents
        agents.add("plain", cron="0 * * * *")
        agents.add("missed", cron="*/20 * * * *", catchup="latest")
        agents.add("delayed", cron="0 * * * *", constraints=[{"delay": "5s"}])
        agents.add("export", cron="0 * * * *", process="Export")
        agents.add("alone", trigger={"partition": {"dataset": "orders", "n": 2}})
        self.store = FaultyStore(agents.store, 0, fault)
        self.bus = StoredBus(self.store)
        self.answers: Counter[str] = Counter()
        # Room for one request: some runs are claimed at their launch, others come by messages.
        self.member = agents.member("agent-1", self.answer, rooms=1, store=self.store, bus=self.bus)
        self.member.rest()
        agents.event("PARTITION", "orders", NOW, "one")
        agents.event("PARTITION", "orders", NOW, "two")
        agents.clock.advance(HOUR)
        self.store.calls = 0
        self.store.fails_at = fails_at
        self.store.is_late = is_late

    @property
    def has_failed(self) -> bool:
        return 0 < self.store.fails_at <= self.store.calls

    def answer(self, _: Request):
        self.answers["all"] += 1
        return sent()

    def close(self) -> None:
        self.bus.close()
        self.agents.close()

    def run_until_fault(self) -> None:
        """Runs the agent until it dies or a call fails, for a minute at most."""
        member = self.member
        try:
            for _ in range(60):
                for turn in (member.decide, member.deliver, member.sender.answer):
                    try:
                        turn()
                    except (StorageUnavailable, MessagingUnavailable):
                        member.agent.forget()
                self.agents.clock.advance(1)
                if self.has_failed:
                    return  # `finish` tries it again
        except Died:
            return

    def finish(self, member: SteppedAgent) -> None:
        """Runs an agent and a worker long enough to finish everything."""
        self.agents.advance(member, 45)
        assert member.agent.decides
        work(self.agents, "Export")
        self.agents.advance(member, 30)

    def check(self, *members: SteppedAgent) -> None:
        runs = defaultdict(list)
        for run in self.agents.runs():
            runs[run.schedule].append(run)
        due = {name: [run.due_at.hour * 60 + run.due_at.minute for run in some]
               for name, some in runs.items()}  # fmt: skip
        assert len(due.pop("alone")) == 1
        assert due == {"plain": [780], "missed": [740, 760, 780], "delayed": [780], "export": [780]}
        assert self.agents.states() == {RunState.PROCESSED: 5, RunState.SKIPPED: 2}
        requests = [request for member in members for request in member.sender.requests]
        keys = {run.id for run in self.agents.runs() if run.state is RunState.PROCESSED}
        sent_keys = Counter(request.key for request in requests)
        assert set(sent_keys) == keys - {run.id for run in runs["export"]}
        assert sum(sent_keys.values()) <= 4 + 4  # each at most twice, if it was not recorded
        assert len(self.agents.store.units.find(process="Export")[0]) == 1


CALLS = 170  # calls at which faults are made; all work is done within fewer calls


def test_the_agent_finishes_its_work_within_the_tested_calls():
    scenario = CrashScenario(CALLS, Died, is_late=False)
    scenario.run_until_fault()
    states = scenario.agents.states()
    scenario.close()
    assert states == {RunState.PROCESSED: 4, RunState.SKIPPED: 2, RunState.LAUNCHED: 1}


def crash_points() -> list[int]:
    """The first call of each group of calls before which a death has the same consequences.

    They are the same if no commit, no request and no step of the clock lies between the calls.
    """
    scenario = CrashScenario(0, Died, is_late=False)
    commits, left = Counter[str](), {}

    def committing() -> bool:
        commits["all"] += 1
        return False  # go on

    def step() -> None:
        scenario.store.calls += 1
        seen = (commits["all"], len(scenario.member.sender.requests), scenario.agents.clock.now())
        left.setdefault(seen, scenario.store.calls)

    scenario.agents.store._database._shared.connection.set_commit_hook(committing)
    scenario.store.step = step
    scenario.run_until_fault()
    scenario.close()
    return [at for at in left.values() if at < CALLS]


@pytest.mark.parametrize("fails_at", range(1, CALLS) if is_extended_run() else crash_points())
def test_another_agent_finishes_the_work_of_one_killed_at_any_call(fails_at):
    """It is killed before the call; a death while it sends is tested below."""
    scenario = CrashScenario(fails_at, Died, is_late=False)
    scenario.run_until_fault()
    other = scenario.agents.member("agent-2")
    scenario.finish(other)
    scenario.check(scenario.member, other)
    scenario.close()


@pytest.mark.parametrize(("fails_at", "is_late"), alternating(range(1, CALLS)))
def test_an_agent_continues_after_any_failed_call(fails_at, is_late):
    scenario = CrashScenario(fails_at, StorageUnavailable, is_late=is_late)
    scenario.run_until_fault()
    scenario.finish(scenario.member)
    scenario.check(scenario.member)
    scenario.close()


@pytest.mark.parametrize("step", ["before", "after"])
def test_an_agent_killed_while_it_sends_sends_again_with_the_same_key(step):
    agents = AgentHarness()
    agents.add("plain", cron="0 * * * *")
    first = agents.member()
    first.rest()
    submit = first.sender.submit

    def dying(request, done):
        if step == "after":
            submit(request, done)
        raise Died

    first.sender.submit = dying
    agents.clock.advance(HOUR)
    with pytest.raises(Died):
        first.rest()
    second = agents.member("agent-2")
    agents.advance(second, 60)
    (run,) = agents.runs()
    assert (run.state, run.attempt) == (RunState.PROCESSED, 2)
    assert [request.key for request in second.sender.requests] == [run.id]


class Broker(StoredBus):
    """A bus that sends messages after the batch, as a broker does; unavailable at first."""

    is_down = True

    def publish(self, queue, messages, batch, confirmed=lambda: None):
        batch.after_commit(lambda: self._send(queue, messages, confirmed))

    def _send(self, queue, messages, confirmed):
        if self.is_down:
            raise MessagingUnavailable("the broker is unavailable")
        with self._store.batch() as batch:
            super().publish(queue, messages, batch, confirmed)


def test_messages_that_a_broker_refused_are_published_again():
    scenario = CrashScenario(0, StorageUnavailable, is_late=False)
    agents = scenario.agents
    broker = Broker(agents.store)
    member = agents.member("agent-2", rooms=0, bus=broker)
    agents.clock.advance(20)
    for _ in range(40):
        for turn in (member.decide, member.deliver):
            with suppress(MessagingUnavailable):
                turn()
        agents.clock.advance(1)
    assert not member.sender.requests
    assert agents.states()[RunState.LAUNCHED] == 5
    broker.is_down, member.sender.rooms = False, 9
    agents.advance(member, 10)
    assert len(member.sender.requests) == 4
    agents.advance(member, 60)
    assert len(member.sender.requests) == 4
    states = {RunState.PROCESSED: 4, RunState.LAUNCHED: 1, RunState.SKIPPED: 2}
    assert agents.states() == states
    (unit,) = agents.store.units.unfinished()
    assert unit.published_at is None  # the collector publishes its message again
    broker.close()
    scenario.close()
