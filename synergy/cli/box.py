"""`launch.py box …`: which processes run on which box."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from synergy.cli import output
from synergy.cli.options import CHANGE, JSON, PROCESS, Noun, argument
from synergy.cli.services import Services, actor, services
from synergy.program import PROGRAM

if TYPE_CHECKING:
    from synergy.queries.views import BoxProcess, BoxView

NOUN = Noun("box", "which processes run on which box", "launch.py box list")
BOX = argument("--box", metavar="B", help="default: this box")
add = NOUN.add


@NOUN.verb("launch.py box list --json", JSON)
def run_list(arguments: argparse.Namespace) -> None:
    """Show all boxes and what runs there."""
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
    """When the box's supervisor last reported."""
    if box.age is None:
        return "never"
    ago = output.span(box.age)
    return f"not seen for {ago}" if box.is_silent else f"{ago} ago"


def _is_on(is_on: bool | None) -> str:
    return {True: "on", False: "off", None: "not assigned"}[is_on]


def _runs(process: BoxProcess, box: BoxView) -> str | None:
    if process.is_pooled and not process.observed:
        return "in the pool" if process.is_on else None
    states = ", ".join(
        f"{seen.state} (pid {seen.pid})" if seen.pid is not None else seen.state
        for seen in process.observed
    )
    return f"was {states}" if states and box.is_silent else states or None


@NOUN.verb("launch.py box id", JSON)
def run_id(arguments: argparse.Namespace) -> None:
    """Show the id of this box."""
    from synergy import compose

    box = compose.open_project().settings.box_id
    if arguments.json:
        output.print_json({"box": box})
    else:
        output.say(box)


@NOUN.verb(
    "launch.py box start SiteDailyAggregator --box box-2",
    PROCESS,
    BOX,
    *CHANGE,
    records=("process", "box"),
)
def run_start(arguments: argparse.Namespace) -> None:
    """Switch a process on for a box; its supervisor starts it."""
    _switch(arguments, is_on=True)


@NOUN.verb(
    "launch.py box stop SiteDailyAggregator --box box-2",
    PROCESS,
    BOX,
    *CHANGE,
    records=("process", "box"),
)
def run_stop(arguments: argparse.Namespace) -> None:
    """Switch a process off for a box; its supervisor stops it."""
    _switch(arguments, is_on=False)


def _switch(arguments: argparse.Namespace, *, is_on: bool) -> None:
    with services() as at:
        process = at.project.process(arguments.process)
        if arguments.box is not None:
            at.maintenance.refuse_if_unknown_box(arguments.box)
        box = arguments.box or at.project.settings.box_id
        switch(at, arguments, box, process.name, is_on=is_on)


def switch(
    at: Services, arguments: argparse.Namespace, box: str, process: str, *, is_on: bool
) -> None:
    """Switches a process on or off for a box, and prints the result."""
    is_change = at.maintenance.switch_on_box(
        box, process, is_on, actor(arguments.reason), at.now, dry_run=arguments.dry_run
    )
    verb = ("would be" if arguments.dry_run else "is") if is_change else "is already"
    changed = is_change and not arguments.dry_run
    output.show_change(
        arguments,
        {"box": box, "process": process, "is_on": is_on, "changed": changed},
        f"{process} {verb} {_is_on(is_on)} for box {box}",
    )
    if is_on and not arguments.json and not at.reads.process(process).is_on:
        output.note(f"it is off everywhere, so it does not run: {PROGRAM} process on {process}")


@NOUN.verb("launch.py box sync --dry-run", *CHANGE, records=())
def run_sync(arguments: argparse.Namespace) -> None:
    """Add the processes that context.py assigns to this box and that it lacks."""
    from synergy.supervisor.assignment import assigned

    with services() as at:
        box = at.project.settings.box_id
        names, who = assigned(at.project.deployment, box), actor(arguments.reason)
        added = at.maintenance.assign(box, names, who, at.now, dry_run=arguments.dry_run)
    verb = "would be added to" if arguments.dry_run else "added to"
    line = f"{', '.join(added) or 'nothing'} {verb} box {box}"
    output.show_change(arguments, {"box": box, "added": added}, line)
