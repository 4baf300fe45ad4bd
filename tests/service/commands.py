"""The command line in this process, on a store in a temporary home."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from synergy import compose
from synergy.cli.main import main
from synergy.storage.sqlite import SqliteStore
from tests.service.scheduler_harness import SchedulerHarness

NOW = datetime(2015, 5, 20, 12, 0, tzinfo=UTC)
START = "2015051700"
BOX = "box-1"
HOUR, DAY, SESSIONS = "SiteHourlyAggregator", "SiteDailyAggregator", "SingleSessionWorker"


class Commands:
    """Runs commands, and keeps what the last one printed."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = home
        self._capsys = capsys
        self.out = self.err = ""

    @property
    def text(self) -> str:
        return self.out + self.err

    def run(self, *argv: str) -> int:
        """Runs a command; returns its exit code."""
        self._capsys.readouterr()
        code = main(argv)
        self.out, self.err = self._capsys.readouterr()
        assert "Traceback" not in self.text, self.text
        return code

    def ok(self, *argv: str) -> str:
        """Runs a command that must succeed; returns what it printed."""
        assert self.run(*argv) == 0, self.text
        return self.out

    def json(self, *argv: str, code: int = 0) -> Any:
        """Runs a command; returns its JSON output."""
        assert self.run(*argv, "--json") == code, self.text
        return json.loads(self.out)

    def open_system(self) -> SchedulerHarness:
        """A harness for the deployment of the project, over the store of the home."""
        project = compose.open_project()
        store = SqliteStore.open(project.settings.store_file)
        return SchedulerHarness(project.deployment, START, NOW, store)
