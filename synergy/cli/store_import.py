"""`launch.py store import`: takes over what Synergy 1 or 2 stored."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from synergy.cli import output
from synergy.cli.options import CHANGE, Verbs, argument, not_empty
from synergy.cli.services import actor, services
from synergy.cli.store_copy import url_of

if TYPE_CHECKING:
    from synergy.commands.older.reading import Read, TakenOver
    from synergy.commands.older.records import Documents
    from synergy.compose import Project

SOURCE_HELP = (
    "a folder of exported collections (job_daily.json, unit_of_work.json, ...), one such file, "
    "or mongodb://HOST/DATABASE; @FILE holds the URL"
)
VERBS = Verbs()


@VERBS.verb(
    """launch.py store import exported/ --dry-run
    launch.py store import mongodb://db-1/scheduler""",
    argument("source", metavar="SOURCE", type=not_empty, help=SOURCE_HELP),
    *CHANGE,
    records=("source",),
)
def run_import(arguments: argparse.Namespace) -> None:
    """Take over jobs, units of work, switches and schedules of Synergy 1 or 2.

    The store must not be in use. Finished periods stay finished, unfinished ones are left to the
    timetable. A repeated import changes nothing; documents that are not understood are named, and
    nothing is imported.
    """
    from synergy.commands.older.takeover import Takeover
    from synergy.commands.store_usage import refuse_while_in_use
    from synergy.config.stores import place

    with services() as at:
        settings = at.project.settings
        read = _read(arguments.source, at.project)
        with output.Progress("waiting for leases of lost processes to expire") as line:
            refuse_while_in_use(at.store, place(settings.store), line.show)
        who = actor(arguments.reason or "taken over from an older version")
        takeover = Takeover(at.store, at.project.deployment, at.schedule_commands, who)
        with output.Progress("documents read") as line:
            done = takeover.carry_out(
                lambda: _shown(read(), line),
                at.now,
                settings.start_timeperiod,
                dry_run=arguments.dry_run,
            )
    _print(arguments, done)


def _read(source: str, project: Project) -> Read:
    from synergy.cli.older_export import exported, exported_files
    from synergy.commands.older.records import READERS
    from synergy.compose import older_documents

    if source.startswith(("@", "mongodb://", "mongodb+srv://")):
        url = url_of(source, "SOURCE", project)
        return lambda: older_documents(url, list(READERS))
    files = exported_files(Path(source))
    return lambda: exported(files)


def _shown(documents: Documents, line: output.Progress) -> Documents:
    """The documents, with their number on the progress line."""
    for number, each in enumerate(documents, 1):
        if number % 1_000 == 0:
            line.show(number)
        yield each


def _print(arguments: argparse.Namespace, done: TakenOver) -> None:
    facts = {
        "start": done.start,
        "unknown": sorted(done.unknown),
        "counts": {kind: dict(counts) for kind, counts in done.counts.items()},
    }
    rows = [
        f"{kind}: {number:,} {outcome}"
        for kind, counts in done.counts.items()
        for outcome, number in counts.items()
    ]
    would = "nothing was changed; this would be done:" if arguments.dry_run else ""
    output.show_change(
        arguments, facts, *filter(None, [would]), *rows or ["there is nothing in it"]
    )
    if done.unknown and not arguments.json:
        output.note(f"not in context.py: {', '.join(sorted(done.unknown))}")
