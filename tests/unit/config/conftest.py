"""A project for which tests write settings and context."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the environments dev and prod, and nothing set."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    folder = tmp_path / "settings"
    folder.mkdir()
    for name in ("__init__", "base", "dev", "prod"):
        (folder / f"{name}.py").write_text("")
    return tmp_path
