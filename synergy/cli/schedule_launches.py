"""`launch.py schedule trigger`, `backfill`: runs by hand, now or for due times of the past."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from synergy.cli import output
from synergy.cli.options import CHANGE, NAME, TIMES, Verbs, argument, json_object
from synergy.cli.schedule_notes import note_if_no_agent, note_if_run_nowhere
from synergy.cli.services import actor, services, times
from synergy.errors import InvalidValue
from synergy.program import PROGRAM

if TYPE_CHECKING:
    from synergy.commands.backfill import BackfilledDue
    from synergy.commands.run_values import RunValues

VERBS = Verbs()


@VERBS.verb(
    """launch.py schedule trigger nightly
    launch.py schedule trigger export --arguments '{"day": "2026-11-21"}'
    launch.py schedule trigger daily-numbers --payload numbers.json""",
    NAME,
    argument(
        "--arguments",
        metavar="JSON",
        type=json_object,
        help="an object with arguments for this run only; they override those of the schedule",
    ),
    argument(
        "--payload",
        metavar="FILE",
        help="a file with the payload of this run only (- for standard input); may be a template",
    ),
    *CHANGE,
    records=("name", "payload"),
)
def run_trigger(arguments: argparse.Namespace) -> None:
    """Run a schedule now, regardless of its constraints."""
    values = _values(arguments)
    with services() as at:
        run = at.schedule_commands.trigger(
            arguments.name, actor(arguments.reason), at.now, values, dry_run=arguments.dry_run
        )
        note_if_no_agent(at)
        note_if_run_nowhere(at, [at.schedule_commands.schedule(arguments.name)])
    if arguments.dry_run:
        made, line = None, f"{arguments.name} would be launched"
    else:
        made, line = run, f"{arguments.name} was launched: {PROGRAM} schedule run {run}"
    output.show_change(arguments, {"schedule": arguments.name, "run": made}, line)


def _values(arguments: argparse.Namespace) -> RunValues:
    from synergy.cli.input_files import read_text
    from synergy.commands.run_values import RunValues

    payload = None if arguments.payload is None else read_text(arguments.payload)
    return RunValues(arguments.arguments, payload)


@VERBS.verb(
    """launch.py schedule backfill nightly --from 2026-11-01 --to 2026-11-08 --dry-run
    launch.py schedule backfill hourly --from 2026-11-20T06:00:00Z --to 2026-11-20T12:00:00Z
    launch.py schedule backfill hourly --from "last night" --zone Europe/Berlin""",
    NAME,
    *TIMES,
    *CHANGE,
    records=("name", "begin", "end", "zone"),
)
def run_backfill(arguments: argparse.Namespace) -> None:
    """Run a schedule for the due times of a past time that no run has done.

    The runs wait for each other, oldest first, and for the constraints of the schedule. Due times
    with a run that succeeded, or has not ended, are left alone.
    """
    from synergy.schedule.format.literals import spelled_instant

    with services() as at:
        within = times(arguments, at)
        if within.begin is None or within.end is None:
            raise InvalidValue(
                "a backfill has a beginning and an end: --from and --to, or a span such as "
                "--from yesterday"
            )
        found = at.schedule_commands.backfill(
            arguments.name,
            within.begin,
            within.end,
            actor(arguments.reason),
            at.now,
            dry_run=arguments.dry_run,
        )
        note_if_no_agent(at)
        note_if_run_nowhere(at, [at.schedule_commands.schedule(arguments.name)])
    content = {"schedule": arguments.name, "dues": found}
    span = f"from {spelled_instant(within.begin)} to {spelled_instant(within.end)}"
    output.show_change(arguments, content, *_lines(arguments, found, span))


def _lines(arguments: argparse.Namespace, found: Sequence[BackfilledDue], span: str) -> list[str]:
    from synergy.queries.wording import counted

    if not found:
        return [f"{arguments.name} has no due time {span}"]
    runs = sum(map(_is_run, found))
    verb = "would be run" if arguments.dry_run else "is run" if runs == 1 else "are run"
    dues = counted(len(found), "due time")
    lines = [f"{dues} of {arguments.name}, of which {runs:,} {verb}:"]
    return [*lines, *(f"{output.instant(one.due_at)}  {_what(one)}" for one in found)]


def _is_run(one: BackfilledDue) -> bool:
    return one.is_new and not one.reason


def _what(one: BackfilledDue) -> str:
    if _is_run(one):
        return "would be run" if one.run is None else f"run {one.run}"
    return ": ".join(filter(None, [one.state, output.one_line(one.reason)]))
