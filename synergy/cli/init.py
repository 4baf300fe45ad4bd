"""`launch.py init`: makes the folder of a new project."""

from __future__ import annotations

import argparse
import shlex

from synergy.cli import output
from synergy.cli.options import DRY_RUN, JSON, Verbs, argument, file_path

VERBS = Verbs()
add = VERBS.add_to


@VERBS.verb(
    "launch.py init shop",
    argument(
        "folder",
        metavar="NAME",
        type=file_path,
        help="the path of a new or empty folder, or of one with .git and .venv only",
    ),
    JSON,
    DRY_RUN,
)
def run_init(arguments: argparse.Namespace) -> None:
    """Make a project: context, settings, a worker with its test, container image, README.

    The project works as it is: its README leads to a first result.
    """
    from synergy.clock import SystemClock
    from synergy.config.new_project import new_project
    from synergy.queries.wording import counted

    project = new_project(arguments.folder, SystemClock().now())
    if not arguments.dry_run:
        project.write()
    verb = "would be made" if arguments.dry_run else "is made"
    number = counted(len(project.paths), "file")
    output.show_change(
        arguments,
        {"name": project.name, "folder": project.folder, "files": project.paths},
        f"project {project.name} {verb} in {project.folder}: {number}",
        *(f"  {path}" for path in project.paths if arguments.dry_run),
    )
    if not (arguments.json or arguments.dry_run):
        _print_steps(str(arguments.folder))
        if " @ file:" in project.requirement:
            output.warn(
                f"requirements.txt names a folder of this machine, {project.requirement!r}: "
                "for others and for the image, put a wheel of it beside, and name that"
            )


def _print_steps(folder: str) -> None:
    output.say("next:")
    for step in (
        f"cd {shlex.quote(folder)}",
        "synergy check",
        "synergy supervisor start      # README.md shows what to do then",
    ):
        output.say(f"  {step}")
