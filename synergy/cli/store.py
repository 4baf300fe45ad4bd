"""`launch.py store …`: the store."""

from __future__ import annotations

import argparse
from contextlib import closing
from typing import TYPE_CHECKING

from synergy.cli import exits, output, store_copy, store_import
from synergy.cli.options import DRY_RUN, JSON, YES, Noun, argument, file_path
from synergy.cli.services import confirm, services
from synergy.errors import InvalidValue, Refused
from synergy.program import PROGRAM
from synergy.runtime.masking import mask

if TYPE_CHECKING:
    from synergy.compose import Project
    from synergy.storage.protocol import StoreStatus
    from synergy.storage.protocol.check import StoreCheck

WORD = "reset"  # the word to type before everything is deleted
NOUN = Noun(
    "store",
    "the store: init, status, check, reset, backup, copy, import",
    "launch.py store status",
    (store_copy.VERBS, store_import.VERBS),
)
add = NOUN.add


@NOUN.verb("launch.py store init", JSON, DRY_RUN, records=())
def run_init(arguments: argparse.Namespace) -> None:
    """Create the store, or what an existing one lacks: a newer schema, indexes, queues."""
    from synergy import compose

    project = compose.open_project()
    store = mask(project.settings.store)
    is_new = not compose.has_store(project.settings)
    added = compose.prepare_store(project.settings, dry_run=arguments.dry_run)
    if not arguments.dry_run:
        compose.prepare_bus(project)
    verb = ("would be" if arguments.dry_run else "was") + " created" if is_new else "exists already"
    lines = [f"{store} {verb}"]
    if not is_new:
        did = "would create" if arguments.dry_run else "created"
        lines += [f"{did} the index {index}" for index in added]
    if project.settings.has_broker and not arguments.dry_run:
        lines.append(f"{mask(project.settings.bus)} has the queues of all processes")
    output.show_change(arguments, {"store": store, "made": is_new, "added": added}, *lines)


@NOUN.verb("launch.py store status", JSON)
def run_status(arguments: argparse.Namespace) -> None:
    """Show the location and the contents of the store."""
    with services() as at:
        output.show(arguments, at.reads.store_status(), _print_status)


def _print_status(status: StoreStatus) -> None:
    output.pairs(
        {
            "engine": f"{status.engine} {status.version}",
            "location": status.location,
            "schema": status.schema,
            "size": output.size(status.size_bytes),
        }
    )
    output.table(["rows of", "number"], sorted(status.rows.items()))
    for warning in status.warnings:
        output.warn(warning)


@NOUN.verb("launch.py store check", JSON)
def run_check(arguments: argparse.Namespace) -> int:
    """Read everything in the store, which may be in use, for damage and malformed rows."""
    from synergy import compose

    project = compose.open_project()
    with output.Progress("rows checked") as line:
        found = compose.check_store(project.settings, line.show)
    output.show(arguments, _checked(found), lambda _: _print_check(found))
    return exits.DONE if found.is_sound else exits.FAILED


def _checked(found: StoreCheck) -> dict[str, object]:
    return {
        "location": found.location,
        "sound": found.is_sound,
        "rows": found.rows,
        "damage": list(found.damage),
        "malformed": [
            {"kind": row.kind, "name": row.text, "problem": row.problem} for row in found.malformed
        ],
        "released": found.is_released,
    }


def _print_check(found: StoreCheck) -> None:
    if found.damage:
        output.say(f"{found.location} is damaged:")
        for line in found.damage:
            output.say(f"  {line}")
        output.say(f"Stop everything ({PROGRAM} supervisor stop) and restore a backup:")
        output.say("docs/operations.md, A damaged store, says how, and how to save what is left.")
    if found.malformed:
        rows = [(row.kind, row.text, row.problem) for row in found.malformed]
        output.table(["rows of", "name", "problem"], rows)
        output.say("These rows are set aside; docs/operations.md, Malformed rows, says what helps.")
    if found.is_released:
        output.say("The store was marked as damaged; it is not, and is released.")
    verdict = "sound" if found.is_sound else "not sound"
    output.say(f"{verdict}: {found.rows:,} rows of {found.location} were read")


@NOUN.verb("launch.py store reset --yes", YES, JSON, DRY_RUN, records=())
def run_reset(arguments: argparse.Namespace) -> None:
    """Delete everything in the store, and make it anew."""
    from synergy import compose

    project = compose.open_project()
    store = mask(project.settings.store)
    _refuse_while_in_use(project)
    exists = compose.has_store(project.settings)
    if exists:
        _refuse_while_boxes_report(project)
    if exists and not arguments.dry_run:
        confirm(f"Everything in {store} will be deleted.", WORD, is_sure=arguments.yes)
        compose.empty_bus(project)  # its messages refer to rows that are about to go
        compose.remove_store(project.settings)
        compose.open_store(project.settings).close()
    verb = "would be reset" if arguments.dry_run else "is empty now"
    line = f"{store} {verb if exists else 'is not there: nothing to reset'}"
    output.show_change(arguments, {"store": store, "reset": exists}, line)


def _refuse_while_in_use(project: Project) -> None:
    """Raises Refused while a supervisor, or a process it left, may write into the store."""
    from synergy.supervisor import home_lock
    from synergy.supervisor.host import ProcessHost

    home = project.settings.home
    running = home_lock.holder(home)
    if running is not None:
        raise Refused(
            f"a supervisor runs (pid {running.pid}): stop it with {PROGRAM} supervisor stop"
        )
    left = ProcessHost(home, project.path).leftovers()
    if left:
        runs = "1 process still runs" if len(left) == 1 else f"{len(left)} processes still run"
        raise Refused(f"{runs}: {PROGRAM} supervisor stop ends what is left")


def _refuse_while_boxes_report(project: Project) -> None:
    """Raises Refused while other boxes use the same store on a server."""
    from synergy import compose

    if project.settings.store_file is not None:
        return
    with closing(compose.open_url(project.settings.store)) as store:
        now = project.settings.clock.now()
        others = [box for box in store.boxes.all() if box.id != project.settings.box_id]
        alive = [box.id for box in others if not box.is_silent(now)]
    if alive:
        raise Refused(
            f"other boxes use this store ({', '.join(alive)}): run {PROGRAM} supervisor stop on "
            "each, wait a minute, and repeat this command"
        )


@NOUN.verb(
    "launch.py store backup /backups/synergy-20261121.db",
    argument("file", metavar="FILE", type=file_path),
    JSON,
    DRY_RUN,
    records=("file",),
)
def run_backup(arguments: argparse.Namespace) -> None:
    """Copy the store, which may be in use, into a new file."""
    target = arguments.file.absolute()
    if target.exists():
        raise Refused(f"{target} is there already: name a new file")
    if not target.parent.is_dir():
        raise InvalidValue(f"there is no folder {target.parent}")
    with services() as at:
        if not arguments.dry_run:
            with output.Progress("pages copied") as line:
                at.store.backup(target, line.show)
    if arguments.dry_run:
        number, text = None, f"would copy the store to {target}"
    else:
        number = target.stat().st_size
        text = f"{target}: {output.size(number)}"
    output.show_change(arguments, {"file": target, "bytes": number}, text)
