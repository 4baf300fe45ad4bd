"""What tests of the command line, and of agents, begin with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from synergy.model.process import Deployment
from tests.deployments import DAILY, a_deployment, a_process
from tests.service.agent_harness import AgentHarness, a_worker
from tests.service.commands import BOX, NOW, START, Commands
from tests.service.scheduler_harness import SchedulerHarness


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


@pytest.fixture
def deployed(commands: Commands) -> Iterator[SchedulerHarness]:
    """A system whose store the commands share; its scheduler has not made a turn yet."""
    system = commands.open_system()
    yield system
    system.bus.close()
    system.store.close()


@pytest.fixture
def factory() -> Iterator[AgentHarness]:
    """A set of agents with two free-run processes and a managed one."""
    daily = a_deployment({"site": [a_process("Daily", DAILY)]})
    workers = {name: a_worker(name) for name in ("Export", "Clean")}
    agents = AgentHarness(Deployment({**daily.processes, **workers}, daily.trees))
    yield agents
    agents.close()
