"""`launch.py check`: every mistake in settings and context at once, before anything starts."""

from __future__ import annotations

import argparse
from typing import Any

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
    parser.add_argument("--json", action="store_true", help="mistakes and warnings as JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints what was found; the exit code says whether it would start."""
    import os

    from synergy.cli import exits, output
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
    output.say(_summary(len(found.mistakes), len(found.warnings), found.deployment))
    return code


def _summary(mistakes: int, warnings: int, deployment: Any) -> str:
    if mistakes:
        return f"{mistakes} mistake{'s' * (mistakes > 1)}: nothing would start"
    more = f", {warnings} warning{'s' * (warnings > 1)}" if warnings else ""
    processes, trees = len(deployment.processes), len(deployment.trees)
    return f"settings and context are sound: {processes} processes, {trees} trees{more}"
