"""`launch.py schedule runs`, `run`, `pending`, `trigger`, `retry`, `cancel`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from synergy.cli import options, schedule_tables
from synergy.model.schedule import RunState

if TYPE_CHECKING:
    from synergy.model.schedule import Run
    from synergy.model.unit_of_work import UnitOfWork
    from synergy.queries.schedules.views import RunDetail

RUN_HELP = "a run's whole id, as `schedule runs` shows it"


def add(verbs: Any) -> None:
    """Adds the verbs to the noun."""
    runs = options.verb(
        verbs, "runs", run_runs, "show runs, newest first",
        """launch.py schedule runs nightly
        launch.py schedule runs --state failed""",
    )  # fmt: skip
    runs.add_argument("name", metavar="NAME", nargs="?", help="default: of all schedules")
    states = [state.value for state in RunState]
    runs.add_argument("--state", metavar="STATE", choices=states, help=", ".join(states))
    runs.add_argument("--limit", metavar="N", type=options.positive, default=50, help="default: 50")
    runs.add_argument("--cursor", metavar="C", help="the next page, as the last one named it")
    options.json_option(runs)
    run = options.verb(
        verbs, "run", run_run, "show what a run sent, and what it was answered",
        "launch.py schedule run 5f0c9a...",
    )  # fmt: skip
    run.add_argument("id", metavar="RUN", help=RUN_HELP)
    options.json_option(run)
    pending = options.verb(
        verbs, "pending", run_pending, "show what waits to be launched, and for what",
        "launch.py schedule pending nightly",
    )  # fmt: skip
    pending.add_argument(
        "name", metavar="NAME", nargs="?",
        help="with its job that still collects events (pending_trigger), if there is one; "
        "default: of all schedules, without such jobs",
    )  # fmt: skip
    options.json_option(pending)
    trigger = options.verb(
        verbs, "trigger", run_trigger, "run a schedule now, whatever its constraints say",
        "launch.py schedule trigger nightly",
    )  # fmt: skip
    trigger.add_argument("name", metavar="NAME")
    options.change_options(trigger)
    retry = options.verb(
        verbs, "retry", run_retry, "launch a failed run again, or all that failed",
        """launch.py schedule retry 5f0c9a...
        launch.py schedule retry --all --schedule nightly""",
    )  # fmt: skip
    retry.add_argument("id", metavar="RUN", nargs="?", help=RUN_HELP)
    retry.add_argument("--all", action="store_true", help="all that failed")
    retry.add_argument("--schedule", metavar="NAME", help="with --all: those of one schedule")
    options.change_options(retry)
    cancel = options.verb(
        verbs, "cancel", run_cancel, "cancel a run that has not begun, or a one-off job",
        "launch.py schedule cancel 5f0c9a... --dry-run",
    )  # fmt: skip
    cancel.add_argument("id", metavar="RUN", help="a run, or the name of a one-off job")
    options.change_options(cancel)


def run_runs(arguments: argparse.Namespace) -> None:
    """A page of runs."""
    from synergy.cli import output
    from synergy.cli.schedule_services import schedule_services

    state = None if arguments.state is None else RunState(arguments.state)
    with schedule_services() as at:
        page = at.reads.runs(arguments.name, state, arguments.limit, arguments.cursor)
    if arguments.json:
        output.print_json(page)
        return
    schedule_tables.print_runs(page.items)
    if page.next is not None:
        output.note(f"there are more: --cursor {page.next}")


def run_run(arguments: argparse.Namespace) -> None:
    """All that is known of a run."""
    from synergy.cli import output
    from synergy.cli.schedule_services import schedule_services

    with schedule_services() as at:
        run = at.reads.run(arguments.id)
        unit = next(iter(at.services.store.units.get([arguments.id])), None)
    if arguments.json:
        output.print_json(run)
        return
    schedule_tables.print_run(run)
    if isinstance(run.request, Mapping) and "process" in run.request:
        _note_worker(run, unit)
    if any(answer.get("outcome") == "blocked" for answer in run.answers):
        output.note("a network of yours is allowed by SYNERGY_WEBHOOK_NETWORKS, and a restart")
    if run.state == RunState.FAILED.value:
        output.note(f"launch it again: launch.py schedule retry {run.id}")


def _note_worker(run: RunDetail, unit: UnitOfWork | None) -> None:
    """How far a worker is with a run, and where to look for what it wrote."""
    from synergy.cli import output

    is_open = run.state == RunState.LAUNCHED.value
    if is_open and (unit is None or unit.started_at is None):
        where = f"launch.py process show {run.program} says on which boxes it runs"
        output.note(f"no worker has begun with it: {where}")
        return
    if is_open and unit is not None:
        output.note(f"begun {output.instant(unit.started_at)}, {unit.state.value}")
    if run.attempt or is_open:
        output.note(f"what its worker wrote: launch.py unit log {run.id}")


def run_pending(arguments: argparse.Namespace) -> None:
    """What waits."""
    from synergy.cli import output
    from synergy.cli.schedule_services import note_if_nobody_decides, schedule_services

    with schedule_services() as at:
        pending = at.reads.pending(arguments.name)
        note_if_nobody_decides(at)
    if arguments.json:
        output.print_json({"items": pending})
    else:
        schedule_tables.print_pending(pending)


def run_trigger(arguments: argparse.Namespace) -> None:
    """Runs it now."""
    from synergy.cli import output
    from synergy.cli.schedule_services import (
        note_if_nobody_decides,
        note_if_run_nowhere,
        schedule_services,
    )
    from synergy.cli.services import actor

    with schedule_services() as at:
        run = at.commands.trigger(
            arguments.name, actor(arguments.reason), at.now, dry_run=arguments.dry_run
        )
        note_if_nobody_decides(at)
        note_if_run_nowhere(at, [at.commands.schedule(arguments.name)])
    if arguments.json:
        made = None if arguments.dry_run else run
        output.print_json({"schedule": arguments.name, "run": made, "dry_run": arguments.dry_run})
    elif arguments.dry_run:
        output.say(f"{arguments.name} would be launched")
    else:
        output.say(f"{arguments.name} was launched: launch.py schedule run {run}")


def run_retry(arguments: argparse.Namespace) -> None:
    """Launches again what failed."""
    from synergy.cli.schedule_services import schedule_services
    from synergy.cli.services import actor
    from synergy.errors import InvalidValue

    if (arguments.id is None) is not arguments.all:
        raise InvalidValue("name one run, or --all for all that failed")
    if arguments.schedule is not None and not arguments.all:
        raise InvalidValue("--schedule goes with --all")
    who = actor(arguments.reason)
    with schedule_services() as at:
        if arguments.all:
            runs = at.commands.replay(arguments.schedule, who, at.now, dry_run=arguments.dry_run)
        else:
            runs = [at.commands.retry(arguments.id, who, at.now, dry_run=arguments.dry_run)]
    _tell(arguments, runs, "launched again")


def run_cancel(arguments: argparse.Namespace) -> None:
    """Cancels it."""
    from synergy.cli.schedule_services import schedule_services
    from synergy.cli.services import actor
    from synergy.queries.schedules.near_names import no_schedule

    who = actor(arguments.reason)
    with schedule_services() as at:
        is_run = bool(at.services.store.runs.get([arguments.id]))
        if not is_run and not at.services.store.schedules.get([arguments.id]):
            raise no_schedule(at.services.store, arguments.id, "run or one-off job")
        cancel = at.commands.cancel if is_run else at.commands.cancel_job
        run = cancel(arguments.id, who, at.now, dry_run=arguments.dry_run)
    _tell(arguments, [run], "canceled")


def _tell(arguments: argparse.Namespace, runs: Sequence[Run], done: str) -> None:
    from synergy.cli import output

    if arguments.json:
        output.print_json(
            {
                "runs": [
                    {"id": run.id, "schedule": run.schedule, "state": run.state.value}
                    for run in runs
                ],
                "dry_run": arguments.dry_run,
            }
        )
        return
    verb = f"would be {done}" if arguments.dry_run else done
    for run in runs:
        output.say(f"run {run.id} of {run.schedule or run.program} {verb}")
    if not runs:
        output.say("nothing has failed that was not launched again")
