"""`launch.py box …`: which processes run on which box."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from synergy.cli import options

if TYPE_CHECKING:
    from synergy.cli.services import Services
    from synergy.queries.views import BoxProcess, BoxView


def add(subparsers: Any) -> None:
    """Adds the noun to the parser."""
    verbs = options.noun(
        subparsers, "box", "which processes run on which box", "launch.py box list"
    )
    listing = options.verb(
        verbs, "list", run_list, "show all boxes and what runs there", "launch.py box list --json"
    )
    options.json_option(listing)
    id_ = options.verb(verbs, "id", run_id, "show the id of this box", "launch.py box id")
    options.json_option(id_)
    for name, run, help_ in (
        ("start", run_start, "switch a process on for a box; its supervisor starts it"),
        ("stop", run_stop, "switch a process off for a box; its supervisor stops it"),
    ):
        parser = options.verb(
            verbs, name, run, help_, f"launch.py box {name} SiteDailyAggregator --box box-2"
        )
        parser.add_argument("process", metavar="PROCESS")
        parser.add_argument("--box", metavar="B", help="default: this box")
        options.change_options(parser)
    sync = options.verb(
        verbs, "sync", run_sync, "write what context.py assigns to this box and it lacks",
        "launch.py box sync --dry-run",
    )  # fmt: skip
    options.change_options(sync)


def run_list(arguments: argparse.Namespace) -> None:
    """The processes of each box."""
    from synergy.cli import output
    from synergy.cli.services import services

    with services() as at:
        boxes = at.reads.boxes()
    if arguments.json:
        output.print_json({"boxes": boxes})
        return
    output.table(
        ["box", "seen", "process", "is", "runs"],
        [
            [box.id, _seen(box), p.process, _is_on(p.is_on), _runs(p, box)]
            for box in boxes
            for p in box.processes
        ],
    )


def _seen(box: BoxView) -> str:
    """When its supervisor was heard of last."""
    from synergy.cli import output

    if box.age is None:
        return "never"
    ago = output.span(box.age)
    return f"not seen for {ago}" if box.is_silent else f"{ago} ago"


def _is_on(is_on: bool | None) -> str:
    return {True: "on", False: "off", None: "not assigned"}[is_on]


def _runs(process: BoxProcess, box: BoxView) -> str | None:
    told = ", ".join(
        f"{seen.state} (pid {seen.pid})" if seen.pid is not None else seen.state
        for seen in process.observed
    )
    return f"was {told}" if told and box.is_silent else told or None


def run_id(arguments: argparse.Namespace) -> None:
    """The id of this box."""
    from synergy import compose
    from synergy.cli import output

    box = compose.open_project().settings.box_id
    if arguments.json:
        output.print_json({"box": box})
    else:
        output.say(box)


def run_start(arguments: argparse.Namespace) -> None:
    """Switches a process on for a box."""
    _switch(arguments, is_on=True)


def run_stop(arguments: argparse.Namespace) -> None:
    """Switches a process off for a box."""
    _switch(arguments, is_on=False)


def _switch(arguments: argparse.Namespace, *, is_on: bool) -> None:
    from synergy.cli.services import services

    with services() as at:
        process = at.project.process(arguments.process)
        if arguments.box is not None:
            at.maintenance.refuse_if_unknown_box(arguments.box)
        box = arguments.box or at.project.settings.box_id
        switch(at, arguments, box, process.name, is_on=is_on)


def switch(
    at: Services, arguments: argparse.Namespace, box: str, process: str, *, is_on: bool
) -> None:
    """Switches a process on or off for a box, and tells."""
    from synergy.cli import output
    from synergy.cli.services import actor

    is_change = at.maintenance.switch_on_box(
        box, process, is_on, actor(arguments.reason), at.now, dry_run=arguments.dry_run
    )
    if arguments.json:
        output.print_json(
            {
                "box": box,
                "process": process,
                "is_on": is_on,
                "changed": is_change and not arguments.dry_run,
                "dry_run": arguments.dry_run,
            }
        )
        return
    verb = ("would be" if arguments.dry_run else "is") if is_change else "is already"
    output.say(f"{process} {verb} {_is_on(is_on)} for box {box}")
    if is_on and not at.reads.process(process).is_on:
        output.note(f"it is off everywhere, so it does not run: launch.py process on {process}")


def run_sync(arguments: argparse.Namespace) -> None:
    """Adds missing assignments."""
    from synergy.cli import output
    from synergy.cli.services import actor, services
    from synergy.supervisor.assignment import assigned

    with services() as at:
        box = at.project.settings.box_id
        added = at.maintenance.assign(
            box,
            assigned(at.project.deployment, box),
            actor(arguments.reason),
            at.now,
            dry_run=arguments.dry_run,
        )
    if arguments.json:
        output.print_json({"box": box, "added": added, "dry_run": arguments.dry_run})
        return
    verb = "would be added to" if arguments.dry_run else "added to"
    output.say(f"{', '.join(added) or 'nothing'} {verb} box {box}")
