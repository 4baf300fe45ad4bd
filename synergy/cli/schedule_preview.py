"""`launch.py schedule preview`: how a schedule is understood, and when it is due."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from synergy.cli import options

if TYPE_CHECKING:
    from datetime import datetime

    from synergy.queries.schedules.views import DueView, Preview

ALL_OF = "all of ("  # how a trigger of several that are all needed is put into words
FILE_HELP = "YAML or JSON; - for standard input"


def add(verbs: Any) -> None:
    """Adds the verb to the noun."""
    preview = options.verb(
        verbs, "preview", run_preview, "show how a schedule is understood, and when it is due",
        """launch.py schedule preview nightly --from 2026-03-28 --to 2026-03-31
        launch.py schedule preview --file nightly.yaml""",
    )  # fmt: skip
    preview.add_argument("name", metavar="NAME", nargs="?")
    preview.add_argument("--file", metavar="FILE", help=f"one that is not stored; {FILE_HELP}")
    preview.add_argument(
        "--from", metavar="TIME", dest="start", help="an instant, or a day; default: now"
    )
    preview.add_argument("--to", metavar="TIME", dest="end", help="default: no end")
    preview.add_argument(
        "--limit", metavar="N", type=options.positive, default=10, help="default: 10"
    )
    options.json_option(preview)


def run_preview(arguments: argparse.Namespace) -> None:
    """When it is due, and what it would send."""
    from synergy.cli import output
    from synergy.cli.schedule_services import schedule_services
    from synergy.errors import InvalidValue

    if (arguments.name is None) is (arguments.file is None):
        raise InvalidValue("name a schedule, or --file FILE for one that is not stored")
    start, end = _instant(arguments.start, "--from"), _instant(arguments.end, "--to")
    if start is not None and end is not None and end < start:
        raise InvalidValue("--from comes after --to: nothing can be due in between")
    what = arguments.name if arguments.file is None else one(arguments.file)
    with schedule_services() as at:
        preview = at.reads.preview(what, start, end, arguments.limit)
    if arguments.json:
        output.print_json(preview)
        return
    _print_preview(preview)


def _instant(text: str | None, option: str) -> datetime | None:
    """A day, or an instant, in UTC unless it says otherwise."""
    from synergy.errors import InvalidValue
    from synergy.schedule.format.literals import instant

    try:
        return None if text is None else instant(text)
    except InvalidValue as error:
        raise InvalidValue(f"{option}: {error}") from None


def _print_preview(preview: Preview) -> None:
    from synergy.cli import output

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
        output.note("at these times a part of its trigger is met: it runs when all of it is")
    if preview.body is not None:
        output.say()
        output.say(f"what {'the first of them' if preview.dues else 'a run'} would send:")
        output.say(output.visible(preview.body))
    for warning in preview.warnings:
        output.note(f"warning: {warning}")


def _due_row(due: DueView) -> list[object]:
    from synergy.cli import output

    local = None if due.local is None else f"{due.local:%a %Y-%m-%d %H:%M:%S %z}"
    return [output.instant(due.at), local, due.remark or None]


def one(file: str) -> Mapping[str, object]:
    """The one schedule in a file."""
    from synergy.cli.input_files import read_documents
    from synergy.errors import InvalidValue

    items = read_documents(file)
    if len(items) > 1:
        raise InvalidValue(f"{file} holds {len(items)} schedules; here it is about one")
    return items[0]
