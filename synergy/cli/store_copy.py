"""`launch.py store copy`: copies a store into a new one, of the same or another engine."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from synergy.cli import exits, output
from synergy.cli.options import DRY_RUN, JSON, Verbs, argument
from synergy.errors import InvalidValue, Refused
from synergy.program import PROGRAM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from synergy.commands.store_copy import Compared, StoreCopy
    from synergy.compose import Project
    from synergy.storage.protocol import Store

URL_HELP = "as in SYNERGY_STORE; @FILE holds it, @ asks for it: other users see arguments (ps)"
VERBS = Verbs()


@VERBS.verb(
    "launch.py store copy --from 'sqlite:///<home>/synergy.db' --to mongodb://db-1/synergy",
    argument("--from", dest="source", metavar="URL", required=True, help=URL_HELP),
    argument("--to", dest="target", metavar="URL", required=True, help=URL_HELP),
    JSON,
    DRY_RUN,
    records=("source", "target"),
)
def run_copy(arguments: argparse.Namespace) -> int:
    """Copy a store that is not in use into a new one, of any engine.

    An interrupted copy is continued by the same command. Give a URL with a password as @FILE, or as
    @ to be asked for it.
    """
    from synergy import compose
    from synergy.commands.store_copy import StoreCopy
    from synergy.commands.store_copy_state import refuse_unfinished
    from synergy.commands.store_usage import refuse_while_in_use
    from synergy.config.stores import place

    project = compose.open_project()
    settings = project.settings
    from_ = url_of(arguments.source, "--from", project)
    to = url_of(arguments.target, "--to", project)
    places = place(from_), place(to)
    if places[0] == places[1]:
        raise Refused(f"{places[0]} cannot be copied into itself")
    with closing(compose.open_url(from_, create=False)) as source:
        refuse_unfinished(source)
        with output.Progress("waiting for leases of lost processes to expire") as line:
            refuse_while_in_use(source, places[0], line.show)
        if arguments.dry_run:
            return _plan(arguments, source, to, places)
        with (
            closing(compose.open_url(to)) as target,
            StoreCopy(source, target, places, settings.clock) as copying,
        ):
            return _copy(arguments, copying, places)


def url_of(given: str, option: str, project: Project) -> str:
    """The complete URL of an argument, whose secrets this process masks from now on."""
    from synergy.config.secrets import content_of, secrets_in
    from synergy.config.stores import store_url
    from synergy.runtime import masking

    if given == "@":
        text = _asked(option)
    elif given.startswith("@"):
        text = content_of(Path(given[1:]))
    else:
        text = given
    secrets = list(secrets_in("store", text))
    masking.also_know(secrets)
    if secrets and text is given:
        output.warn(f"other users of this machine see the password of {option}: use {option} @FILE")
    try:
        return store_url(text, project.path, project.settings.home)
    except InvalidValue as error:
        raise InvalidValue(f"{option}: {error}") from error


def _asked(option: str) -> str:
    if not sys.stdin.isatty():
        raise Refused(f"there is no terminal to ask for a URL on: use {option} @FILE")
    from getpass import getpass

    return getpass(f"URL of {option}: ").strip()


def _plan(arguments: argparse.Namespace, source: Store, to: str, places: tuple[str, str]) -> int:
    from synergy import compose
    from synergy.commands.store_copy import standing

    state = None
    if compose.has_url(to):
        with closing(compose.open_url(to)) as target:
            state = standing(target, places[1], places[0])
    counts = source.transfer.counts()
    done = 0 if state is None else state.done
    if arguments.json:
        output.print_json({**_places(places), "dry_run": True, "records": counts, "done": done})
    else:
        output.table(["kind", "records"], list(counts.items()))
        already = f", of which {done:,} are there already" if done else ""
        output.say(f"would copy {places[0]} to {places[1]}{already}")
    return exits.DONE


def _copy(arguments: argparse.Namespace, copying: StoreCopy, places: tuple[str, str]) -> int:
    with output.Progress("records copied") as line:
        copied = copying.copy(line.show)
    with output.Progress("records compared") as line:
        kinds = copying.compare(line.show)
    is_equal = all(kind.is_equal for kind in kinds)
    if arguments.json:
        facts = {"dry_run": False, "copied": copied, "equal": is_equal, "kinds": kinds}
        output.print_json({**_places(places), **facts})
    else:
        _print_result(kinds, copied, places)
    return exits.DONE if is_equal else exits.FAILED


def _places(places: tuple[str, str]) -> dict[str, str]:
    return {"from": places[0], "to": places[1]}


def _print_result(kinds: Sequence[Compared], copied: int, places: tuple[str, str]) -> None:
    output.table(
        ["kind", "records", "checksum"],
        [[kind.kind, kind.source.records, kind.source.checksum] for kind in kinds],
    )
    output.say(f"copied {copied:,} records to {places[1]}")
    for kind in (kind for kind in kinds if not kind.is_equal):
        output.say(
            f"{output.colour('different', 'red')}: {kind.kind}, first {kind.differs}; the source "
            f"has {kind.source.records:,} records, the target {kind.target.records:,}"
        )
    if all(kind.is_equal for kind in kinds):
        output.say("both were read again: all kinds are equal; the copy can be used")
    else:
        output.say(
            "the copy cannot be used: the source or the target was written to meanwhile. "
            f"Empty it with SYNERGY_STORE=<URL> {PROGRAM} store reset, and copy again"
        )
