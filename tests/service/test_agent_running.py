"""Agents as they run: threads, the real sender, a real receiver, and their end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_network
from pathlib import Path

import pytest
from prometheus_client import generate_latest

from synergy.agent.agent import Agent
from synergy.agent.deciding.decider import AgentDecider
from synergy.agent.membership import Membership
from synergy.clock import SystemClock
from synergy.commands.schedules import ScheduleCommands
from synergy.delivery.options import Options
from synergy.delivery.sender import Sender
from synergy.messaging.stored import StoredBus
from synergy.model.process import Deployment
from synergy.model.schedule import RunState
from synergy.queries.metrics.agents import AgentMetrics
from synergy.runtime import agent_counters
from synergy.runtime.stop import Stop
from synergy.runtime.workplace import Workplace
from synergy.storage.sqlite.engine import SqliteStore
from tests.service.agent_harness import OPERATOR

PATIENCE = 120.0


class Receiver(BaseHTTPRequestHandler):
    """Notes what comes, and answers 200; `/hang` waits until the test is over."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server: Server = self.server
        server.note(self.headers["Idempotency-Key"], body)
        if self.path == "/hang":
            server.over.wait(PATIENCE)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 100

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Receiver)
        self.over = threading.Event()
        self.came: list[tuple[str, bytes]] = []
        self._changed = threading.Condition()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def note(self, key: str, body: bytes) -> None:
        with self._changed:
            self.came.append((key, body))
            self._changed.notify_all()

    def wait_for(self, number: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.came) >= number, PATIENCE)

    def close(self) -> None:
        self.over.set()
        self.shutdown()
        self.server_close()


class Place:
    """A store in a file, and agents that run in threads."""

    def __init__(self, home: Path) -> None:
        self.store = SqliteStore.open(str(home / "store.db"))
        self.bus = StoredBus(self.store, home)
        self.clock = SystemClock()
        self.actions = ScheduleCommands(self.store, self.bus, Deployment({}, {}))
        self.stops: list[Stop] = []
        self.threads: list[threading.Thread] = []

    def start(self, number: int = 1) -> None:
        for _ in range(number):
            stop = Stop()
            place = Workplace(
                None, self.store, self.bus, self.clock, f"agent-{len(self.stops)}", stop
            )
            options = Options(allowed_networks=(ip_network("127.0.0.0/8"),))
            thread = threading.Thread(target=Agent(place, Sender(options, self.clock)).start)
            thread.start()
            self.stops.append(stop)
            self.threads.append(thread)

    def stop(self) -> None:
        for stop in self.stops:
            stop.set()
        for thread in self.threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Until it holds; agents ring the bell of their topic whenever they wrote something."""
        listener = self.bus.listener("agent")
        ends_at = self.clock.monotonic() + PATIENCE
        while not condition():
            assert self.clock.monotonic() < ends_at
            listener.wait(0.5)
        listener.close()

    def states(self) -> list[RunState]:
        return [run.state for run in self.store.runs.find(limit=10_000)[0]]

    def job(self, target: str, name: str) -> None:
        now = self.clock.now()
        job = {"name": name, "when": now.isoformat(), "target": target, "payload": name}
        self.actions.create(job, OPERATOR, now)


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    yield place
    place.stop()
    place.bus.close()
    place.store.close()


def test_jobs_arrive_at_a_real_receiver_while_the_agent_runs(place, server):
    place.start()
    for number in range(20):
        place.job(f"{server.url}/{number}", f"job-{number}")
    place.wait_for(lambda: place.states() == [RunState.PROCESSED] * 20)
    assert sorted(body for _, body in server.came) == sorted(b"job-%d" % n for n in range(20))


def test_ten_agents_deliver_each_job_once(place, server):
    place.start(10)
    for number in range(30):
        place.job(f"{server.url}/{number}", f"job-{number}")
    place.wait_for(lambda: place.states() == [RunState.PROCESSED] * 30)
    place.stop()
    assert len(server.came) == len({key for key, _ in server.came}) == 30
    decided = [e for e in place.store.journal.find(limit=10_000) if e.event == "agent.decides"]
    assert 1 <= len(decided) <= 10


def test_a_clean_stop_releases_all_leases_and_hanging_deliveries(place, server):
    place.start()
    place.job(f"{server.url}/hang", "hanging")
    server.wait_for(1)
    place.stop()
    (run,) = place.store.runs.find()[0]
    assert (run.state, run.owner) == (RunState.LAUNCHED, None)
    assert all(lease.released for lease in place.store.leases.all("agent/"))
    server.over.set()
    place.start()
    place.wait_for(lambda: place.states() == [RunState.PROCESSED])
    assert {key for key, _ in server.came} == {run.id}


def test_counts_outlive_the_agent(place, server):
    for _ in range(2):
        place.start()
        place.job(f"{server.url}/x", f"job-{len(place.threads)}")
        place.wait_for(lambda: set(place.states()) == {RunState.PROCESSED})
        place.stop()
    meter = agent_counters.collected(place.store)
    assert meter.total("job_executed_total", "sent") == 2
    assert meter.total("job_completed_total", "processed") == 2
    lines = generate_latest(AgentMetrics(place.store)).decode().splitlines()
    assert 'synergy_job_executed_total{outcome="sent"} 2.0' in lines
    assert "synergy_schedules 2.0" in lines
    assert 'synergy_job_executed_delay_seconds_count{outcome="first"} 2.0' in lines


def test_an_agent_may_be_stopped_before_its_start(place):
    stop = Stop()
    stop.set()
    agent = Agent(Workplace(None, place.store, place.bus, place.clock, "agent", stop))
    agent.start()


def test_an_agent_that_keeps_failing_lets_another_decide(place, server, monkeypatch):
    """After several failures in a row, whatever their cause, the lease is released."""
    turn = AgentDecider.turn
    decided: list[object] = []

    def failing(self: AgentDecider) -> float:
        if not decided or self._context.name == decided[0]:
            decided.append(self._context.name)
            raise RuntimeError("an unexpected error")
        return turn(self)

    monkeypatch.setattr(AgentDecider, "turn", failing)
    place.start(2)
    place.job(f"{server.url}/x", "job")
    place.wait_for(lambda: place.states() == [RunState.PROCESSED])
    assert len(decided) == 3


def test_an_agent_is_woken_when_jobs_are_finished(place, monkeypatch):
    turns = threading.Semaphore(0)
    turn, due_in = AgentDecider.turn, Membership.due_in

    def counted(self: AgentDecider) -> float:
        pause = turn(self)
        turns.release()
        return pause

    monkeypatch.setattr(AgentDecider, "turn", counted)
    monkeypatch.setattr(  # it does not wake by itself
        Membership, "due_in", lambda self: 600.0 if self.is_member else due_in(self)
    )
    place.start()
    assert turns.acquire(timeout=PATIENCE)
    while turns.acquire(timeout=0.5):
        pass
    place.bus.notify("journal")
    assert turns.acquire(timeout=PATIENCE)
