"""`launch.py process …`: show processes, start and stop them, switch them on and off.

`process start NAME --console` is how the supervisor runs each process, so this module imports
nothing that the process does not need.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from synergy.cli import exits, output
from synergy.cli.options import CHANGE, JSON, NAME, Noun, argument, positive
from synergy.cli.recording import SUPERVISED
from synergy.cli.services import START, actor, services
from synergy.errors import InvalidValue, Unreachable
from synergy.program import PROGRAM

if TYPE_CHECKING:
    from synergy.compose import Project
    from synergy.queries.views import ProcessView

NOUN = Noun(
    "process",
    "processes: show, start, stop, switch on and off",
    "launch.py process show SiteDailyAggregator",
)
add = NOUN.add
prepared: Project | None = None
"""The project, if the fork server has opened it for this process."""


@NOUN.verb("launch.py process list --json", JSON)
def run_list(arguments: argparse.Namespace) -> None:
    """Show all processes."""
    with services() as at:
        processes = at.reads.processes()
    if arguments.json:
        output.print_json({"processes": processes})
        return
    output.table(
        ["process", "kind", "qualifier", "tree", "is", "trigger", "next due", "waiting", "boxes"],
        [
            [
                p.name,
                p.kind,
                p.qualifier,
                p.tree,
                _on(p.is_on),
                p.trigger,
                output.instant(p.next_due),
                p.waiting,
                _boxes(p),
            ]
            for p in processes
        ],
    )


@NOUN.verb("launch.py process show Scheduler", NAME, JSON)
def run_show(arguments: argparse.Namespace) -> None:
    """Show one process."""
    from dataclasses import asdict

    with services() as at:
        declared = at.project.process(arguments.name)
        seen = at.reads.process(arguments.name)
    facts = {**asdict(declared), **asdict(seen)}  # the state in the store wins over the declaration
    if "variables" in facts:
        facts["variables"] = sorted(facts["variables"])  # the values may be secrets
    if arguments.json:
        output.print_json(facts)
        return
    facts |= {
        "instances": "pool" if seen.is_pooled else seen.instances,
        "is_on": _on(seen.is_on),
        "next_due": output.instant(seen.next_due),
        "boxes": _boxes(seen),
    }
    output.pairs(facts)


def _on(is_on: bool) -> str:
    return "on" if is_on else "off"


def _boxes(process: ProcessView) -> str:
    pool = "in the pool, " if process.is_pooled else ""
    return ", ".join(
        f"{place.box} {_on(place.is_on)} ({pool}{place.running} of {place.wanted} running)"
        for place in process.boxes
    )


@NOUN.verb(
    "launch.py process start EventStreamGenerator",
    NAME,
    argument("--console", action="store_true", help="run it here, until Ctrl-C"),
    argument("--instance", metavar="N", type=positive, default=1, help="which one (--console)"),
    *CHANGE,
    records=("name", "console", "instance"),
)
def run_start(arguments: argparse.Namespace) -> int:
    """Have the supervisor of this box start a process."""
    if arguments.console:
        return _run_here(arguments)
    if arguments.instance > 1:
        raise InvalidValue("--instance needs --console: the supervisor starts all instances")
    _switch_here(arguments, is_on=True)
    return exits.DONE


def run_supervised(argv: Sequence[str]) -> int:
    """Carries out the command by which the supervisor runs a process.

    No parser is built: that would copy 1 MiB of what the process shares with all others.
    """
    _noun, _verb, name, _console, _instance, number = argv
    return _run_here(argparse.Namespace(name=name, instance=int(number), dry_run=False))


def _run_here(arguments: argparse.Namespace) -> int:
    from synergy import compose

    project = prepared or compose.open_project()
    process = project.process(arguments.name)
    if arguments.instance > max(1, process.instances):  # one of a pooled process may run by hand
        raise InvalidValue(f"{process.name} has {process.instances} instances per box")
    is_supervised = SUPERVISED in os.environ
    if arguments.dry_run:
        output.say(f"would run {process.name} in this terminal")
        return exits.DONE
    if is_supervised:
        return _run_supervised(project, process.name, arguments.instance)
    ended_well = compose.run_process(project, process.name, arguments.instance, console=True)
    return exits.DONE if ended_well else exits.FAILED


def _run_supervised(project: Project, name: str, instance: int) -> int:
    from synergy import compose
    from synergy.runtime.leftover_threads import end_by_force
    from synergy.runtime.masked_output import mask_output

    mask_output()
    code = exits.FAILED
    try:
        if compose.run_process(project, name, instance, console=False):
            code = exits.DONE
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else exits.FAILED
        raise
    finally:
        end_by_force(code)
    return code


@NOUN.verb("launch.py process stop EventStreamGenerator", NAME, *CHANGE, records=("name",))
def run_stop(arguments: argparse.Namespace) -> None:
    """Have the supervisor of this box stop a process."""
    _switch_here(arguments, is_on=False)


def _switch_here(arguments: argparse.Namespace, *, is_on: bool) -> None:
    from synergy.cli import box
    from synergy.supervisor import home_lock

    with services() as at:
        process = at.project.process(arguments.name)
        verb = "start" if is_on else "stop"
        if home_lock.holder(at.project.settings.home) is None:
            raise Unreachable(
                f"no supervisor runs on this box, so nothing was done: {START}; for the next start "
                f"of a supervisor: {PROGRAM} box {verb} {process.name}"
            )
        box.switch(at, arguments, at.project.settings.box_id, process.name, is_on=is_on)


@NOUN.verb("launch.py process on SiteDailyAggregator", NAME, *CHANGE, records=("name",))
def run_on(arguments: argparse.Namespace) -> None:
    """Switch a process on, everywhere."""
    _switch(arguments, is_on=True)


@NOUN.verb(
    "launch.py process off SiteDailyAggregator --reason 'source is being moved'",
    NAME,
    *CHANGE,
    records=("name",),
)
def run_off(arguments: argparse.Namespace) -> None:
    """Switch a process off, everywhere: no new units or runs of it; a daemon is stopped."""
    _switch(arguments, is_on=False)


def _switch(arguments: argparse.Namespace, *, is_on: bool) -> None:
    with services() as at:
        change = at.process_commands.switch(
            at.project.process(arguments.name).name,
            is_on,
            actor(arguments.reason),
            at.now,
            dry_run=arguments.dry_run,
        )
    _show_change(arguments, {"is_on": is_on}, change is not None, _on(is_on))


@NOUN.verb("launch.py process trigger SiteDailyAggregator", NAME, *CHANGE, records=("name",))
def run_trigger(arguments: argparse.Namespace) -> None:
    """Have a managed process look at its jobs now; run a free-run process now."""
    from synergy.model.process import FreerunProcess

    facts: dict[str, object] = {"triggered": True}
    state = "looking at its jobs now"
    who = actor(arguments.reason)
    with services() as at:
        process = at.project.process(arguments.name)
        done = at.process_commands.trigger(process.name, who, at.now, dry_run=arguments.dry_run)
    if isinstance(process, FreerunProcess):
        facts["run"] = done.run
        state = "run now" if done.run is None else f"run now: {PROGRAM} unit show {done.run}"
    _note(done.remark)
    _show_change(arguments, facts, True, state)


@NOUN.verb(
    "launch.py process interval SiteDailyAggregator 'every 60'",
    NAME,
    argument("trigger", metavar="TRIGGER", help="every N, at [D-]HH:MM, cron ..."),
    *CHANGE,
    records=("name", "trigger"),
)
def run_interval(arguments: argparse.Namespace) -> None:
    """Change when a process looks at its jobs, or runs, by itself."""
    from synergy.schedule.trigger import parse

    trigger, who = str(parse(arguments.trigger)), actor(arguments.reason)
    with services() as at:
        process = at.project.process(arguments.name)
        change = at.process_commands.set_trigger(
            process.name, trigger, who, at.now, dry_run=arguments.dry_run
        )
    before = trigger if change is None else change.before
    _note("" if change is None else change.remark)
    facts = {"trigger": trigger, "before": before}
    _show_change(arguments, facts, change is not None, f"due {trigger}")


def _note(remark: str) -> None:
    if remark:
        output.note(remark)


def _show_change(
    arguments: argparse.Namespace, facts: Mapping[str, object], is_change: bool, state: str
) -> None:
    """Prints a change; `state` completes "is"."""
    changed = is_change and not arguments.dry_run
    verb = ("would be" if arguments.dry_run else "is") if is_change else "is already"
    output.show_change(
        arguments,
        {"process": arguments.name, **facts, "changed": changed},
        f"{arguments.name} {verb} {state}",
    )
