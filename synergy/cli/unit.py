"""`launch.py unit …`: units of work."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from synergy.cli import output
from synergy.cli.options import CHANGE, CURSOR, JSON, TIMES, Noun, argument, limit
from synergy.cli.services import actor, services, times
from synergy.model.unit_of_work import UnitState
from synergy.visible_text import visible

if TYPE_CHECKING:
    from synergy.model.unit_of_work import UnitOfWork
    from synergy.queries.page import Page

ID = argument("id", metavar="ID")
NOUN = Noun("unit", "units of work: show, cancel, retry", "launch.py unit list --state invalid")
add = NOUN.add


@NOUN.verb(
    "launch.py unit list --process SiteDailyAggregator --state invalid",
    argument("--process", metavar="PROCESS"),
    argument("--state", choices=[state.value for state in UnitState]),
    *TIMES,
    limit(50),
    CURSOR,
    JSON,
)
def run_list(arguments: argparse.Namespace) -> None:
    """Show units, newest first; --from and --to limit the time of their creation."""
    with services() as at:
        if arguments.process is not None:
            at.working(arguments.process)
        state = None if arguments.state is None else UnitState(arguments.state)
        within = times(arguments, at)
        page = at.reads.units(arguments.process, state, arguments.limit, arguments.cursor, within)
    output.show(arguments, page, _print_page)


def _print_page(page: Page[UnitOfWork]) -> None:
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
    output.note_more(page.next)


@NOUN.verb("launch.py unit show 5f0c9a...", ID, JSON)
def run_show(arguments: argparse.Namespace) -> None:
    """Show a unit in detail."""
    with services() as at:
        unit = at.reads.unit(arguments.id)
    output.show(arguments, unit, lambda unit: output.pairs(asdict(unit)))


@NOUN.verb("launch.py unit log 5f0c9a...", ID, JSON)
def run_log(arguments: argparse.Namespace) -> None:
    """Show the log lines of a unit's workers."""
    with services() as at:
        lines = at.reads.unit_log(arguments.id)
    if arguments.json:
        output.print_json({"unit": arguments.id, "lines": lines})
        return
    if not lines:
        output.note(f"nothing was written for unit {arguments.id}")
    for line in lines:
        head = f"{output.instant(line.at)} attempt {line.attempt} {line.level}"
        output.say(f"{head}: {visible(line.text)}")


@NOUN.verb("launch.py unit cancel 5f0c9a... --dry-run", ID, *CHANGE, records=("id",))
def run_cancel(arguments: argparse.Namespace) -> None:
    """Cancel a unit that is not finished; its job is failed, its run canceled."""
    _move(arguments, UnitState.CANCELED)


@NOUN.verb("launch.py unit retry 5f0c9a... --dry-run", ID, *CHANGE, records=("id",))
def run_retry(arguments: argparse.Namespace) -> None:
    """Hand out a failed unit again at once, and reset its count of failures."""
    _move(arguments, UnitState.REQUESTED)


def _move(arguments: argparse.Namespace, after: UnitState) -> None:
    with services() as at:
        unit = at.reads.unit(arguments.id)
        act = at.unit_commands.cancel if after is UnitState.CANCELED else at.unit_commands.retry
        act(unit, actor(arguments.reason), at.now, dry_run=arguments.dry_run)
    verb = "would become" if arguments.dry_run else "became"
    output.show_change(
        arguments,
        {
            "unit": unit.id,
            "process": unit.process,
            "timeperiod": unit.timeperiod,
            "before": unit.state.value,
            "after": after.value,
        },
        f"unit {unit.id} of {unit.process} {unit.timeperiod}: {unit.state.value} {verb} "
        f"{after.value}",
    )
