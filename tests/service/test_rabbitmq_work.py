"""Work over RabbitMQ survives failures of the broker and invalid messages."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from bench.history import finished_jobs
from synergy.clock import SystemClock
from synergy.commands.maintenance import Maintenance
from synergy.errors import MessagingUnavailable
from synergy.messaging.amqp import Address
from synergy.messaging.message import EventsMessage, UnitMessage, encode
from synergy.messaging.rabbitmq import RabbitBus, reconnecting
from synergy.messaging.rabbitmq.bus import DEPLOYMENT
from synergy.model.actor import Actor
from synergy.queries.timetable.audit import audit
from synergy.queries.timetable.load import load_timetable
from synergy.runtime.stop import Stop
from synergy.runtime.workplace import Workplace
from synergy.scheduler.scheduler import Scheduler
from synergy.storage.sqlite import SqliteStore
from synergy.timeperiod import Qualifier
from synergy.worker.outcome import Outcome, Processed
from synergy.worker.task import Task
from synergy.worker.unit_runner import run_units
from tests.deployments import HOURLY, a_deployment, a_process
from tests.servers import rabbitmq as servers
from tests.servers.rabbitmq import Broker, Node

HOURS = 800
FIRST_UNITS = 100  # processed units, after which the broker fails
LIMIT_SECONDS = 240.0
CLOCK = SystemClock()


@pytest.fixture(scope="module")
def broker(rabbitmq: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with servers.ill_treated(rabbitmq, tmp_path_factory.mktemp("rabbitmq")) as broker:
        yield broker


class RabbitSystem:
    """A scheduler and two workers, each with a store and a bus of its own, as processes have."""

    def __init__(self, folder: Path, url: str) -> None:
        self.url = url
        self.stop = Stop()
        self.process = a_process("Work", HOURLY, max_active=256, instances=2)
        self.deployment = a_deployment({"tree": [self.process]})
        self._file = folder / "synergy.db"
        first = CLOCK.now() - timedelta(hours=HOURS)
        self.start = Qualifier.HOURLY.timeperiod(Qualifier.HOURLY.at(first))
        self.store = SqliteStore.open(self._file)
        self.bus = self.a_bus(self.store)
        self._threads: list[threading.Thread] = []
        self._failures: list[BaseException] = []

    def begin(self) -> None:
        members = {"scheduler": self._schedule, "w-1": self._work, "w-2": self._work}
        for name, act in members.items():
            thread = threading.Thread(target=self._member, args=(name, act), name=name)
            self._threads.append(thread)
            thread.start()

    def end(self) -> None:
        self.stop.set()
        for thread in self._threads:
            thread.join()
        self.bus.close()
        self.store.close()
        assert self._failures == []

    def a_bus(self, store: SqliteStore) -> RabbitBus:
        return RabbitBus(Address.parse(self.url), store, CLOCK, [self.process.queue])

    def _member(self, name: str, act: Callable[[Workplace], None]) -> None:
        with closing(SqliteStore.open(self._file)) as store, closing(self.a_bus(store)) as bus:
            with suppress(MessagingUnavailable):
                bus.declare([self.process.queue])
            place = Workplace(
                self.process, store, bus, CLOCK, name, self.stop, 1, self.deployment,
                start_timeperiod=self.start,
            )  # fmt: skip
            try:
                act(place)
            except BaseException as error:
                self._failures.append(error)
                raise

    def _schedule(self, place: Workplace) -> None:
        Scheduler(place).start()

    def _work(self, place: Workplace) -> None:
        def nothing(_task: Task) -> Outcome:
            return Processed({})

        run_units(place, nothing, ("domain",))

    def processed(self) -> int:
        return finished_jobs(self.store, ["Work"])

    def until(self, count: int) -> None:
        """Waits until `count` units are processed; requests collector runs meanwhile."""
        maintenance = Maintenance(self.store, self.bus, self.deployment)
        deadline = CLOCK.monotonic() + LIMIT_SECONDS
        look_at = CLOCK.monotonic() + 5
        while self.processed() < count:
            assert CLOCK.monotonic() < deadline, f"{self.processed()} of {count} are processed"
            assert self._failures == []
            if CLOCK.monotonic() >= look_at:  # instead of waiting for its run each minute
                look_at += 5
                maintenance.request_collection("", False, Actor("a test", ""), CLOCK.now())
            self.stop.wait(0.05)

    def check(self) -> None:
        """Waits until all jobs are done; each was attempted once, and the audit finds no gap."""
        self.until(HOURS - 1)
        now = CLOCK.now()
        found = audit(self.store, load_timetable(self.store, self.deployment, now), now)
        assert found.unexplained == ()
        units, _ = self.store.units.find("Work", limit=2 * HOURS)
        assert {unit.attempt for unit in units} == {1}


@pytest.fixture
def system(
    tmp_path: Path, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> Iterator[RabbitSystem]:
    monkeypatch.setattr(reconnecting, "RULE", replace(reconnecting.RULE, longest=1.0))
    system = RabbitSystem(tmp_path, broker.url)
    system.bus.declare([system.process.queue])
    system.bus.purge(system.process.queue)
    try:
        yield system
    finally:
        system.end()


@pytest.fixture
def node(broker: Broker) -> Node:
    assert broker.node is not None
    return broker.node


def restart(node: Node, _system: RabbitSystem) -> None:
    node.stop_app()
    node.start_app()


def kill_and_empty(node: Node, _system: RabbitSystem) -> None:
    """Kills the broker, and starts it without its queues and messages."""
    node.kill()
    shutil.rmtree(node.folder / "data")
    node.start()


def purge(_node: Node, system: RabbitSystem) -> None:
    with closing(servers.connect(system.url)) as connection:
        connection.channel().queue_purge("synergy.Work")


def stand_still(node: Node, system: RabbitSystem) -> None:
    """Pauses the broker until the bus notices it."""
    node.pause()
    with pytest.raises(MessagingUnavailable):
        system.bus.depths()
    node.go_on()


def close_connections(node: Node, _system: RabbitSystem) -> None:
    node.close_connections()


@pytest.mark.parametrize(
    "happens", [restart, kill_and_empty, purge, stand_still, close_connections]
)
def test_all_work_is_done_after_a_failure_of_the_broker(
    system: RabbitSystem, node: Node, happens: Callable[[Node, RabbitSystem], None]
) -> None:
    system.begin()
    system.until(FIRST_UNITS)
    happens(node, system)
    system.check()


def test_work_begins_when_the_broker_becomes_available(system: RabbitSystem, node: Node) -> None:
    system.bus.close()
    node.stop_app()
    system.bus = system.a_bus(system.store)
    system.begin()
    node.start_app()
    system.check()


def test_invalid_messages_stop_no_work(system: RabbitSystem) -> None:
    rubbish = {
        b"\xff\x00": "not JSON",
        encode(EventsMessage([])): "expected a unit",
        b'{"v":1,"type":"unit","unit":7,"attempt":1}': "neither a unit nor events",
    }
    ours = system.store.facts.set_default(DEPLOYMENT, "ours")
    servers.put(system.url, "Work", rubbish, ours)
    servers.put(system.url, "Work", [encode(UnitMessage("u", 1))], "another")
    system.begin()
    system.until(FIRST_UNITS)
    done, _ = system.store.units.find("Work", limit=FIRST_UNITS)
    # Repeated messages, with a past, the present and a future attempt.
    again = [encode(UnitMessage(unit.id, attempt)) for unit in done for attempt in (0, 1, 2)]
    servers.put(system.url, "Work", again, ours)
    system.check()
    reasons = {dead.body: dead.reason for dead in system.bus.dead()}
    assert len(reasons) == len(rubbish) + 1
    for body, reason in rubbish.items():
        assert reason in reasons[body]
    assert "sent by deployment another" in reasons[encode(UnitMessage("u", 1))]
