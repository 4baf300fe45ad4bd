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
