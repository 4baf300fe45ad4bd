"""What tests of the command line begin with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.commands import BOX, NOW, START, Commands
from tests.service.world import World


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
def deployed(commands: Commands) -> Iterator[World]:
    """A world whose store the commands share; its scheduler has not made a turn yet."""
    world = commands.a_world()
    yield world
    world.bus.close()
    world.store.close()
