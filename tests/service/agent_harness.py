"""Agents in one thread: store in memory, stepped clock, receivers with scripted answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from synergy.clock import SteppedClock
from synergy.commands.events import record_events
from synergy.commands.schedules import ScheduleCommands
from synergy.delivery.request import Request, Response, SendOutcome
from synergy.messaging.stored import StoredBus
from synergy.model.actor import Actor
from synergy.model.process import Deployment, FreerunProcess
from synergy.model.schedule import Run, RunState
from synergy.model.unit_of_work import Conclusion, Hint, UnitState
from synergy.runtime.stop import Stop
from synergy.runtime.workplace import Workplace
from synergy.storage.sqlite.engine import SqliteStore
from synergy.testing.agents import Receiver, RecordingSender, SteppedAgent
from synergy.testing.leases import seldom_renewed
from tests.service.scheduler_harness import OPEN

NOW = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
OPERATOR = Actor("an operator", "")
TARGET = "https://receiver.example/hook"


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
        self.members: list[SteppedAgent] = []
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
    ) -> SteppedAgent:
        member = SteppedAgent(self.place(owner, **given), RecordingSender(receiver, rooms))
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

    def advance(self, member: SteppedAgent, seconds: float) -> None:
        """Lets time pass; the agent works whenever something is due."""
        ends_at = self.clock.now() + timedelta(seconds=seconds)
        pause = member.rest()
        with seldom_renewed(seconds, member.renew):
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
