"""`launch.py journal list`: what changed, when, why, and by whom."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from synergy.cli import output
from synergy.cli.options import CURSOR, JSON, TIMES, Noun, argument, limit
from synergy.cli.services import services, times

if TYPE_CHECKING:
    from synergy.model.journal import JournalEntry
    from synergy.queries.page import Page

NOUN = Noun(
    "journal", "what changed, when, why, and by whom", "launch.py journal list --from yesterday"
)
add = NOUN.add


@NOUN.verb(
    """launch.py journal list --from 'last night' --zone Europe/Berlin --event job.failed
    launch.py journal list --process SiteDailyAggregator --timeperiod 2015-05-17""",
    argument("--process", metavar="NAME", help="a process or schedule, also a former one"),
    argument("--timeperiod", metavar="TIMEPERIOD", help="with --process: one job, or run"),
    argument("--event", metavar="EVENT", help="job.skipped; or job for all events of jobs"),
    argument("--who", metavar="TEXT", help="a part of the name of the actor, in any case"),
    *TIMES,
    limit(50),
    CURSOR,
    JSON,
)
def run_list(arguments: argparse.Namespace) -> None:
    """Show entries of the journal, newest first, by the time when they were written."""
    with services() as at:
        page = at.reads.journal(
            arguments.process,
            arguments.timeperiod,
            arguments.event,
            arguments.limit,
            arguments.cursor,
            arguments.who,
            times(arguments, at),
        )
    output.show(arguments, page, _print_page)


def _print_page(page: Page[JournalEntry]) -> None:
    output.table(
        ["entry", "at", "event", "process", "timeperiod", "before", "after", "by", "why"],
        [
            [
                entry.seq,
                output.instant(entry.at),
                entry.event,
                entry.process,
                _periods(entry),
                entry.before,
                entry.after,
                entry.who,
                output.one_line(entry.why, output.REASON),
            ]
            for entry in page.items
        ],
    )
    output.note_more(page.next)


def _periods(entry: JournalEntry) -> str:
    return entry.first if entry.first == entry.last else f"{entry.first} to {entry.last}"
