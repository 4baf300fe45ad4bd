"""`launch.py status`: whether all is well."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from synergy.cli import exits, output
from synergy.cli.options import JSON, Verbs
from synergy.cli.services import services

if TYPE_CHECKING:
    from synergy.queries.health.findings import Finding
    from synergy.queries.health.verdict import Verdict

EXAMPLE = """launch.py status
  launch.py status > status.txt || mail -s 'Synergy is not well' ops@example.com < status.txt
"""
SHOWN = 30  # findings; --json has all
VERBS = Verbs()
add = VERBS.add_to


@VERBS.verb(EXAMPLE, JSON)
def run_status(arguments: argparse.Namespace) -> int:
    """Show whether all is well, and if not, what is not and what helps.

    The exit code is 0 for well, 1 for not well, and 5 if that is unknown.
    """
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
