"""Work over RabbitMQ goes on, whatever happens to it, and whatever it is fed."""

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
SOME = 100  # units after which something happens
LIMIT = 240.0
CLOCK = SystemClock()


@pytest.fixture(scope="module")
def broker(rabbitmq: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with servers.ill_treated(rabbitmq, tmp_path_factory.mktemp("rabbitmq")) as broker:
        yield broker


class Plant:
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
        """Waits until so many units are processed; asks the collector to look now and then."""
        maintenance = Maintenance(self.store, self.bus, self.deployment)
        deadline = CLOCK.monotonic() + LIMIT
        look_at = CLOCK.monotonic() + 5
        while self.processed() < count:
            assert CLOCK.monotonic() < deadline, f"{self.processed()} of {count} are processed"
            assert self._failures == []
            if CLOCK.monotonic() >= look_at:  # as it does by itself each minute
                look_at += 5
                maintenance.request_collection("", False, Actor("a test", ""), CLOCK.now())
            self.stop.wait(0.05)

    def check(self) -> None:
        """Everything is done, once, and accounted for."""
        self.until(HOURS - 1)
        now = CLOCK.now()
        found = audit(self.store, load_timetable(self.store, self.deployment, now), now)
        assert found.unexplained == ()
        units, _ = self.store.units.find("Work", limit=2 * HOURS)
        assert {unit.attempt for unit in units} == {1}


@pytest.fixture
def plant(tmp_path: Path, broker: Broker, monkeypatch: pytest.MonkeyPatch) -> Iterator[Plant]:
    monkeypatch.setattr(reconnecting, "RULE", replace(reconnecting.RULE, longest=1.0))
    plant = Plant(tmp_path, broker.url)
    plant.bus.declare([plant.process.queue])
    plant.bus.purge(plant.process.queue)
    try:
        yield plant
    finally:
        plant.end()


@pytest.fixture
def node(broker: Broker) -> Node:
    assert broker.node is not None
    return broker.node


def restart(node: Node, _plant: Plant) -> None:
    node.stop_app()
    node.start_app()


def kill_and_empty(node: Node, _plant: Plant) -> None:
    """Killed, and with nothing left of its queues and messages."""
    node.kill()
    shutil.rmtree(node.folder / "data")
    node.start()


def purge(_node: Node, plant: Plant) -> None:
    with closing(servers.connect(plant.url)) as connection:
        connection.channel().queue_purge("synergy.Work")


def stand_still(node: Node, plant: Plant) -> None:
    """Until it is noticed."""
    node.pause()
    with pytest.raises(MessagingUnavailable):
        plant.bus.depths()
    node.go_on()


def close_connections(node: Node, _plant: Plant) -> None:
    node.close_connections()


@pytest.mark.parametrize(
    "happens", [restart, kill_and_empty, purge, stand_still, close_connections]
)
def test_work_is_done_whatever_happens_to_the_broker(
    plant: Plant, node: Node, happens: Callable[[Node, Plant], None]
) -> None:
    plant.begin()
    plant.until(SOME)
    happens(node, plant)
    plant.check()


def test_work_begins_when_the_broker_comes(plant: Plant, node: Node) -> None:
    plant.bus.close()
    node.stop_app()
    plant.bus = plant.a_bus(plant.store)
    plant.begin()
    node.start_app()
    plant.check()


def test_rubbish_stops_nothing(plant: Plant) -> None:
    rubbish = {
        b"\xff\x00": "not JSON",
        encode(EventsMessage([])): "expected a unit",
        b'{"v":1,"type":"unit","unit":7,"attempt":1}': "neither a unit nor events",
    }
    ours = plant.store.facts.set_default(DEPLOYMENT, "ours")
    servers.put(plant.url, "Work", rubbish, ours)
    servers.put(plant.url, "Work", [encode(UnitMessage("u", 1))], "another")
    plant.begin()
    plant.until(SOME)
    done, _ = plant.store.units.find("Work", limit=SOME)
    # A second time, with an attempt that is no more, and one that is not yet.
    again = [encode(UnitMessage(unit.id, attempt)) for unit in done for attempt in (0, 1, 2)]
    servers.put(plant.url, "Work", again, ours)
    plant.check()
    reasons = {dead.body: dead.reason for dead in plant.bus.dead()}
    assert len(reasons) == len(rubbish) + 1
    for body, reason in rubbish.items():
        assert reason in reasons[body]
    assert "sent by deployment another" in reasons[encode(UnitMessage("u", 1))]
