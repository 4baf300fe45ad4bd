"""`launch.py status`: whether all is well."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from synergy.cli import exits, options, output
from synergy.cli.services import services

if TYPE_CHECKING:
    from synergy.queries.health.findings import Finding
    from synergy.queries.health.verdict import Verdict

EXAMPLE = """example:
  launch.py status
  launch.py status > status.txt || mail -s 'Synergy is not well' ops@example.com < status.txt
"""
SHOWN = 30  # findings; --json has all


def add(subparsers: Any) -> None:
    """Adds the command to the parser."""
    parser = subparsers.add_parser(
        "status",
        help="whether all is well, and if not, what is not and what helps",
        description="Shows whether all is well; the exit code is 0 for well, 1 for not well, "
        "and 5 if that is unknown.",
        epilog=EXAMPLE,
    )
    options.JSON(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints the verdict; returns it as the exit code."""
    with services() as at:
        if at.reads.is_audit_due():
            with output.Progress("processes audited") as line:
                at.audit(line.show)
        found = at.reads.verdict()
    output.show(arguments, found, _print_verdict)
    if found.is_well is None:
        return exits.UNREACHABLE
    return exits.DONE if found.is_well else exits.FAILED


def _print_verdict(found: Verdict) -> None:
    colour = {True: "green", False: "red", None: "yellow"}[found.is_well]
    output.say(output.colour(found.text, colour))
    for finding in found.findings[:SHOWN]:
        output.say()
        _print_finding(finding)
    if len(found.findings) > SHOWN:
        output.say(f"\n... and {len(found.findings) - SHOWN:,} more: --json lists all")
    if found.notes:
        output.say()
    for note in found.notes:
        output.say(f"note: {note.text}")


def _print_finding(finding: Finding) -> None:
    output.say(f"{finding.kind.value}: {output.one_line(finding.text)}")
    since = output.instant(finding.since)
    if since:
        output.say(f"  since  {since}")
    if finding.waiting:
        waits = "period waits" if finding.waiting == 1 else "periods wait"
        output.say(f"  behind it  {finding.waiting:,} {waits}")
    for number, help_ in enumerate(finding.helps):
        command = f"{help_.command}   # {help_.label}"
        output.say(f"  {'helps' if number == 0 else '     '}  {output.one_line(command)}")
