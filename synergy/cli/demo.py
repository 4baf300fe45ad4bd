"""`launch.py demo`: the illustration as a project of its own, started."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from synergy.cli import output
from synergy.cli.options import DRY_RUN, JSON, Verbs, argument, file_path
from synergy.errors import Refused
from synergy.program import PROGRAM

_ILLUSTRATION = Path(__file__).resolve().parent.parent / "illustration"  # in installed packages

VERBS = Verbs()
add = VERBS.add_to


@VERBS.verb(
    "launch.py demo\nlaunch.py demo shop-demo --foreground",
    argument(
        "folder",
        metavar="FOLDER",
        type=file_path,
        nargs="?",
        default=Path("synergy-demo"),
        help="where to put it; default: synergy-demo",
    ),
    argument("--foreground", action="store_true", help="stay attached, until Ctrl-C"),
    JSON,
    DRY_RUN,
)
def run_demo(arguments: argparse.Namespace) -> None:
    """Copy the illustration into a folder, and start it there.

    Generated visits of web sites become sessions, and these become statistics by hour, day, month
    and year. A folder with the copy of an earlier call is used as it is.
    """
    from synergy.config.project import VARIABLE, is_project, program_line

    folder = arguments.folder.absolute()
    if not is_project(folder):
        _copy(folder, dry_run=arguments.dry_run)
        if arguments.dry_run:
            output.note(f"the illustration would be copied to {folder} and started")
            return
        output.note(f"the illustration is in {folder}; run other commands there")
    words = ["supervisor", "start"]
    words += [f"--{name}" for name in ("foreground", "json") if getattr(arguments, name)]
    words += ["--dry-run"] if arguments.dry_run else []
    command = [*program_line(folder), *words]
    environment = {**os.environ, VARIABLE: str(folder)}
    os.chdir(folder)
    sys.stderr.flush()
    os.execve(command[0], command, environment)


def _copy(folder: Path, *, dry_run: bool) -> None:
    """Copies the illustration; raises Refused if the folder holds something else."""
    if not _ILLUSTRATION.is_dir():
        step = f"{PROGRAM} supervisor start runs it"
        raise Refused(f"the illustration is the repository itself: {step} there")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Refused(f"{folder} is not empty, and no project: name another folder")
    if dry_run:
        return
    unfinished = folder.with_name(f".{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.copytree(_ILLUSTRATION, unfinished, ignore=shutil.ignore_patterns("__pycache__"))
    if folder.exists():
        folder.rmdir()
    unfinished.rename(folder)
