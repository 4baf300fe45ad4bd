"""Builders of texts of `context.py`, and loading and checking them."""

from __future__ import annotations

from pathlib import Path

from synergy.compose import open_project
from synergy.config.loader import Checked, check
from synergy.model.process import (
    Deployment,
    ManagedProcess,
)

HEAD = "from synergy.config.context import *\n"
WORKER = "tests.unit.context_workers.Fine.start"


def managed(name: str, qualifier: str, **fields: object) -> str:
    """Returns the text of a valid entry with changed fields; `...` omits a field."""
    usual: dict[str, object] = {
        "process_name": name,
        "classname": WORKER,
        "time_qualifier": qualifier,
        "present_on_boxes": ["dev.*"],
    }
    given = {key: value for key, value in (usual | fields).items() if value is not ...}
    return f"managed_context_entry(**{given!r})"


def daemon(name: str, **fields: object) -> str:
    usual: dict[str, object] = {
        "process_name": name,
        "classname": WORKER,
        "present_on_boxes": [".*"],
    }
    given = {key: value for key, value in (usual | fields).items() if value is not ...}
    return f"daemon_context_entry(**{given!r})"


def tree(name: str, processes: list[str], *dependent_on: str, **fields: object) -> str:
    usual: dict[str, object] = {
        "tree_name": name,
        "enclosed_processes": processes,
        "dependent_on": list(dependent_on),
    }
    given = {key: value for key, value in (usual | fields).items() if value is not ...}
    return f"timetable_tree_entry(**{given!r})"


def write(project: Path, processes: dict[str, str], trees: dict[str, str], more: str = "") -> None:
    def dictionary(entries: dict[str, str]) -> str:
        return "{" + ", ".join(f"{key!r}: {text}" for key, text in entries.items()) + "}"

    text = f"process_context = {dictionary(processes)}\ntimetable_context = {dictionary(trees)}\n"
    (project / "context.py").write_text(HEAD + text + more)


def one(project: Path, entry: str) -> None:
    """Writes a context with one managed process `p` and its tree."""
    write(project, {"p": entry}, {"t": tree("t", ["p"])})


def checked(project: Path, **environ: str) -> Checked:
    return check(project, environ)


def mistakes(project: Path) -> list[str]:
    return list(checked(project).mistakes)


def only_mistake(project: Path) -> str:
    (mistake,) = mistakes(project)
    return mistake


def load(project: Path) -> Deployment:
    return open_project(project, {}).deployment


def process(project: Path, name: str = "p") -> ManagedProcess:
    return load(project).managed()[name]
