"""What parsers of nouns have in common: verbs with an example, and the same options everywhere."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

MOST = 10**15  # of anything that is counted

Run = Callable[[argparse.Namespace], "int | None"]


def noun(subparsers: Any, name: str, help_: str, example: str) -> Any:
    """Adds a noun; returns what its verbs are added to."""
    parser = subparsers.add_parser(
        name, help=help_, description=_sentence(help_), epilog=_example(example)
    )
    return parser.add_subparsers(dest="verb", metavar="VERB", required=True)


def verb(verbs: Any, name: str, run: Run, help_: str, example: str) -> Any:
    """Adds a verb that is carried out by `run`; returns its parser."""
    parser = verbs.add_parser(
        name, help=help_, description=_sentence(help_), epilog=_example(example)
    )
    parser.set_defaults(run=run)
    return parser


def json_option(parser: Any) -> None:
    """For whatever prints state."""
    parser.add_argument("--json", action="store_true", help="as JSON")


def dry_run_option(parser: Any) -> None:
    """For whatever changes state."""
    parser.add_argument("--dry-run", action="store_true", help="only show what would be done")


def change_options(parser: Any) -> None:
    """`--json`, `--dry-run` and `--reason`."""
    json_option(parser)
    dry_run_option(parser)
    parser.add_argument("--reason", metavar="TEXT", default="", help="why, for the journal")


def yes_option(parser: Any) -> None:
    """For what cannot be undone and therefore asks."""
    parser.add_argument("--yes", action="store_true", help="do not ask")


def positive(text: str) -> int:
    """A whole number of at least 1, which a store can count with."""
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= MOST):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, 1 to {MOST:,}")
    return int(text)


def seconds(text: str) -> float:
    """A number of seconds, 0 or more."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds, 0 or more")
    return found


def _sentence(help_: str) -> str:
    return help_[0].upper() + help_[1:] + "."


def _example(example: str) -> str:
    lines = "".join(f"  {line.strip()}\n" for line in example.strip().splitlines())
    return f"example:\n{lines}"
