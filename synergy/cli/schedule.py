"""`launch.py schedule …`: schedules, one-off jobs, and their runs."""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from synergy.cli import (
    output,
    schedule_import,
    schedule_launches,
    schedule_preview,
    schedule_runs,
    schedule_tables,
)
from synergy.cli.options import CHANGE, CURSOR, JSON, NAME, Noun, argument, json_object, limit
from synergy.cli.schedule_notes import note_if_no_agent, note_if_run_nowhere
from synergy.cli.schedule_preview import FILE_HELP
from synergy.cli.services import actor, services
from synergy.errors import InvalidValue
from synergy.model.schedule import Origin
from synergy.program import PROGRAM

if TYPE_CHECKING:
    from synergy.model.schedule import Schedule
    from synergy.queries.page import Page
    from synergy.queries.schedules.views import ScheduleDetail, ScheduleView

FILE = argument("file", metavar="FILE", help=FILE_HELP)
NOUN = Noun(
    "schedule",
    "schedules: add, show, enable, trigger, preview; and their runs",
    "launch.py schedule add nightly.yaml --enable",
    (
        schedule_preview.VERBS,
        schedule_launches.VERBS,
        schedule_runs.VERBS,
        schedule_import.VERBS,
    ),
)
add = NOUN.add


@NOUN.verb(
    """launch.py schedule list
    launch.py schedule list --program https://example.com""",
    argument(
        "--program",
        metavar="NAME",
        default="",
        help="only those of this process, or with requests to this target or destination",
    ),
    limit(100),
    CURSOR,
    JSON,
)
def run_list(arguments: argparse.Namespace) -> None:
    """Show schedules, by name."""
    with services() as at:
        page = at.schedule_reads.list_schedules(
            arguments.limit, arguments.cursor, program=arguments.program
        )
        note_if_no_agent(at)
    output.show(arguments, page, _print_page)


def _print_page(page: Page[ScheduleView]) -> None:
    schedule_tables.print_schedules(page.items)
    output.note_more(page.next)


@NOUN.verb("launch.py schedule show nightly", NAME, JSON)
def run_show(arguments: argparse.Namespace) -> None:
    """Show a schedule in detail."""
    with services() as at:
        schedule = at.schedule_reads.show_schedule(arguments.name)
        note_if_no_agent(at)
    output.show(arguments, schedule, _print_schedule)


def _print_schedule(seen: ScheduleDetail) -> None:
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
    for warning in seen.warnings:
        output.warn(warning)
    if not seen.is_enabled:
        output.note(f"to enable it: {PROGRAM} schedule enable {seen.name}")


def _compact(value: object) -> object:
    """A value of the definition on one line."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping | list) else value


@NOUN.verb(
    """launch.py schedule add nightly.yaml --enable
    launch.py schedule add configurations.json --program Report
    launch.py schedule add - --dry-run < all.json""",
    FILE,
    argument("--enable", action="store_true", help="enable them at once"),
    argument("--program", metavar="NAME", help="the process of those that name none"),
    argument("--arguments", metavar="JSON", type=json_object, help="for --program: its arguments"),
    argument("--target", metavar="URL", help="where those send to that name no program"),
    *CHANGE,
    records=("file", "enable", "program"),
)
def run_add(arguments: argparse.Namespace) -> None:
    """Store the schedules of a file, all or none.

    Without --enable, schedules are disabled and one-off jobs enabled, unless the file says
    otherwise.
    """
    from synergy.schedule.format.configurations import unfolded, with_program

    program = _default_program(arguments)
    items = with_program(unfolded(schedule_preview.read_all(arguments.file)), program)
    with services() as at:
        added = at.schedule_commands.create_all(
            items,
            actor(arguments.reason),
            at.now,
            enable=arguments.enable,
            dry_run=arguments.dry_run,
        )
        note_if_run_nowhere(at, added)
    _show_changes(arguments, added, "added", unchanged={s.name for s in added if s.rev})
    _warn(added)


def _default_program(arguments: argparse.Namespace) -> Mapping[str, object]:
    """The fields of the program that the options name; none without them."""
    if arguments.program is not None and arguments.target is not None:
        raise InvalidValue("give --program or --target, not both")
    if arguments.arguments is not None and arguments.program is None:
        raise InvalidValue("--arguments goes with --program")
    given = {
        "process": arguments.program,
        "arguments": arguments.arguments,
        "target": arguments.target,
    }
    return {name: value for name, value in given.items() if value is not None}


@NOUN.verb(
    "launch.py schedule edit nightly nightly.yaml", NAME, FILE, *CHANGE, records=("name", "file")
)
def run_edit(arguments: argparse.Namespace) -> None:
    """Replace a schedule by the one in a file; its runs are kept."""
    data = schedule_preview.read_one(arguments.file)
    with services() as at:
        edited = at.schedule_commands.replace(
            arguments.name, data, actor(arguments.reason), at.now, dry_run=arguments.dry_run
        )
    _show_changes(arguments, [edited], f"changed to version {edited.version}")
    _warn([edited])


@NOUN.verb("launch.py schedule remove nightly --dry-run", NAME, *CHANGE, records=("name",))
def run_remove(arguments: argparse.Namespace) -> None:
    """Remove a schedule; its runs are kept."""
    _change(arguments, "remove", "removed")


@NOUN.verb("launch.py schedule enable nightly --dry-run", NAME, *CHANGE, records=("name",))
def run_enable(arguments: argparse.Namespace) -> None:
    """Enable a schedule, which begins anew."""
    _change(arguments, "enable", "enabled")


@NOUN.verb("launch.py schedule disable nightly --dry-run", NAME, *CHANGE, records=("name",))
def run_disable(arguments: argparse.Namespace) -> None:
    """Disable a schedule; its pending jobs are dropped."""
    _change(arguments, "disable", "disabled")


def _change(arguments: argparse.Namespace, command: str, done: str) -> None:
    with services() as at:
        changed = getattr(at.schedule_commands, command)(
            arguments.name, actor(arguments.reason), at.now, dry_run=arguments.dry_run
        )
    _show_changes(arguments, [changed], done)


def _show_changes(
    arguments: argparse.Namespace,
    schedules: Sequence[Schedule],
    done: str,
    unchanged: Collection[str] | None = None,
) -> None:
    """Prints the changes of schedules; `unchanged` names those that were stored before."""
    verb = f"would be {done}" if arguments.dry_run else done
    known = unchanged or ()
    output.show_change(
        arguments,
        {
            "schedules": [
                {
                    "name": schedule.name,
                    "version": schedule.version,
                    "is_enabled": schedule.is_enabled,
                    "next_due": schedule.wake_at,
                    **({} if unchanged is None else {"is_new": schedule.name not in known}),
                }
                for schedule in schedules
            ]
        },
        *(
            f"{schedule.name} {'is there already' if schedule.name in known else verb}"
            f"{_next_step(schedule, done)}"
            for schedule in schedules
        ),
    )


def _warn(schedules: Sequence[Schedule]) -> None:
    """Warns about what is valid but probably a mistake."""
    from synergy.schedule.check_context import Known
    from synergy.schedule.format.read import read, warnings

    for schedule in schedules:
        for warning in warnings(read(schedule.definition, Known())):
            output.warn(f"{schedule.name}: {warning}")


def _next_step(schedule: Schedule, done: str) -> str:
    if done in {"removed", "disabled"}:
        return ""
    if not schedule.is_enabled:
        return f"; it is disabled: {PROGRAM} schedule enable {schedule.name}"
    if schedule.wake_at is not None:
        return f"; next due {output.instant(schedule.wake_at)}"
    return ""
