"""The direction of imports, as declared in pyproject.toml, is kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]


def test_import_contracts_are_kept() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()",
         "--no-cache"],
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": str(PROJECT), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
    )  # fmt: skip
    assert "0 broken" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0, done.stdout + done.stderr


OF_WORKERS = """
import sys
from synergy import compose
import synergy.worker.unit_runner
project = compose.open_project()
compose.open_store(project.settings).close()
assert project.queues
print(*sorted(sys.modules))
"""


def test_workers_load_no_code_of_agents_schedulers_and_pages(tmp_path: Path) -> None:
    """Each worker would start later and be larger."""
    done = subprocess.run(
        [sys.executable, "-c", OF_WORKERS],
        cwd=PROJECT,
        env={**os.environ, "SYNERGY_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        check=True,
    )
    folders = {name.split(".")[1] for name in done.stdout.split() if name.startswith("synergy.")}
    assert "worker" in folders
    assert not folders & {"agent", "delivery", "mx", "queries", "scheduler"}
