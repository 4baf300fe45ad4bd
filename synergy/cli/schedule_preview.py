"""`launch.py schedule preview`: a schedule in words, and its due times."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING

from synergy.cli import output
from synergy.cli.options import JSON, Verbs, argument, limit
from synergy.cli.services import services
from synergy.errors import InvalidValue

if TYPE_CHECKING:
    from datetime import datetime

    from synergy.queries.schedules.views import DueView, Preview

ALL_OF = "all of ("  # how a trigger that needs several others is described
FILE_HELP = "YAML or JSON; - for standard input"
VERBS = Verbs()


@VERBS.verb(
    """launch.py schedule preview nightly --from 2026-03-28 --to 2026-03-31
    launch.py schedule preview --file nightly.yaml""",
    argument("name", metavar="NAME", nargs="?"),
    argument("--file", metavar="FILE", help=f"one that is not stored; {FILE_HELP}"),
    argument("--from", metavar="TIME", dest="start", help="an instant, or a day; default: now"),
    argument("--to", metavar="TIME", dest="end", help="default: no end"),
    limit(10),
    JSON,
)
def run_preview(arguments: argparse.Namespace) -> None:
    """Show a schedule in words, and its due times."""
    if (arguments.name is None) is (arguments.file is None):
        raise InvalidValue("name a schedule, or --file FILE for one that is not stored")
    start = instant_of(arguments.start, "--from") if arguments.start is not None else None
    end = instant_of(arguments.end, "--to") if arguments.end is not None else None
    if start is not None and end is not None and end < start:
        raise InvalidValue("--from comes after --to: nothing can be due in between")
    what = arguments.name if arguments.file is None else read_one(arguments.file)
    with services() as at:
        preview = at.schedule_reads.preview(what, start, end, arguments.limit)
    output.show(arguments, preview, _print_preview)


def instant_of(text: str, option: str) -> datetime:
    """The instant that an option gives; raises InvalidValue, which names the option."""
    from synergy.schedule.format.literals import instant

    try:
        return instant(text)
    except InvalidValue as error:
        raise InvalidValue(f"{option}: {error}") from None


def _print_preview(preview: Preview) -> None:
    output.pairs(
        {
            "schedule": preview.name,
            "runs": preview.words,
            "understood as": "; ".join(preview.dialects),
            "zone": preview.zone,
        }
    )
    output.say()
    if preview.dues:
        output.table(["due", f"in {preview.zone}", "remark"], list(map(_due_row, preview.dues)))
    else:
        output.say(preview.why_none)
    if preview.more:
        output.note("there are more: --limit, or a later --from")
    if preview.dues and ALL_OF in preview.words:
        output.note("at these times one part of its trigger is met: it runs when all parts are")
    if preview.body is not None:
        output.say()
        output.say(f"what {'the first of them' if preview.dues else 'a run'} would send:")
        output.say(preview.body)
    for warning in preview.warnings:
        output.warn(warning)


def _due_row(due: DueView) -> list[object]:
    local = None if due.local is None else f"{due.local:%a %Y-%m-%d %H:%M:%S %z}"
    return [output.instant(due.at), local, due.remark or None]


def read_all(file: str) -> list[Mapping[str, object]]:
    """The definitions in a file, with the dates of the calendar files that they name."""
    from pathlib import Path

    from synergy.cli.input_files import read_documents
    from synergy.config.calendar_files import with_dates

    folder = Path() if file == "-" else Path(file).parent
    return [with_dates(item, folder) for item in read_documents(file)]


def read_one(file: str) -> Mapping[str, object]:
    """The definition in a file; raises InvalidValue if there are several."""
    items = read_all(file)
    if len(items) > 1:
        raise InvalidValue(f"{file} holds {len(items)} schedules; expected one")
    return items[0]
