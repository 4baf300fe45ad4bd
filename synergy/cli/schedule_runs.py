"""`launch.py schedule runs`, `run`, `pending`, `why`, `retry`, `cancel`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from synergy.cli import output, schedule_tables
from synergy.cli.options import CHANGE, CURSOR, JSON, NAME, TIMES, Verbs, argument, limit
from synergy.cli.schedule_notes import note_if_no_agent
from synergy.cli.services import actor, services, times
from synergy.errors import InvalidValue
from synergy.model.schedule import RunState
from synergy.program import PROGRAM

if TYPE_CHECKING:
    from synergy.model.schedule import Run
    from synergy.model.unit_of_work import UnitOfWork
    from synergy.queries.page import Page
    from synergy.queries.schedules.views import RunDetail, RunView

RUN_HELP = "a run's whole id, as `schedule runs` shows it"
STATES = [state.value for state in RunState]
VERBS = Verbs()


@VERBS.verb(
    """launch.py schedule runs nightly
    launch.py schedule runs --state failed --from 'last night' --zone Europe/Berlin""",
    argument("name", metavar="NAME", nargs="?", help="default: of all schedules"),
    argument("--state", metavar="STATE", choices=STATES, help=", ".join(STATES)),
    *TIMES,
    limit(50),
    CURSOR,
    JSON,
)
def run_runs(arguments: argparse.Namespace) -> None:
    """Show runs, newest first; --from and --to limit the time of their creation."""
    state = None if arguments.state is None else RunState(arguments.state)
    with services() as at:
        page = at.schedule_reads.runs(
            arguments.name, state, arguments.limit, arguments.cursor, times(arguments, at)
        )
    output.show(arguments, page, _print_page)


def _print_page(page: Page[RunView]) -> None:
    schedule_tables.print_runs(page.items)
    output.note_more(page.next)


@VERBS.verb("launch.py schedule run 5f0c9a...", argument("id", metavar="RUN", help=RUN_HELP), JSON)
def run_run(arguments: argparse.Namespace) -> None:
    """Show a run, its request, and the answers."""
    with services() as at:
        run = at.schedule_reads.run(arguments.id)
        unit = next(iter(at.store.units.get([arguments.id])), None)
    if arguments.json:
        output.print_json(run)
        return
    schedule_tables.print_run(run)
    if run.is_of_worker:
        _note_unit(run, unit)
    if any(answer.get("outcome") == "blocked" for answer in run.answers):
        output.note(
            "to allow it: set SYNERGY_WEBHOOK_NETWORKS or SYNERGY_WEBHOOK_PLAINTEXT, and restart"
        )
    if run.state == RunState.FAILED.value:
        output.note(f"launch it again: {PROGRAM} schedule retry {run.id}")


def _note_unit(run: RunDetail, unit: UnitOfWork | None) -> None:
    """Prints the progress of a run's worker, and where its output is."""
    is_open = run.state == RunState.LAUNCHED.value
    if is_open and (unit is None or unit.started_at is None):
        where = f"{PROGRAM} process show {run.program} shows on which boxes it runs"
        output.note(f"no worker has begun it: {where}")
        return
    if is_open and unit is not None:
        output.note(f"begun {output.instant(unit.started_at)}, {unit.state.value}")
    if run.attempt or is_open:
        output.note(f"the output of its worker: {PROGRAM} unit log {run.id}")


@VERBS.verb(
    "launch.py schedule pending nightly",
    argument(
        "name",
        metavar="NAME",
        nargs="?",
        help="with its job that still collects events (pending_trigger), if there is one; "
        "default: of all schedules, without such jobs",
    ),
    JSON,
)
def run_pending(arguments: argparse.Namespace) -> None:
    """Show the runs that wait to be launched, and why."""
    with services() as at:
        pending = at.schedule_reads.pending(arguments.name)
        note_if_no_agent(at)
    if arguments.json:
        output.print_json({"items": pending})
    else:
        schedule_tables.print_pending(pending)


@VERBS.verb("launch.py schedule why nightly", NAME, JSON)
def run_why(arguments: argparse.Namespace) -> None:
    """Show what a schedule waits for, or why events started nothing, and what helps."""
    with services() as at:
        why = at.schedule_reads.why(arguments.name)
    output.show(arguments, why, schedule_tables.print_why)


@VERBS.verb(
    """launch.py schedule retry 5f0c9a...
    launch.py schedule retry --all --schedule nightly""",
    argument("id", metavar="RUN", nargs="?", help=RUN_HELP),
    argument("--all", action="store_true", help="all that failed"),
    argument("--schedule", metavar="NAME", help="with --all: those of one schedule"),
    *CHANGE,
    records=("id", "all", "schedule"),
)
def run_retry(arguments: argparse.Namespace) -> None:
    """Launch a failed run again, or all that failed."""
    if (arguments.id is None) is not arguments.all:
        raise InvalidValue("name one run, or --all for all that failed")
    if arguments.schedule is not None and not arguments.all:
        raise InvalidValue("--schedule goes with --all")
    who = actor(arguments.reason)
    with services() as at:
        if arguments.all:
            runs = at.schedule_commands.replay(
                arguments.schedule, who, at.now, dry_run=arguments.dry_run
            )
        else:
            runs = [
                at.schedule_commands.retry(arguments.id, who, at.now, dry_run=arguments.dry_run)
            ]
    _show_runs(arguments, runs, "launched again")


@VERBS.verb(
    "launch.py schedule cancel 5f0c9a... --dry-run",
    argument("id", metavar="RUN", help="a run, or the name of a one-off job"),
    *CHANGE,
    records=("id",),
)
def run_cancel(arguments: argparse.Namespace) -> None:
    """Cancel a run that has not begun, or a one-off job."""
    from synergy.queries.schedules.lookup import no_schedule

    who = actor(arguments.reason)
    with services() as at:
        is_run = bool(at.store.runs.get([arguments.id]))
        if not is_run and not at.store.schedules.get([arguments.id]):
            raise no_schedule(at.store, arguments.id, "run or one-off job")
        cancel = at.schedule_commands.cancel if is_run else at.schedule_commands.cancel_job
        run = cancel(arguments.id, who, at.now, dry_run=arguments.dry_run)
    _show_runs(arguments, [run], "canceled")


def _show_runs(arguments: argparse.Namespace, runs: Sequence[Run], done: str) -> None:
    verb = f"would be {done}" if arguments.dry_run else done
    lines = [f"run {run.id} of {run.schedule or run.program} {verb}" for run in runs]
    lines = lines or ["no failed run is left to launch again"]
    shown = [{"id": run.id, "schedule": run.schedule, "state": run.state.value} for run in runs]
    output.show_change(arguments, {"runs": shown}, *lines)
