"""`launch.py unit …`: units of work."""

from __future__ import annotations

import argparse
from typing import Any

from synergy.cli import options
from synergy.model.unit_of_work import UnitState


def add(subparsers: Any) -> None:
    """Adds the noun to the parser."""
    verbs = options.noun(
        subparsers,
        "unit",
        "units of work: show, cancel, retry",
        "launch.py unit list --state invalid",
    )
    listing = options.verb(
        verbs, "list", run_list, "show units, newest first",
        "launch.py unit list --process SiteDailyAggregator --state invalid",
    )  # fmt: skip
    listing.add_argument("--process", metavar="PROCESS")
    listing.add_argument("--state", choices=[state.value for state in UnitState])
    listing.add_argument(
        "--limit", metavar="N", type=options.positive, default=50, help="default: 50"
    )
    listing.add_argument("--cursor", metavar="C", help="the next page, as the last one named it")
    options.json_option(listing)
    for name, run, help_ in (
        ("show", run_show, "show all that is known of a unit"),
        ("log", run_log, "show what workers wrote while they carried a unit out"),
    ):
        parser = options.verb(verbs, name, run, help_, f"launch.py unit {name} 5f0c9a...")
        parser.add_argument("id", metavar="ID")
        options.json_option(parser)
    for name, run, help_ in (
        (
            "cancel",
            run_cancel,
            "cancel a unit that is not finished; its job is failed, its run canceled",
        ),
        ("retry", run_retry, "hand a failed unit out again at once, its failures forgiven"),
    ):
        parser = options.verb(verbs, name, run, help_, f"launch.py unit {name} 5f0c9a... --dry-run")
        parser.add_argument("id", metavar="ID")
        options.change_options(parser)


def run_list(arguments: argparse.Namespace) -> None:
    """A page of units."""
    from synergy.cli import output
    from synergy.cli.services import services

    with services() as at:
        if arguments.process is not None:
            at.working(arguments.process)
        state = None if arguments.state is None else UnitState(arguments.state)
        page = at.reads.units(arguments.process, state, arguments.limit, arguments.cursor)
    if arguments.json:
        output.print_json(page)
        return
    output.table(
        ["unit", "process", "timeperiod", "generation", "state", "attempt", "created", "reason"],
        [
            [
                unit.id,
                unit.process,
                unit.timeperiod,
                unit.generation,
                unit.state.value,
                unit.attempt,
                output.instant(unit.created_at),
                output.one_line(unit.reason, output.REASON),
            ]
            for unit in page.items
        ],
    )
    if page.next is not None:
        output.note(f"there are more: --cursor {page.next}")


def run_show(arguments: argparse.Namespace) -> None:
    """All fields of a unit."""
    from dataclasses import asdict

    from synergy.cli import output
    from synergy.cli.services import services

    with services() as at:
        unit = at.reads.unit(arguments.id)
    if arguments.json:
        output.print_json(unit)
    else:
        output.pairs(asdict(unit))


def run_log(arguments: argparse.Namespace) -> None:
    """The lines of its log."""
    from synergy.cli import output
    from synergy.cli.services import services

    with services() as at:
        lines = at.reads.unit_log(arguments.id)
    if arguments.json:
        output.print_json({"unit": arguments.id, "lines": lines})
        return
    if not lines:
        output.note(f"nothing was written for unit {arguments.id}")
    for line in lines:
        text = output.visible(line.text)
        output.say(f"{output.instant(line.at)} attempt {line.attempt} {line.level}: {text}")


def run_cancel(arguments: argparse.Namespace) -> None:
    """Cancels it."""
    _move(arguments, UnitState.CANCELED)


def run_retry(arguments: argparse.Namespace) -> None:
    """Hands it out again."""
    _move(arguments, UnitState.REQUESTED)


def _move(arguments: argparse.Namespace, after: UnitState) -> None:
    from synergy.cli import output
    from synergy.cli.services import actor, services

    with services() as at:
        unit = at.reads.unit(arguments.id)
        act = at.unit_commands.cancel if after is UnitState.CANCELED else at.unit_commands.retry
        act(unit, actor(arguments.reason), at.now, dry_run=arguments.dry_run)
    if arguments.json:
        output.print_json(
            {
                "unit": unit.id,
                "process": unit.process,
                "timeperiod": unit.timeperiod,
                "before": unit.state.value,
                "after": after.value,
                "dry_run": arguments.dry_run,
            }
        )
        return
    verb = "would become" if arguments.dry_run else "became"
    output.say(
        f"unit {unit.id} of {unit.process} {unit.timeperiod}: {unit.state.value} {verb} "
        f"{after.value}"
    )
