"""`launch.py store …`: the store."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synergy.cli import options, store_copy
from synergy.runtime.masking import mask

if TYPE_CHECKING:
    from synergy.compose import Project

WORD = "reset"  # what a person types to have everything deleted


def add(subparsers: Any) -> None:
    """Adds the noun to the parser."""
    verbs = options.noun(
        subparsers,
        "store",
        "the store: init, status, reset, backup, copy",
        "launch.py store status",
    )
    init = options.verb(
        verbs, "init", run_init, "make the store, if there is none", "launch.py store init"
    )
    options.json_option(init)
    options.dry_run_option(init)
    status = options.verb(
        verbs, "status", run_status, "show where it is and what is in it", "launch.py store status"
    )
    options.json_option(status)
    reset = options.verb(
        verbs, "reset", run_reset, "delete everything in the store, and make it anew",
        "launch.py store reset --yes",
    )  # fmt: skip
    options.yes_option(reset)
    options.json_option(reset)
    options.dry_run_option(reset)
    backup = options.verb(
        verbs, "backup", run_backup, "copy the store into a new file, while others work",
        "launch.py store backup /backups/synergy-20261121.db",
    )  # fmt: skip
    backup.add_argument("file", metavar="FILE", type=Path)
    options.json_option(backup)
    options.dry_run_option(backup)
    store_copy.add(verbs)


def run_init(arguments: argparse.Namespace) -> None:
    """Makes the store."""
    from synergy import compose
    from synergy.cli import output

    project = compose.open_project()
    store = mask(project.settings.store)
    is_new = not compose.has_store(project.settings)
    added = [] if arguments.dry_run else compose.prepare_store(project.settings)
    if not arguments.dry_run:
        compose.prepare_bus(project)
    if arguments.json:
        output.print_json(
            {"store": store, "made": is_new, "added": added, "dry_run": arguments.dry_run}
        )
        return
    verb = ("would be made" if arguments.dry_run else "is made") if is_new else "is there already"
    output.say(f"{store} {verb}")
    for one in () if is_new else added:
        output.say(f"made the index {one}")
    if project.settings.has_broker and not arguments.dry_run:
        output.say(f"{mask(project.settings.bus)} has the queues of all processes")


def run_status(arguments: argparse.Namespace) -> None:
    """What the store says of itself."""
    from synergy.cli import output
    from synergy.cli.services import services

    with services() as at:
        found = at.reads.store_status()
    if arguments.json:
        output.print_json(found)
        return
    output.pairs(
        {
            "engine": f"{found.engine} {found.version}",
            "location": found.location,
            "schema": found.schema,
            "size": output.size(found.size_bytes),
        }
    )
    output.table(["rows of", "number"], sorted(found.rows.items()))
    for warning in found.warnings:
        output.note(f"{output.colour('warning', 'yellow')}: {warning}")


def run_reset(arguments: argparse.Namespace) -> None:
    """Deletes everything."""
    from synergy import compose
    from synergy.cli import output
    from synergy.cli.services import confirm

    project = compose.open_project()
    store = mask(project.settings.store)
    _refuse_while_in_use(project)
    there = compose.has_store(project.settings)
    if there:
        _refuse_while_boxes_report(project)
    if there and not arguments.dry_run:
        confirm(f"Everything in {store} will be deleted.", WORD, is_sure=arguments.yes)
        compose.empty_bus(project)  # messages of a deployment that is no more would be foreign
        compose.remove_store(project.settings)
        compose.open_store(project.settings).close()
    if arguments.json:
        output.print_json({"store": store, "reset": there, "dry_run": arguments.dry_run})
        return
    verb = "would be reset" if arguments.dry_run else "is empty now"
    output.say(f"{store} {verb if there else 'is not there: nothing to reset'}")


def _refuse_while_in_use(project: Project) -> None:
    """A supervisor, or what one left behind, would go on writing into a store that is gone."""
    from synergy.errors import Refused
    from synergy.supervisor import lock
    from synergy.supervisor.host import ProcessHost

    home = project.settings.home
    running = lock.holder(home)
    if running is not None:
        raise Refused(f"a supervisor runs (pid {running.pid}): launch.py supervisor stop, first")
    left = ProcessHost(home, project.path).strangers()
    if left:
        raise Refused(f"{len(left)} processes still run: launch.py supervisor stop ends them")


def _refuse_while_boxes_report(project: Project) -> None:
    """The same for other boxes, which share a store on a server."""
    from synergy import compose
    from synergy.errors import Refused

    if project.settings.store_file is not None:
        return
    store = compose.open_url(project.settings.store)
    try:
        now = project.settings.clock.now()
        others = [box for box in store.boxes.all() if box.id != project.settings.box_id]
        alive = [box.id for box in others if not box.is_silent(now)]
    finally:
        store.close()
    if alive:
        raise Refused(
            f"boxes work with this store ({', '.join(alive)}): launch.py supervisor stop on each, "
            "and a minute later it can be reset"
        )


def run_backup(arguments: argparse.Namespace) -> None:
    """Copies the store."""
    from synergy.cli import output
    from synergy.cli.services import services
    from synergy.errors import InvalidValue, Refused

    target = arguments.file.absolute()
    if target.exists():
        raise Refused(f"{target} is there already: name a new file")
    if not target.parent.is_dir():
        raise InvalidValue(f"there is no folder {target.parent}")
    with services() as at:
        if not arguments.dry_run:
            with output.Progress("pages copied") as line:
                at.store.backup(target, line.show)
    done = not arguments.dry_run
    if arguments.json:
        size = target.stat().st_size if done else None
        output.print_json({"file": target, "bytes": size, "dry_run": arguments.dry_run})
    elif done:
        output.say(f"{target}: {output.size(target.stat().st_size)}")
    else:
        output.say(f"would copy the store to {target}")
