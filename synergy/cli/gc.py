"""`launch.py gc …`: the garbage collector."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from synergy.cli import options

if TYPE_CHECKING:
    from synergy.cli.services import Services
    from synergy.model.journal import JournalEntry
    from synergy.queries.views import PlannedMove

PATIENCE = 15.0  # seconds that a run is waited for


def add(subparsers: Any) -> None:
    """Adds the noun to the parser."""
    verbs = options.noun(
        subparsers,
        "gc",
        "the garbage collector: run it now, see what it would do",
        "launch.py gc run --dry-run",
    )
    run = options.verb(
        verbs, "run", run_run, "have the scheduler run the collector now",
        "launch.py gc run --process SiteDailyAggregator --flush",
    )  # fmt: skip
    run.add_argument("--process", metavar="P", default="", help="only the units of this process")
    run.add_argument("--flush", action="store_true", help="without waiting times")
    options.change_options(run)
    status = options.verb(
        verbs, "status", run_status, "show unfinished units and the last runs",
        "launch.py gc status",
    )  # fmt: skip
    options.json_option(status)


def run_run(arguments: argparse.Namespace) -> None:
    """Asks for a run and waits for what came of it."""
    from synergy.cli import output
    from synergy.cli.services import services

    with services() as at:
        if arguments.process:
            at.working(arguments.process)
        if arguments.dry_run:
            plan = at.reads.collection_plan(arguments.process, flush=arguments.flush)
            _show_plan(plan, arguments)
            return
        entry = _run(at, arguments)
    if arguments.json:
        output.print_json({"process": arguments.process, "result": entry.why, "dry_run": False})
    else:
        output.say(f"the collector has run: {entry.why}")


def _run(at: Services, arguments: argparse.Namespace) -> JournalEntry:
    from synergy.cli.services import START, actor
    from synergy.clock import SystemClock
    from synergy.errors import Unreachable
    from synergy.queries.reads import JOURNAL

    if not at.reads.is_collected():
        raise Unreachable(f"no scheduler is at work to run the collector: {START}")
    clock = SystemClock()
    listener = at.bus.listener(JOURNAL)
    try:
        seq = at.maintenance.request_collection(
            arguments.process, arguments.flush, actor(arguments.reason), at.now
        )
        deadline = clock.monotonic() + PATIENCE
        while (rest := deadline - clock.monotonic()) > 0:
            entry, seq = at.reads.collector_run_after(seq, arguments.process)
            if entry is not None:
                return entry
            listener.wait(min(rest, 1.0))
    finally:
        listener.close()
    raise Unreachable(
        f"the scheduler has not run the collector within {PATIENCE:g} s: "
        "launch.py supervisor status"
    )


def _show_plan(plan: list[PlannedMove], arguments: argparse.Namespace) -> None:
    from synergy.cli import output

    if arguments.json:
        output.print_json({"planned": plan, "dry_run": True})
        return
    output.table(
        ["unit", "process", "timeperiod", "would", "why"],
        [[p.unit, p.process, p.timeperiod, p.verdict, p.why] for p in plan],
    )
    output.note("a heartbeat that has stopped is only noticed by a collector that keeps running")


def run_status(arguments: argparse.Namespace) -> None:
    """Unfinished units and runs."""
    from synergy.cli import output
    from synergy.cli.services import START, services

    with services() as at:
        seen = at.reads.collector()
    if arguments.json:
        output.print_json(seen)
        return
    if not seen.is_led:
        output.say(f"no scheduler is at work, so the collector does not run: {START}")
    output.table(
        ["process", "state", "units"],
        [
            [process, state, number]
            for process, counts in sorted(seen.units.items())
            for state, number in sorted(counts.items())
        ]
        or [["all", "unfinished", 0]],
    )
    for run in seen.runs:
        output.say(f"{output.instant(run.at)} {run.process or 'all processes'}: {run.why}")
