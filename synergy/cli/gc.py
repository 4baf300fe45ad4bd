"""`launch.py gc …`: the garbage collector."""

from __future__ import annotations

import argparse
from contextlib import closing
from typing import TYPE_CHECKING

from synergy.cli import output
from synergy.cli.options import CHANGE, JSON, Noun, argument
from synergy.cli.services import START, Services, actor, services
from synergy.errors import Unreachable
from synergy.program import PROGRAM

if TYPE_CHECKING:
    from synergy.model.journal import JournalEntry
    from synergy.queries.views import CollectorView, PlannedMove

LONGEST_WAIT = 15.0  # the longest wait for the run to end, in seconds
NOUN = Noun(
    "gc",
    "the garbage collector: run it now, see what it would do",
    "launch.py gc run --dry-run",
)
add = NOUN.add


@NOUN.verb(
    "launch.py gc run --process SiteDailyAggregator --flush",
    argument("--process", metavar="P", default="", help="only the units of this process"),
    argument("--flush", action="store_true", help="without waiting times"),
    *CHANGE,
    records=("process", "flush"),
)
def run_run(arguments: argparse.Namespace) -> None:
    """Have the scheduler run the collector now."""
    with services() as at:
        if arguments.process:
            at.working(arguments.process)
        if arguments.dry_run:
            plan = at.reads.collection_plan(arguments.process, flush=arguments.flush)
            _show_plan(plan, arguments)
            return
        entry = _run(at, arguments)
    facts = {"process": arguments.process, "result": entry.why}
    output.show_change(arguments, facts, f"the collector has run: {entry.why}")


def _run(at: Services, arguments: argparse.Namespace) -> JournalEntry:
    """Requests a run and waits for its journal entry."""
    from synergy.clock import SystemClock
    from synergy.queries.reads import JOURNAL

    if not at.reads.is_collected():
        raise Unreachable(f"no scheduler is at work to run the collector: {START}")
    clock = SystemClock()
    with closing(at.bus.listener(JOURNAL)) as listener:
        seq = at.maintenance.request_collection(
            arguments.process, arguments.flush, actor(arguments.reason), at.now
        )
        deadline = clock.monotonic() + LONGEST_WAIT
        while (rest := deadline - clock.monotonic()) > 0:
            entry, seq = at.reads.collector_run_after(seq, arguments.process)
            if entry is not None:
                return entry
            listener.wait(min(rest, 1.0))
    raise Unreachable(
        f"the scheduler has not run the collector within {LONGEST_WAIT:g} s: "
        f"{PROGRAM} supervisor status"
    )


def _show_plan(plan: list[PlannedMove], arguments: argparse.Namespace) -> None:
    if arguments.json:
        output.print_json({"planned": plan, "dry_run": True})
        return
    output.table(
        ["unit", "process", "timeperiod", "would", "why"],
        [[p.unit, p.process, p.timeperiod, p.verdict, p.why] for p in plan],
    )
    output.note("a heartbeat that has stopped is only noticed by a collector that keeps running")


@NOUN.verb("launch.py gc status", JSON)
def run_status(arguments: argparse.Namespace) -> None:
    """Show unfinished units and the last runs."""
    with services() as at:
        output.show(arguments, at.reads.collector(), _print_status)


def _print_status(collector: CollectorView) -> None:
    if not collector.is_led:
        output.say(f"no scheduler is at work, so the collector does not run: {START}")
    output.table(
        ["process", "state", "units"],
        [
            [process, state, number]
            for process, counts in sorted(collector.units.items())
            for state, number in sorted(counts.items())
        ]
        or [["all", "unfinished", 0]],
    )
    for run in collector.runs:
        output.say(f"{output.instant(run.at)} {run.process or 'all processes'}: {run.why}")
