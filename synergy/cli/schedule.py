"""`launch.py schedule …`: schedules, one-off jobs, and their runs."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from synergy.cli import options, schedule_preview, schedule_runs, schedule_tables
from synergy.model.schedule import Origin

if TYPE_CHECKING:
    from synergy.model.schedule import Schedule
    from synergy.queries.schedules.views import ScheduleDetail

FILE_HELP = schedule_preview.FILE_HELP


def add(subparsers: Any) -> None:
    """Adds the noun to the parser."""
    verbs = options.noun(
        subparsers,
        "schedule",
        "schedules: add, show, enable, trigger, preview; and their runs",
        "launch.py schedule add nightly.yaml --enable",
    )
    _add_looking(verbs)
    _add_changes(verbs)
    schedule_preview.add(verbs)
    schedule_runs.add(verbs)


def _add_looking(verbs: Any) -> None:
    listing = options.verb(
        verbs, "list", run_list, "show schedules, by name", "launch.py schedule list"
    )
    listing.add_argument(
        "--limit", metavar="N", type=options.positive, default=100, help="default: 100"
    )
    listing.add_argument("--cursor", metavar="C", help="the next page, as the last one named it")
    options.json_option(listing)
    show = options.verb(
        verbs, "show", run_show, "show all that is known of a schedule",
        "launch.py schedule show nightly",
    )  # fmt: skip
    show.add_argument("name", metavar="NAME")
    options.json_option(show)


def _add_changes(verbs: Any) -> None:
    adding = options.verb(
        verbs, "add", run_add, "store the schedules of a file, all or none; disabled at first",
        """launch.py schedule add nightly.yaml --enable
        launch.py schedule add - --dry-run < all.json""",
    )  # fmt: skip
    adding.add_argument("file", metavar="FILE", help=FILE_HELP)
    adding.add_argument("--enable", action="store_true", help="let them begin at once")
    options.change_options(adding)
    edit = options.verb(
        verbs, "edit", run_edit, "replace a schedule by what a file says; its runs are kept",
        "launch.py schedule edit nightly nightly.yaml",
    )  # fmt: skip
    edit.add_argument("name", metavar="NAME")
    edit.add_argument("file", metavar="FILE", help=FILE_HELP)
    options.change_options(edit)
    for name, run, help_ in (
        ("remove", run_remove, "forget a schedule; its runs are kept"),
        ("enable", run_enable, "let a schedule begin, from zero"),
        ("disable", run_disable, "stop a schedule; what it has pending is dropped"),
    ):
        parser = options.verb(
            verbs, name, run, help_, f"launch.py schedule {name} nightly --dry-run"
        )
        parser.add_argument("name", metavar="NAME")
        options.change_options(parser)


def run_list(arguments: argparse.Namespace) -> None:
    """A page of schedules."""
    from synergy.cli import output
    from synergy.cli.schedule_services import note_if_nobody_decides, schedule_services

    with schedule_services() as at:
        page = at.reads.list_schedules(arguments.limit, arguments.cursor)
        note_if_nobody_decides(at)
    if arguments.json:
        output.print_json(page)
        return
    schedule_tables.print_schedules(page.items)
    if page.next is not None:
        output.note(f"there are more: --cursor {page.next}")


def run_show(arguments: argparse.Namespace) -> None:
    """All that is known of one."""
    from synergy.cli import output
    from synergy.cli.schedule_services import note_if_nobody_decides, schedule_services

    with schedule_services() as at:
        seen = at.reads.show_schedule(arguments.name)
        note_if_nobody_decides(at)
    if arguments.json:
        output.print_json(seen)
        return
    _show(seen)
    for warning in seen.warnings:
        output.note(f"warning: {warning}")
    if not seen.is_enabled:
        output.note(f"let it begin: launch.py schedule enable {seen.name}")


def _show(seen: ScheduleDetail) -> None:
    from synergy.cli import output

    output.pairs(
        {
            "schedule": seen.name,
            "runs": seen.words,
            "is": "enabled" if seen.is_enabled else "disabled",
            "reason": output.one_line(seen.reason),
            "next_due": output.instant(seen.next_due),
            "version": seen.version,
            "declared_in": "context.py" if seen.origin == Origin.CONTEXT.value else None,
            "changed": output.instant(seen.changed_at),
        }
    )
    output.say()
    defined = {name: value for name, value in seen.definition.items() if name != "name"}
    output.pairs({name: _compact(value) for name, value in defined.items()})
    if seen.legs:
        output.say()
        output.table(
            ["leg", "waits for", "met", "since"],
            [[leg.path or None, leg.words, leg.how, output.instant(leg.at)] for leg in seen.legs],
        )
    if seen.pending:
        output.say()
        schedule_tables.print_pending(seen.pending)
    if seen.runs:
        output.say()
        schedule_tables.print_runs(seen.runs)


def _compact(value: object) -> object:
    """A value of the definition on one line."""
    import json

    return json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping | list) else value


def run_add(arguments: argparse.Namespace) -> None:
    """Stores all schedules of a file, or none."""
    from synergy.cli.input_files import read_documents
    from synergy.cli.schedule_services import note_if_run_nowhere, schedule_services
    from synergy.cli.services import actor

    items = read_documents(arguments.file)
    with schedule_services() as at:
        added = at.commands.create_all(
            items,
            actor(arguments.reason),
            at.now,
            enable=arguments.enable,
            dry_run=arguments.dry_run,
        )
        note_if_run_nowhere(at, added)
    _tell(arguments, added, "added", there={s.name for s in added if s.rev})
    _warn(added)


def run_edit(arguments: argparse.Namespace) -> None:
    """Replaces a schedule."""
    from synergy.cli.schedule_services import schedule_services
    from synergy.cli.services import actor

    data = schedule_preview.one(arguments.file)
    with schedule_services() as at:
        edited = at.commands.replace(
            arguments.name, data, actor(arguments.reason), at.now, dry_run=arguments.dry_run
        )
    _tell(arguments, [edited], f"changed to version {edited.version}")
    _warn([edited])


def run_remove(arguments: argparse.Namespace) -> None:
    """Forgets it."""
    _change(arguments, "remove", "removed")


def run_enable(arguments: argparse.Namespace) -> None:
    """Lets it begin."""
    _change(arguments, "enable", "enabled")


def run_disable(arguments: argparse.Namespace) -> None:
    """Stops it."""
    _change(arguments, "disable", "disabled")


def _change(arguments: argparse.Namespace, action: str, done: str) -> None:
    from synergy.cli.schedule_services import schedule_services
    from synergy.cli.services import actor

    with schedule_services() as at:
        changed = getattr(at.commands, action)(
            arguments.name, actor(arguments.reason), at.now, dry_run=arguments.dry_run
        )
    _tell(arguments, [changed], done)


def _tell(
    arguments: argparse.Namespace,
    schedules: Sequence[Schedule],
    done: str,
    there: Collection[str] | None = None,
) -> None:
    """Says what was done; given `there`, what was added, and what of it was there already."""
    from synergy.cli import output

    if arguments.json:
        output.print_json(
            {
                "schedules": [
                    {
                        "name": schedule.name,
                        "version": schedule.version,
                        "is_enabled": schedule.is_enabled,
                        "next_due": schedule.wake_at,
                        **({} if there is None else {"is_new": schedule.name not in there}),
                    }
                    for schedule in schedules
                ],
                "dry_run": arguments.dry_run,
            }
        )
        return
    verb = f"would be {done}" if arguments.dry_run else done
    for schedule in schedules:
        told = "is there already" if schedule.name in (there or ()) else verb
        output.say(f"{schedule.name} {told}{_standing(schedule, done)}")


def _warn(schedules: Sequence[Schedule]) -> None:
    """Names what is allowed, but probably not meant."""
    from synergy.cli import output
    from synergy.schedule.format.read import Known, read, warnings

    for schedule in schedules:
        for warning in warnings(read(schedule.definition, Known())):
            output.note(f"warning: {schedule.name}: {warning}")


def _standing(schedule: Schedule, done: str) -> str:
    from synergy.cli import output

    if done in {"removed", "disabled"}:
        return ""
    if not schedule.is_enabled:
        return f"; it is disabled: launch.py schedule enable {schedule.name}"
    if schedule.wake_at is not None:
        return f"; next due {output.instant(schedule.wake_at)}"
    return ""
