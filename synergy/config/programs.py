"""Looks for the programs of commands on this box."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from synergy.config.findings import Findings
from synergy.config.settings import Settings
from synergy.model.command_template import parse_item
from synergy.model.process import Process, WorkingProcess
from synergy.model.switches import belongs


def check_programs(
    processes: Iterable[Process],
    settings: Settings,
    project: Path,
    environ: Mapping[str, str],
    findings: Findings,
) -> None:
    """Warns about commands of this box whose program is missing or cannot be executed.

    A program whose name is only known with the values of a unit is not looked for.
    """
    for process in processes:
        if not isinstance(process, WorkingProcess) or not belongs(process, settings.box_id):
            continue
        program = _program(process, settings)
        path = process.variables.get("PATH", environ.get("PATH", os.defpath))
        if program and not _is_there(program, Path(process.cwd or project), path):
            place = "in that place" if os.sep in program else "in PATH"
            findings.warning(
                f"process {process.name}",
                f"command: there is no program {program} {place} of this box that may be executed",
            )


def _program(process: WorkingProcess, settings: Settings) -> str | None:
    """The program of a command; None without one, and if only a unit's values make its name."""
    if not process.command:
        return None
    item = parse_item(process.command[0])
    known = {"home": settings.home}
    return item.fill(known) if set(item.names) <= known.keys() else None


def _is_there(program: str, folder: Path, path: str) -> bool:
    """Whether a worker could start the program in the folder where the command runs."""
    wanted = str(folder / program) if os.sep in program else program
    return shutil.which(wanted, path=path) is not None
