"""A context with a process of each kind, and schedules declared in it."""

from __future__ import annotations

from pathlib import Path

from synergy.compose import open_project
from synergy.config.loader import Checked, check, load_settings
from synergy.config.settings import Settings
from synergy.model.process import Deployment

WORKER = "tests.unit.context_workers.Fine.start"
AGENT = "synergy.agent.agent.Agent.start"
HEAD = f"""
from synergy.config.context import *

def freerun(name, **fields):
    if "command" not in fields:
        fields.setdefault("classname", {WORKER!r})
    return freerun_context_entry(process_name=name, present_on_boxes=[".*"], **fields)

process_context = {{
    "Agent": daemon_context_entry(
        process_name="Agent", classname={AGENT!r}, present_on_boxes=[".*"]),
    "Daily": managed_context_entry(
        process_name="Daily", classname={WORKER!r}, time_qualifier="daily",
        present_on_boxes=[".*"]),
    "Report": freerun("Report"),
}}
timetable_context = {{"t": timetable_tree_entry(tree_name="t", enclosed_processes=["Daily"])}}
"""

SOUND = {"schedule_name": "s", "process": "Report", "trigger": "every 60"}


def declare(project: Path, *lines: str) -> None:
    (project / "context.py").write_text("\n".join([HEAD, *lines, ""]))


def schedule(fields: dict[str, object], key: str = "s") -> str:
    return f"schedule_context = {{{key!r}: schedule_context_entry(**{fields!r})}}"


def checked(project: Path) -> Checked:
    return check(project, {}, imports=False)


def mistakes(project: Path) -> list[str]:
    return list(checked(project).mistakes)


def load(project: Path) -> Deployment:
    return open_project(project, {}).deployment


def settings(project: Path, **environ: str) -> Settings:
    return load_settings(project, environ)
