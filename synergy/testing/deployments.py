"""Deployments for simulations: of entries as in `context.py`, or of a project."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from synergy import compose
from synergy.config import settings_reader
from synergy.config.findings import Findings
from synergy.config.loader import read_context
from synergy.model.process import Deployment


def from_entries(
    process_context: Mapping[str, object],
    timetable_context: Mapping[str, object] | None = None,
    schedule_context: Mapping[str, object] | None = None,
) -> Deployment:
    """The deployment; raises ConfigurationError with all mistakes in the entries."""
    names = {
        "process_context": process_context,
        "timetable_context": timetable_context or {},
        "schedule_context": schedule_context or {},
    }
    folder, findings = Path.cwd(), Findings()
    settings = settings_reader.defaults(folder)
    deployment = read_context(names, settings, findings, "context", folder)
    findings.raise_mistakes()
    return deployment


def from_project(folder: Path | None) -> Deployment:
    """The deployment of a project; raises ConfigurationError with all mistakes in it."""
    project = compose.open_project() if folder is None else compose.open_project(folder)
    return project.deployment
