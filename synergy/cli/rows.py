"""`launch.py rows COLLECTION RANGE`: prints the rows of a collection."""

from __future__ import annotations

import argparse
from itertools import islice

from synergy.cli import output
from synergy.cli.options import JSON, TIMES, Verbs, argument, positive
from synergy.cli.services import Services, services, times
from synergy.errors import InvalidValue

SHOWN = 100  # rows of a table; JSON and CSV have all

VERBS = Verbs()
add = VERBS.add_to


@VERBS.verb(
    "launch.py rows site_hourly 2015-05-17..2015-05-18",
    argument("collection", metavar="COLLECTION", help="for example site_hourly"),
    argument("range", metavar="RANGE", nargs="?", help="FROM..TO, TO not included; or one period"),
    *TIMES,
    argument("--limit", metavar="N", type=positive, help=f"default: {SHOWN} in a table"),
    JSON,
    argument("--csv", action="store_true", help="as CSV, without groups within groups"),
)
def run_rows(arguments: argparse.Namespace) -> None:
    """Print the rows of a collection, by timeperiod.

    Without a range all of them. A row belongs to a range if its period begins there. Dates, UUIDs,
    decimals and bytes are printed as text.
    """
    from synergy.cli.csv_file import csv_text
    from synergy.queries import collections

    if arguments.json and arguments.csv:
        raise InvalidValue("--json and --csv exclude each other")
    is_table = not (arguments.json or arguments.csv)
    limit = arguments.limit or (SHOWN if is_table else None)
    with services() as at:
        periods = _periods(arguments, at)
        deployment = at.project.deployment
        found = collections.rows(at.store.documents, deployment, arguments.collection, periods)
        shown = list(islice(found, limit))
        is_more = next(found, None) is not None
    if arguments.json:
        output.print_json(shown)
    elif arguments.csv:
        output.copy_out(csv_text(*collections.table(shown)))
    else:
        output.table(*collections.table(shown))
    if is_more:
        output.note(f"there are more than these {len(shown)}: --limit")


def _periods(arguments: argparse.Namespace, at: Services) -> tuple[str, str]:
    from synergy.queries.collections import periods_of, periods_within

    if arguments.range is None:
        return periods_within(times(arguments, at))
    if arguments.begin is not None or arguments.end is not None:
        raise InvalidValue("give a range, or --from and --to")
    return periods_of(arguments.range)
