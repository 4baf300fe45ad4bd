"""`launch.py process …`: show processes, start and stop them, switch them on and off.

`process start NAME --console` is how the supervisor runs each process, so this module imports
nothing that such a process does not need.
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from synergy.cli import options

if TYPE_CHECKING:
    from synergy.queries.views import ProcessView

SUPERVISED = "SYNERGY_RUN"  # in the environment of whatever the supervisor has started


def add(subparsers: Any) -> None:
    """Adds the noun to the parser."""
    verbs = options.noun(
        subparsers,
        "process",
        "processes: show, start, stop, switch on and off",
        "launch.py process show SiteDailyAggregator",
    )
    listing = options.verb(
        verbs, "list", run_list, "show all processes", "launch.py process list --json"
    )
    options.json_option(listing)
    _named(verbs, "show", run_show, "show one process", "launch.py process show Scheduler", ())
    start = _named(
        verbs, "start", run_start, "have the supervisor of this box start a process",
        "launch.py process start EventStreamGenerator",
    )  # fmt: skip
    start.add_argument("--console", action="store_true", help="run it here, until Ctrl-C")
    start.add_argument(
        "--instance", metavar="N", type=options.positive, default=1, help="which one (--console)"
    )
    _named(
        verbs, "stop", run_stop, "have the supervisor of this box stop a process",
        "launch.py process stop EventStreamGenerator",
    )  # fmt: skip
    _named(
        verbs, "on", run_on, "switch a process on, everywhere",
        "launch.py process on SiteDailyAggregator",
    )  # fmt: skip
    _named(
        verbs, "off", run_off, "switch a process off, everywhere: no new jobs or runs of it",
        "launch.py process off SiteDailyAggregator --reason 'source is being moved'",
    )  # fmt: skip
    _named(
        verbs, "trigger", run_trigger,
        "have a managed process look at its jobs now; run a free-run process now",
        "launch.py process trigger SiteDailyAggregator",
    )  # fmt: skip
    interval = _named(
        verbs, "interval", run_interval,
        "change when a process looks at its jobs, or runs, by itself",
        "launch.py process interval SiteDailyAggregator 'every 60'",
    )  # fmt: skip
    interval.add_argument("trigger", metavar="TRIGGER", help="every N, at [D-]HH:MM, cron ...")


def _named(
    verbs: Any,
    name: str,
    run: options.Run,
    help_: str,
    example: str,
    changes: tuple[object, ...] | None = None,
) -> Any:
    """A verb for one process; with `--dry-run` and `--reason` unless it changes nothing."""
    parser = options.verb(verbs, name, run, help_, example)
    parser.add_argument("name", metavar="NAME")
    if changes is None:
        options.change_options(parser)
    else:
        options.json_option(parser)
    return parser


def run_list(arguments: argparse.Namespace) -> None:
    """A line for each process."""
    from synergy.cli import output
    from synergy.cli.services import services

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


def run_show(arguments: argparse.Namespace) -> None:
    """All that is known of one process."""
    from dataclasses import asdict

    from synergy.cli import output
    from synergy.cli.services import services

    with services() as at:
        declared = at.project.process(arguments.name)
        seen = at.reads.process(arguments.name)
    facts = {**asdict(declared), **asdict(seen)}  # what is seen wins over what is declared
    if arguments.json:
        output.print_json(facts)
        return
    facts |= {
        "is_on": _on(seen.is_on),
        "next_due": output.instant(seen.next_due),
        "boxes": _boxes(seen),
    }
    output.pairs(facts)


def _on(is_on: bool) -> str:
    return "on" if is_on else "off"


def _boxes(process: ProcessView) -> str:
    return ", ".join(
        f"{place.box} {_on(place.is_on)} ({place.running} of {process.instances} running)"
        for place in process.boxes
    )


def run_start(arguments: argparse.Namespace) -> int:
    """Runs the process here, or has the supervisor do so."""
    if arguments.console:
        return _run_here(arguments)
    _switch_here(arguments, is_on=True)
    return 0


def _run_here(arguments: argparse.Namespace) -> int:
    from synergy import compose
    from synergy.cli import exits
    from synergy.errors import InvalidValue

    project = compose.open_project()
    process = project.process(arguments.name)
    if arguments.instance > process.instances:
        raise InvalidValue(f"{process.name} has {process.instances} instances per box")
    is_watched = SUPERVISED not in os.environ
    if arguments.dry_run:
        from synergy.cli import output

        output.say(f"would run {process.name} in this terminal")
        return exits.DONE
    ended_well = compose.run_process(project, process.name, arguments.instance, console=is_watched)
    return exits.DONE if ended_well else exits.FAILED


def run_stop(arguments: argparse.Namespace) -> None:
    """Has the supervisor stop it."""
    _switch_here(arguments, is_on=False)


def _switch_here(arguments: argparse.Namespace, *, is_on: bool) -> None:
    from synergy.cli import box
    from synergy.cli.services import START, services
    from synergy.errors import Unreachable
    from synergy.supervisor import lock

    with services() as at:
        process = at.project.process(arguments.name)
        verb = "start" if is_on else "stop"
        if lock.holder(at.project.settings.home) is None:
            raise Unreachable(
                f"no supervisor runs on this box, so nothing was done: {START}; launch.py box "
                f"{verb} {process.name} is for what it shall do when it starts"
            )
        box.switch(at, arguments, at.project.settings.box_id, process.name, is_on=is_on)


def run_on(arguments: argparse.Namespace) -> None:
    """Switches it on."""
    _switch(arguments, is_on=True)


def run_off(arguments: argparse.Namespace) -> None:
    """Switches it off."""
    _switch(arguments, is_on=False)


def _switch(arguments: argparse.Namespace, *, is_on: bool) -> None:
    from synergy.cli.services import actor, services

    who = actor(arguments.reason)
    with services() as at:
        process = at.project.process(arguments.name)
        change = at.process_commands.switch(
            process.name, is_on, who, at.now, dry_run=arguments.dry_run
        )
    _tell(arguments, {"is_on": is_on}, change is not None, _on(is_on))


def run_trigger(arguments: argparse.Namespace) -> None:
    """Has it look, or run, now."""
    from synergy.cli.services import actor, services
    from synergy.model.process import FreerunProcess

    facts: dict[str, object] = {"triggered": True}
    how = "looking at its jobs now"
    who = actor(arguments.reason)
    with services() as at:
        process = at.project.process(arguments.name)
        done = at.process_commands.trigger(process.name, who, at.now, dry_run=arguments.dry_run)
    if isinstance(process, FreerunProcess):
        facts["run"] = done.run
        how = "run now" if done.run is None else f"run now: launch.py unit show {done.run}"
    _note(done.remark)
    _tell(arguments, facts, True, how)


def run_interval(arguments: argparse.Namespace) -> None:
    """Changes its trigger."""
    from synergy.cli.services import actor, services
    from synergy.schedule.trigger import parse

    trigger, who = str(parse(arguments.trigger)), actor(arguments.reason)
    with services() as at:
        process = at.project.process(arguments.name)
        change = at.process_commands.set_trigger(
            process.name, trigger, who, at.now, dry_run=arguments.dry_run
        )
    before = trigger if change is None else change.before
    _note("" if change is None else change.remark)
    _tell(arguments, {"trigger": trigger, "before": before}, change is not None, f"due {trigger}")


def _note(remark: str) -> None:
    from synergy.cli import output

    if remark:
        output.note(remark)


def _tell(
    arguments: argparse.Namespace, facts: dict[str, object], is_change: bool, how: str
) -> None:
    from synergy.cli import output

    if arguments.json:
        output.print_json(
            {
                "process": arguments.name,
                **facts,
                "changed": is_change and not arguments.dry_run,
                "dry_run": arguments.dry_run,
            }
        )
        return
    verb = ("would be" if arguments.dry_run else "is") if is_change else "is already"
    output.say(f"{arguments.name} {verb} {how}")
