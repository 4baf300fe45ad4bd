"""`launch.py check`: every mistake in settings and context at once, before anything starts."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from synergy.cli import exits, output
from synergy.cli.options import JSON, Verbs
from synergy.names import POOL

if TYPE_CHECKING:
    from synergy.config.loader import Checked

VERBS = Verbs()
add = VERBS.add_to


@VERBS.verb("launch.py check\nSYNERGY_ENV=prod launch.py check --json", JSON)
def run_check(arguments: argparse.Namespace) -> int:
    """List all mistakes in settings and context.

    Every worker is imported. The exit code says whether a start would succeed.
    """
    from synergy.config.loader import check
    from synergy.config.project import project_folder

    found = check(project_folder(), os.environ)
    code = exits.CONFIGURATION if found.mistakes else exits.DONE
    if arguments.json:
        output.print_json(
            {"ok": not found.mistakes, "mistakes": found.mistakes, "warnings": found.warnings}
        )
        return code
    for mistake in found.mistakes:
        output.say(f"{output.colour('mistake', 'red')}: {mistake}")
    for warning in found.warnings:
        output.say(f"{output.colour('warning', 'yellow')}: {warning}")
    output.say(_summary(found))
    return code


def _summary(found: Checked) -> str:
    from synergy.queries.wording import counted

    if found.mistakes:
        return f"{counted(len(found.mistakes), 'mistake')}: nothing would start"
    warnings = f", {counted(len(found.warnings), 'warning')}" if found.warnings else ""
    processes = len(found.deployment.processes.keys() - {POOL})  # which nobody declares
    trees = counted(len(found.deployment.trees), "tree")
    return f"settings and context are sound: {processes} processes, {trees}{warnings}"
