"""Writing and loading settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from synergy.config.loader import load_settings
from synergy.config.settings import Settings

PROJECT = Path(__file__).resolve().parents[3]


def write(project: Path, name: str, text: str) -> None:
    (project / "settings" / f"{name}.py").write_text(text)


def load(project: Path, environ: Mapping[str, str] | None = None) -> Settings:
    return load_settings(project, environ or {})
