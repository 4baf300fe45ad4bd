"""The contract of long-lived parts: all of them are started and stopped in a race."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Protocol

import pytest

import synergy
from synergy.agent.agent import Agent
from synergy.agent.delivering.delivery_service import DeliveryService
from synergy.cli.dev_files import FileWatcher
from synergy.cli.dev_log import LogFollower
from synergy.messaging.rabbitmq.loop import IoThread
from synergy.mx.background_audit import BackgroundAudit
from synergy.mx.operation_runner import OperationRunner
from synergy.mx.services import Services
from synergy.mx.stream import Stream
from synergy.mx.stream_listener import Listener
from synergy.names import SCHEDULER_TOPIC
from synergy.runtime.event_loop_thread import EventLoopThread
from synergy.runtime.service import RetryRule, Service
from synergy.runtime.stop import Stop
from synergy.runtime.topic_relay import TopicRelay
from synergy.runtime.workplace import Workplace
from synergy.scheduler.scheduler import Scheduler
from synergy.worker.claimed_units import ClaimedUnits
from synergy.worker.heartbeat import Heartbeat
from synergy.worker.outcome import Nothing
from synergy.worker.unit_runner import run_units
from synergy.worker.work_log import WorkLog
from tests.deployments import site_and_client
from tests.service.agent_harness import RecordingSender
from tests.service.scheduler_harness import SchedulerHarness, close_systems

LONG = 60.0  # seconds; a limit that only a failing test reaches
SEEDS = range(12)
THREADS = 4

WITHOUT_KIT = {"EventLoopThread", "ThreadPool", "Probe", "_Tail"}
"""Classes with a thread that are no `Service`; their docstrings say why."""


class Startable(Protocol):
    """A part that can be started and stopped."""

    @property
    def started(self) -> bool: ...

    def start(self) -> object: ...

    def stop(self) -> bool: ...


class ProcessThread(Service):
    """The main loop of a process, in a thread; it is stopped through its workplace."""

    def __init__(self, place: Workplace, run: Callable[[Workplace], object]) -> None:
        stop = Stop()
        place = replace(place, stop=stop)
        super().__init__("process", place.clock, RetryRule("process.waits", "process.failed"))
        self._stop.interrupts(stop.set)
        self._run_process = lambda: run(place)

    def run_once(self, now: object) -> None:
        self._run_process()


@pytest.fixture
def place() -> Iterator[Workplace]:
    """The workplace of a worker, in memory."""
    system = SchedulerHarness(site_and_client())
    yield system.workplace("Sitehourly", "someone")
    close_systems()


def _mx(place: Workplace) -> Services:
    return Services.at(place)


def _stream(place: Workplace) -> Stream:
    stream = _mx(place).stream
    stream.join(Listener(lambda: None, None, "", ()))
    return stream


def _delivery(place: Workplace) -> DeliveryService:
    sender = RecordingSender()
    return DeliveryService(place.bus, place.clock, Agent(place, sender).deliverer, sender)


def _heartbeat(place: Workplace) -> Heartbeat:
    return Heartbeat(place, ClaimedUnits(place, WorkLog(place.clock)), end=lambda _code: None)


def _work(place: Workplace) -> None:
    run_units(place, lambda _task: Nothing(), ())


FOLDER = Path(__file__).parent / "supervisor"  # any folder of files

SERVICES: dict[type, Callable[[Workplace], Startable]] = {
    BackgroundAudit: lambda place: _mx(place).audits,
    OperationRunner: lambda place: OperationRunner(_mx(place)),
    Stream: _stream,
    DeliveryService: _delivery,
    TopicRelay: lambda place: TopicRelay(place.bus, place.clock, SCHEDULER_TOPIC, lambda: None),
    Heartbeat: _heartbeat,
    EventLoopThread: lambda _place: EventLoopThread("loop"),
    IoThread: lambda _place: IoThread(),
    LogFollower: lambda place: LogFollower(FOLDER, place.clock, lambda _name, _line: None),
    FileWatcher: lambda place: FileWatcher(
        FOLDER, FOLDER / "context.py", FOLDER, place.clock, lambda _effect: True
    ),
}
PROCESSES: dict[str, Callable[[Workplace], Startable]] = {
    "scheduler": lambda place: ProcessThread(place, lambda at: Scheduler(at).start()),
    "agent": lambda place: ProcessThread(place, lambda at: Agent(at, RecordingSender()).start()),
    "worker": lambda place: ProcessThread(place, _work),
}
ALL = {kind.__name__: made for kind, made in SERVICES.items()} | PROCESSES


def race(calls: list[Callable[[], object]]) -> list[object]:
    """Makes the calls from several threads at once; returns what they returned, or raised."""
    barrier, results = threading.Barrier(THREADS), []

    def run(mine: list[Callable[[], object]]) -> None:
        barrier.wait(LONG)
        for call in mine:
            try:
                results.append(call())
            except Exception as error:  # noqa: BLE001 - the test looks for it
                results.append(error)

    threads = [threading.Thread(target=run, args=[calls[n::THREADS]]) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
        assert not thread.is_alive()
    return results


@pytest.mark.parametrize("make", ALL.values(), ids=ALL.keys())
def test_starts_and_stops_in_a_race_leave_no_thread(make, place):
    before = set(threading.enumerate())
    for seed in SEEDS:
        service = make(place)
        calls = [service.start] * 6 + [service.stop] * 6
        Random(seed).shuffle(calls)
        results = race(calls)
        assert not [result for result in results if isinstance(result, Exception)]
        assert service.stop()
        assert not service.started
        assert set(threading.enumerate()) <= before  # threads of earlier tests may end


def _threads_of(service: Startable) -> int:
    return [thread.name for thread in threading.enumerate()].count(service._name)


@pytest.mark.parametrize("make", ALL.values(), ids=ALL.keys())
def test_many_starts_make_one_thread_and_a_stop_is_final(make, place):
    service = make(place)
    race([service.start] * 8)
    assert _threads_of(service) <= 1
    assert service.stop()
    assert service.stop()
    service.start()
    assert not service.started
    assert _threads_of(service) == 0


KITS = {kind.__name__: made for kind, made in SERVICES.items() if issubclass(kind, Service)}


@pytest.mark.parametrize("make", KITS.values(), ids=KITS.keys())
def test_a_stop_ends_the_wait_between_turns(make, place):
    service, waits = make(place), threading.Event()
    wait = service.wait
    service.wait = lambda seconds: (waits.set(), wait(seconds))
    service.start()
    while service.started and not waits.wait(0.01):
        pass
    assert service.stop()


@pytest.mark.parametrize("make", ALL.values(), ids=ALL.keys())
def test_a_stop_before_the_start_is_final(make, place):
    before = set(threading.enumerate())
    service = make(place)
    assert service.stop()
    service.start()
    assert service.stop()
    assert set(threading.enumerate()) <= before  # threads of earlier tests may end


# Every part that has a thread is known here


def _modules() -> list[str]:
    return [each.name for each in pkgutil.walk_packages(synergy.__path__, "synergy.")]


def _kinds(base: type) -> set[type]:
    direct = set(base.__subclasses__())
    return direct.union(*map(_kinds, direct))


def test_every_service_is_put_through_the_race():
    for module in _modules():
        importlib.import_module(module)
    found = {kind for kind in _kinds(Service) if kind.__module__.startswith("synergy.")}
    assert found | _kinds(EventLoopThread) | {EventLoopThread} == set(SERVICES)


def _thread_makers() -> Iterator[tuple[str, str]]:
    """Each class that makes a thread, with its module; "" for code outside of classes."""
    for path in Path(synergy.__path__[0]).rglob("*.py"):
        module = ".".join(path.relative_to(Path(synergy.__path__[0]).parent).with_suffix("").parts)
        for top in ast.parse(path.read_text()).body:
            if any(map(_makes_thread, ast.walk(top))):
                yield module, top.name if isinstance(top, ast.ClassDef) else ""


def _makes_thread(node: ast.AST) -> bool:
    makers = ("Thread", "Timer", "ThreadPoolExecutor", "start_new_thread")
    return isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in makers


def test_no_other_class_makes_a_thread_without_a_reason():
    makers = dict(map(reversed, _thread_makers()))
    assert makers.keys() == WITHOUT_KIT | {"Service"}
    for name in WITHOUT_KIT:
        kind = getattr(importlib.import_module(makers[name]), name)
        assert "service" in (inspect.getdoc(kind) or "").lower(), f"{name} does not say why"


def test_the_search_for_threads_finds_them():
    source = "class A:\n    def f(self):\n        threading.Thread(target=print).start()\n"
    assert any(map(_makes_thread, ast.walk(ast.parse(source))))
    assert not any(map(_makes_thread, ast.walk(ast.parse("thread.start()"))))
