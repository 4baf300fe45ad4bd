"""`launch.py check`: every mistake in settings and context at once, before anything starts."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from synergy.cli import exits, options, output

if TYPE_CHECKING:
    from synergy.config.loader import Checked

EXAMPLE = """example:
  launch.py check
  SYNERGY_ENV=prod launch.py check --json
"""


def add(subparsers: Any) -> None:
    """Adds the command to the parser."""
    parser = subparsers.add_parser(
        "check",
        help="list all mistakes in settings and context",
        description="Loads settings and context, imports every worker, and lists all mistakes.",
        epilog=EXAMPLE,
    )
    options.JSON(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints all mistakes and warnings; the exit code says whether a start would succeed."""
    from synergy.compose import HERE
    from synergy.config.loader import check

    found = check(HERE, os.environ)
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
    processes, trees = len(found.deployment.processes), len(found.deployment.trees)
    return f"settings and context are sound: {processes} processes, {trees} trees{warnings}"
