"""How a noun declares its verbs, and the arguments that verbs share.

    @NOUN.verb("launch.py box id", JSON)
    def run_id(arguments: argparse.Namespace) -> None:
        ...  # with the docstring: Show the id of this box.

The function's name without `run_`, with `-` for `_`, is the verb; the first paragraph of its
docstring is the help.
A verb that changes something has `records=`: the names of its arguments that the audit log holds.
A noun without verbs declares itself as the only one, with `add = VERBS.add_to`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from inspect import cleandoc
from pathlib import Path
from typing import Any

LARGEST = 10**15  # the largest whole number that an argument may be

Run = Callable[[argparse.Namespace], "int | None"]
Argument = Callable[[argparse.ArgumentParser], object]


class Verbs:
    """Verbs in the order of their declaration."""

    def __init__(self) -> None:
        self._verbs: list[tuple[Run, str, tuple[Argument, ...], tuple[str, ...] | None]] = []

    def verb(
        self, example: str, *arguments: Argument, records: tuple[str, ...] | None = None
    ) -> Callable[[Run], Run]:
        """Declares the decorated function as a verb with these arguments.

        `records` are the names of those that the audit log holds; None: the verb changes nothing.
        """

        def declare(run: Run) -> Run:
            self._verbs.append((run, example, arguments, records))
            return run

        return declare

    def add_to(self, subparsers: Any) -> None:
        for run, example, arguments, records in self._verbs:
            text = cleandoc(run.__doc__ or "")
            help_ = " ".join(text.partition("\n\n")[0].split()).rstrip(".")
            parser = subparsers.add_parser(
                run.__name__.removeprefix("run_").replace("_", "-"),
                help=help_[:1].lower() + help_[1:],
                description=text,
                epilog=_example(example),
            )
            for add_argument in arguments:
                add_argument(parser)
            parser.set_defaults(run=run, records=records)


class Noun(Verbs):
    """A noun of the command line; `more` has the verbs that other modules declare."""

    def __init__(self, name: str, help_: str, example: str, more: Iterable[Verbs] = ()) -> None:
        super().__init__()
        self._name = name
        self._help = help_
        self._example = example
        self._more = more

    def add(self, subparsers: Any) -> None:
        """Adds the parser of the noun with those of its verbs."""
        parser = subparsers.add_parser(
            self._name,
            help=self._help,
            description=f"{self._help[0].upper()}{self._help[1:]}.",
            epilog=_example(self._example),
        )
        verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
        for declared in (self, *self._more):
            declared.add_to(verbs)


def _example(example: str) -> str:
    lines = "".join(f"  {line.strip()}\n" for line in example.strip().splitlines())
    return f"example:\n{lines}"


def argument(*names: str, **settings: Any) -> Argument:
    """An argument, with the settings of `ArgumentParser.add_argument`."""
    return lambda parser: parser.add_argument(*names, **settings)


def positive(text: str) -> int:
    """Parses a whole number of at least 1 that every store can hold."""
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= LARGEST):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, 1 to {LARGEST:,}")
    return int(text)


def file_path(text: str) -> Path:
    """Parses the path of a file; an empty one would be the folder that the command runs in."""
    return Path(not_empty(text))


def not_empty(text: str) -> str:
    """Parses the path of a file, or its URL, as text."""
    if not text:
        raise argparse.ArgumentTypeError("'' is not the path of a file")
    return text


def seconds(text: str) -> float:
    """Parses a number of seconds, 0 or more."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds, 0 or more")
    return number


def json_object(text: str) -> dict[str, object]:
    """Parses a JSON object."""
    import json

    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise argparse.ArgumentTypeError(f"{text!r:.60} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError(f'{text!r:.60}: expected an object such as {{"n": 1}}')
    return found


def limit(default: int) -> Argument:
    """`--limit`, for verbs that list."""
    help_ = f"default: {default}"
    return argument("--limit", metavar="N", type=positive, default=default, help=help_)


NAME = argument("name", metavar="NAME")
PROCESS = argument("process", metavar="PROCESS")
CURSOR = argument("--cursor", metavar="C", help="the next page, as the page before names it")
JSON = argument("--json", action="store_true", help="as JSON")
DRY_RUN = argument("--dry-run", action="store_true", help="only show what would be done")
REASON = argument("--reason", metavar="TEXT", default="", help="why, for the journal")
TIMES = (
    argument("--from", dest="begin", metavar="TIME", help="2026-11-22T10:30, last night"),
    argument("--to", dest="end", metavar="TIME", help="not included; now, 2 hours ago, 2026-11-23"),
    argument("--zone", metavar="ZONE", default="UTC", help="of these times; default: UTC"),
)
"""For lists of what happened; see `queries.written_times`."""
YES = argument("--yes", action="store_true", help="do not ask")
CHANGE = (JSON, DRY_RUN, REASON)
"""For verbs that change something."""
