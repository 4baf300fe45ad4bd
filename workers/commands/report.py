"""`launch.py report COLLECTION`: prints the documents of a collection, or writes them as CSV."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import Any

from synergy.cli import output
from synergy.cli.csv_file import write_csv
from synergy.cli.options import file_path
from synergy.cli.services import services
from synergy.queries import collections
from synergy.queries.collections import Row

EXAMPLE = """example:
  launch.py report site_daily --from 2015051700 --to 2015052100 --domain semicomplete.com
"""


def add(subparsers: Any) -> None:
    """Adds the command to the parser."""
    parser = subparsers.add_parser(
        "report",
        help="print the documents of a collection",
        description="Prints the documents of a collection, by timeperiod.",
        epilog=EXAMPLE,
    )
    parser.add_argument("collection", metavar="COLLECTION", help="for example site_daily")
    parser.add_argument("--from", dest="first", metavar="TIMEPERIOD", default="")
    parser.add_argument("--to", dest="end", metavar="TIMEPERIOD", default="", help="not included")
    parser.add_argument("--domain", help="only this site, or in rows of clients this client")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="all fields, as a list")
    shape.add_argument(
        "--csv", metavar="FILE", type=file_path, help="into a file, which is replaced"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Prints or writes the rows."""
    with services() as at:
        periods = (arguments.first, arguments.end)
        found = collections.rows(
            at.store.documents, at.project.deployment, arguments.collection, periods
        )
        rows = reported(found, arguments.domain)
        if arguments.json:
            output.print_json(list(rows))
        elif arguments.csv:
            write_csv(arguments.csv, *collections.table(rows))
        else:
            output.table(*collections.table(rows))


def reported(rows: Iterable[Row], owner: str | None = None) -> Iterator[Row]:
    """The rows of one site or client, or all, without the private fields of workers.

    These begin with an underscore.
    """
    return (
        {name: value for name, value in row.items() if not name.startswith("_")}
        for row in rows
        if owner is None or owner == row.get("domain", row.get("client_id"))
    )
