"""Fixtures of the services: commands, a deployed system, agents; all are closed after a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from synergy.model.process import DaemonProcess, Deployment, StateMachine
from synergy.queries.schedules.reads import ScheduleReads
from tests.deployments import DAILY, HOURLY, a_deployment, a_process
from tests.service.agent_harness import AgentHarness, a_worker
from tests.service.commands import BOX, NOW, START, Commands
from tests.service.free_runs import a_free_process
from tests.service.scheduler_harness import SchedulerHarness, close_systems
from tests.service.two_trees import site_and_client


@pytest.fixture
def commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Commands:
    """Commands in a home that does not exist yet, at a fixed time."""
    home = tmp_path / "home"
    for name, value in {
        "ENV": "test",
        "HOME": str(home),
        "CLOCK": NOW.isoformat(),
        "START_TIMEPERIOD": START,
        "DEMO_STREAM": "off",
        "BOX_ID": BOX,
    }.items():
        monkeypatch.setenv(f"SYNERGY_{name}", value)
    monkeypatch.delenv("SYNERGY_STORE", raising=False)
    return Commands(home, capsys)


@pytest.fixture(autouse=True)
def _close_harnesses() -> Iterator[None]:
    yield
    close_systems()


@pytest.fixture
def deployed(commands: Commands) -> SchedulerHarness:
    """A system whose store the commands share; its scheduler has not made a turn yet."""
    return commands.open_system()


@pytest.fixture
def home(commands: Commands, deployed: SchedulerHarness) -> Commands:
    """Commands whose store exists."""
    return commands


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., str]:
    """Writes a file, and returns its path."""

    def write(text: str, name: str = "file.yaml") -> str:
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


@pytest.fixture(params=StateMachine, ids=lambda machine: machine.value)
def system(request: pytest.FixtureRequest) -> SchedulerHarness:
    """A site and a client that depends on it, under each state machine."""
    return site_and_client(request.param)


@pytest.fixture
def agents() -> AgentHarness:
    """Agents of a deployment with one process of each kind."""
    daemon = DaemonProcess(name="Agent", classname="x", token="x", present_on_boxes=(".*",))
    processes = [a_free_process(), a_process("Site", HOURLY), daemon]
    return AgentHarness(Deployment({process.name: process for process in processes}, {}))


@pytest.fixture
def reads(agents: AgentHarness) -> ScheduleReads:
    """Queries of the schedules of these agents."""
    return ScheduleReads(agents.store, agents.deployment, agents.clock)


@pytest.fixture
def factory() -> AgentHarness:
    """Agents of a deployment with two free-run processes and a managed one."""
    daily = a_deployment({"site": [a_process("Daily", DAILY)]})
    workers = {name: a_worker(name) for name in ("Export", "Clean")}
    return AgentHarness(Deployment({**daily.processes, **workers}, daily.trees))
