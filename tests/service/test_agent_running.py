"""Agents in threads, with the real sender and a real receiver, from start to stop."""

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
from synergy.delivery.addresses import AddressRules
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

PATIENCE_SECONDS = 120.0


class Receiver(BaseHTTPRequestHandler):
    """Records requests and answers 200; a request to `/hang` waits until the test is over."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server: Server = self.server
        server.note(self.headers["Idempotency-Key"], body)
        if self.path == "/hang":
            server.over.wait(PATIENCE_SECONDS)
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
            assert self._changed.wait_for(lambda: len(self.came) >= number, PATIENCE_SECONDS)

    def close(self) -> None:
        self.over.set()
        self.shutdown()
        self.server_close()


class RunningAgents:
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
            options = Options(rules=AddressRules((ip_network("127.0.0.0/8"),)))
            thread = threading.Thread(target=Agent(place, Sender(options, self.clock)).start)
            thread.start()
            self.stops.append(stop)
            self.threads.append(thread)

    def stop(self) -> None:
        for stop in self.stops:
            stop.set()
        for thread in self.threads:
            thread.join(PATIENCE_SECONDS)
            assert not thread.is_alive()

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Waits until it holds; agents notify their topic whenever they have written something."""
        listener = self.bus.listener("agent")
        ends_at = self.clock.monotonic() + PATIENCE_SECONDS
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
def running_agents(tmp_path: Path) -> Iterator[RunningAgents]:
    running_agents = RunningAgents(tmp_path)
    yield running_agents
    running_agents.stop()
    running_agents.bus.close()
    running_agents.store.close()


def test_jobs_arrive_at_a_real_receiver_while_the_agent_runs(running_agents, server):
    running_agents.start()
    for number in range(20):
        running_agents.job(f"{server.url}/{number}", f"job-{number}")
    running_agents.wait_for(lambda: running_agents.states() == [RunState.PROCESSED] * 20)
    assert sorted(body for _, body in server.came) == sorted(b"job-%d" % n for n in range(20))


def test_ten_agents_deliver_each_job_once(running_agents, server):
    running_agents.start(10)
    for number in range(30):
        running_agents.job(f"{server.url}/{number}", f"job-{number}")
    running_agents.wait_for(lambda: running_agents.states() == [RunState.PROCESSED] * 30)
    running_agents.stop()
    assert len(server.came) == len({key for key, _ in server.came}) == 30
    decided = [
        e for e in running_agents.store.journal.find(limit=10_000) if e.event == "agent.decides"
    ]
    assert 1 <= len(decided) <= 10


def test_a_clean_stop_releases_all_leases_and_hanging_deliveries(running_agents, server):
    running_agents.start()
    running_agents.job(f"{server.url}/hang", "hanging")
    server.wait_for(1)
    running_agents.stop()
    (run,) = running_agents.store.runs.find()[0]
    assert (run.state, run.owner) == (RunState.LAUNCHED, None)
    assert all(lease.released for lease in running_agents.store.leases.all("agent/"))
    server.over.set()
    running_agents.start()
    running_agents.wait_for(lambda: running_agents.states() == [RunState.PROCESSED])
    assert {key for key, _ in server.came} == {run.id}


def test_counters_outlive_the_agent(running_agents, server):
    for _ in range(2):
        running_agents.start()
        running_agents.job(f"{server.url}/x", f"job-{len(running_agents.threads)}")
        running_agents.wait_for(lambda: set(running_agents.states()) == {RunState.PROCESSED})
        running_agents.stop()
    meter = agent_counters.collected(running_agents.store)
    assert meter.total("job_executed_total", "sent") == 2
    assert meter.total("job_completed_total", "processed") == 2
    lines = generate_latest(AgentMetrics(running_agents.store)).decode().splitlines()
    assert 'synergy_job_executed_total{outcome="sent"} 2.0' in lines
    assert "synergy_schedules 2.0" in lines
    assert 'synergy_job_executed_delay_seconds_count{outcome="first"} 2.0' in lines


def test_an_agent_may_be_stopped_before_its_start(running_agents):
    stop = Stop()
    stop.set()
    agent = Agent(
        Workplace(
            None, running_agents.store, running_agents.bus, running_agents.clock, "agent", stop
        )
    )
    agent.start()


def test_an_agent_that_keeps_failing_lets_another_decide(running_agents, server, monkeypatch):
    """After several failures in a row, whatever their cause, the lease is released."""
    turn = AgentDecider.turn
    decided: list[object] = []

    def failing(self: AgentDecider) -> float:
        if not decided or self._context.name == decided[0]:
            decided.append(self._context.name)
            raise RuntimeError("an unexpected error")
        return turn(self)

    monkeypatch.setattr(AgentDecider, "turn", failing)
    running_agents.start(2)
    running_agents.job(f"{server.url}/x", "job")
    running_agents.wait_for(lambda: running_agents.states() == [RunState.PROCESSED])
    assert len(decided) == 3


def test_an_agent_is_woken_by_a_notification_of_the_journal(running_agents, monkeypatch):
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
    running_agents.start()
    assert turns.acquire(timeout=PATIENCE_SECONDS)
    while turns.acquire(timeout=0.5):
        pass
    running_agents.bus.notify("journal")
    assert turns.acquire(timeout=PATIENCE_SECONDS)
