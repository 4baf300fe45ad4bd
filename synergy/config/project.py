"""The folder of the project that a command works on.

A project is a folder with a `context.py` or with `settings/base.py`. `SYNERGY_PROJECT` names it, or
it is found from the current folder upwards, so that commands work anywhere in a project.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from synergy.errors import ConfigurationError
from synergy.program import LAUNCHER, PROGRAM

VARIABLE = "SYNERGY_PROJECT"
_MARKS = ("context.py", "settings/base.py")


def project_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of the project, absolute; raises ConfigurationError if there is none."""
    given = environ.get(VARIABLE)
    if given:
        folder = Path(given).expanduser().absolute()
        if not folder.is_dir():
            raise ConfigurationError([f"{VARIABLE}: there is no folder {folder}"])
        return folder
    here = Path.cwd()
    for folder in (here, *here.parents):
        if is_project(folder):
            return folder
    raise ConfigurationError(
        [
            f"there is no project in {here} or above it: {PROGRAM} init NAME makes one, "
            f"or set {VARIABLE} to its folder"
        ]
    )


def is_project(folder: Path) -> bool:
    """Whether the folder is one of a project."""
    return any((folder / mark).is_file() for mark in _MARKS)


def program_line(project: Path) -> tuple[str, ...]:
    """The beginning of a command line that runs Synergy on the project, with this Python."""
    launcher = project / LAUNCHER
    if PROGRAM == LAUNCHER and launcher.is_file():
        return (sys.executable, str(launcher))
    return (sys.executable, "-m", "synergy")
