"""Agents in one thread: store in memory, stepped clock, receivers with scripted answers."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

from synergy.agent.agent import Agent
from synergy.clock import SteppedClock
from synergy.commands.events import record_events
from synergy.commands.schedules import ScheduleCommands
from synergy.delivery.request import Request, Response, SendOutcome, failed, sent
from synergy.messaging.stored import StoredBus
from synergy.model.actor import Actor
from synergy.model.process import Deployment, FreerunProcess
from synergy.model.schedule import Run, RunState
from synergy.model.unit_of_work import Conclusion, Hint, UnitState
from synergy.names import DELIVERIES
from synergy.runtime.stop import Stop
from synergy.runtime.workplace import Workplace
from synergy.storage.sqlite.engine import SqliteStore
from tests.service.leases import seldom_renewed
from tests.service.scheduler_harness import OPEN

NOW = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
OPERATOR = Actor("an operator", "")
TARGET = "https://receiver.example/hook"

Receiver = Callable[[Request], Response | None]


class FakeSender:
    """Replaces `delivery.sender.Sender`: requests wait in `under_way` until `answer` is called.

    `receiver` gives the answers, by default 200; None leaves a request unanswered.
    """

    def __init__(self, receiver: Receiver | None = None, rooms: int = 1000) -> None:
        self.receiver = receiver or (lambda _: sent(200))
        self.rooms = rooms
        self.requests: list[Request] = []
        self.under_way: deque[tuple[Request, Callable[[Response], None]]] = deque()
        self.is_closed = False

    def submit(self, request: Request, done: Callable[[Response], None]) -> None:
        self.requests.append(request)
        self.under_way.append((request, done))

    def room(self, destination: str) -> int:
        busy = sum(r.target.destination == destination for r, _ in self.under_way)
        return max(0, self.rooms - busy)

    def close(self, timeout_seconds: float) -> None:
        self.is_closed = True
        while self.under_way:
            self.under_way.popleft()[1](failed("stopped", SendOutcome.STOPPED))

    def answer(self) -> int:
        """Passes on the answers that the receiver gives; returns how many."""
        number = 0
        for _ in range(len(self.under_way)):
            request, done = self.under_way.popleft()
            answer = self.receiver(request)
            if answer is None:
                self.under_way.append((request, done))
            else:
                number += 1
                done(answer)
        return number


class Member:
    """One agent and its sender."""

    def __init__(self, place: Workplace, sender: FakeSender) -> None:
        self.agent = Agent(place, sender)
        self.sender = sender
        self.consumer = place.bus.consumer(DELIVERIES)

    def decide(self) -> float:
        return self.agent.run_once()

    def deliver(self) -> float:
        return self.agent.deliverer.turn(self.consumer)

    def rest(self) -> float:
        """Runs the agent until nothing is due; returns the seconds until something is."""
        for _ in range(1000):
            pause = self.decide()
            delivers_in = self.deliver()
            if self.sender.answer():
                continue
            if pause > 0 and delivers_in > 0:
                return min(pause, delivers_in)
        raise AssertionError("the agent never comes to rest")


class AgentHarness:
    """A deployment with schedules only."""

    def __init__(
        self,
        deployment: Deployment | None = None,
        now: datetime = NOW,
        store: SqliteStore | None = None,
    ) -> None:
        self.clock = SteppedClock(now)
        self.store = store or SqliteStore.open(":memory:")
        self.bus = StoredBus(self.store)
        self.deployment = deployment or Deployment({}, {})
        self.actions = ScheduleCommands(self.store, self.bus, self.deployment)
        self.stop = Stop()
        self.members: list[Member] = []
        OPEN.append(self)

    def close(self) -> None:
        for member in self.members:
            member.consumer.close()
        self.bus.close()
        self.store.close()

    def place(self, owner: str, store: object = None, bus: object = None) -> Workplace:
        return Workplace(
            None, store or self.store, bus or self.bus, self.clock, owner, self.stop,
            deployment=self.deployment, box="box",
        )  # fmt: skip

    def member(
        self, owner: str = "agent-1", receiver: Receiver | None = None, rooms: int = 1000, **given
    ) -> Member:
        member = Member(self.place(owner, **given), FakeSender(receiver, rooms))
        self.members.append(member)
        return member

    def add(self, name: str, **fields: object) -> str:
        """Adds an enabled schedule, to a webhook unless `process` is given; returns its name."""
        given: dict[str, object] = {"name": name, **fields}
        if "process" not in given:
            given.setdefault("target", TARGET)
        return self.actions.create(given, OPERATOR, self.clock.now(), enable=True).name

    def event(self, type_: str, resource: str, at: datetime, id_: str = "") -> None:
        item: Mapping[str, object] = {
            "eventType": type_,
            "eventResourceId": resource,
            "eventTimestamp": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
            **({"id": id_} if id_ else {}),
        }
        record_events(self.store, self.bus, [item], OPERATOR, self.clock.now())

    def advance(self, member: Member, seconds: float) -> None:
        """Lets time pass; the agent works whenever something is due."""
        ends_at = self.clock.now() + timedelta(seconds=seconds)
        pause = member.rest()
        with seldom_renewed(seconds, member.agent._members.renew):
            while pause <= (left := (ends_at - self.clock.now()).total_seconds()):
                self.clock.advance(max(pause, 0.001))
                pause = member.rest()
            self.clock.advance(left)
            member.rest()

    def runs(self, schedule: str | None = None) -> list[Run]:
        """Oldest due time first."""
        runs, cursor = self.store.runs.find(schedule=schedule, limit=10_000)
        assert cursor is None
        return sorted(runs, key=lambda run: (run.due_at, run.key))

    def states(self, schedule: str | None = None) -> Counter[RunState]:
        return Counter(run.state for run in self.runs(schedule))


def a_worker(name: str = "Export", **fields: object) -> FreerunProcess:
    return FreerunProcess(
        name=name, classname="tests.deployments.nothing", token=name, present_on_boxes=(".*",),
        **fields,
    )  # fmt: skip


def work(agents: AgentHarness, process: str, state: UnitState = UnitState.PROCESSED) -> int:
    """Has a worker carry out all waiting units of the process; returns how many."""
    store, now = agents.store, agents.clock.now()
    bodies = agents.bus.depths([process]).get(process, 0)
    consumer = agents.bus.consumer(process)
    with store.batch() as batch:
        messages = [delivery.message for delivery in consumer.take(bodies, batch)]
        hints = [Hint(message.unit, message.attempt) for message in messages]
        units = store.units.claim(hints, "worker", now)
    consumer.close()
    conclusions = [Conclusion(unit.id, unit.attempt, "worker", state) for unit in units]
    assert not store.units.conclude(conclusions, now)
    return len(units)


def once(agents: AgentHarness, name: str = "job", **fields: object) -> None:
    """A one-off job that is due now."""
    agents.add(name, when=NOW.isoformat(), **fields)


def answering(*answers: Response | None) -> Receiver:
    """A receiver that gives these answers in order, and repeats the last one."""
    left = list(answers)

    def receiver(_: Request) -> Response | None:
        return left.pop(0) if len(left) > 1 else left[0]

    return receiver


def refused(status: int, **fields: object) -> Response:
    return Response(
        ok=False, outcome=SendOutcome.REFUSED, may_retry=True, status=status,
        error=f"answered {status}", **fields,
    )  # fmt: skip
