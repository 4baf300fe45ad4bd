"""`launch.py event …`: emit events, and list the recorded ones."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from synergy.cli import output
from synergy.cli.options import CURSOR, DRY_RUN, JSON, TIMES, Noun, argument, limit, positive
from synergy.cli.services import Services, actor, services, times
from synergy.errors import InvalidValue
from synergy.program import PROGRAM

if TYPE_CHECKING:
    from synergy.model.schedule import Event
    from synergy.queries.page import Page
    from synergy.queries.schedules.event_effects import Effects, RecordedEvent

WARNINGS = 10  # the most warnings that are shown for the events of a file
SHOWN = 20  # the most events whose effects are awaited and shown
NOUN = Noun(
    "event",
    "events that schedules react to: emit, list",
    "launch.py event emit FILE /data/in/2026-11-21.csv",
)
add = NOUN.add


@NOUN.verb(
    """launch.py event emit FILE /data/in/2026-11-21.csv --at 2026-11-21T12:00:00Z
    launch.py event emit PARTITION visits --partitions 3 --id load-4711
    launch.py event emit --file EVENTS.jsonl""",
    argument("type", metavar="TYPE", nargs="?", help="FILE, TABLE, TIME_BASED, PARTITION"),
    argument("resource", metavar="RESOURCE", nargs="?", help="a path, or a name"),
    argument("--at", metavar="TIME", help="when it happened; default: now"),
    argument("--id", metavar="ID", help="an event whose id is known already has no effect"),
    argument("--partitions", metavar="N", type=positive, help="of a PARTITION; default: 1"),
    argument("--file", metavar="FILE", help="one event a line, as JSON; - for stdin"),
    JSON,
    DRY_RUN,
)
def run_emit(arguments: argparse.Namespace) -> None:
    """Report an event."""
    from synergy.commands import events
    from synergy.runtime.stop import Stop

    with services() as at:
        items = _items(arguments, at)
        recorded = events.record_events(
            at.store, at.bus, items, actor(), at.now, dry_run=arguments.dry_run
        )
        effects = None
        if not arguments.dry_run and len(recorded) <= SHOWN:
            effects = at.schedule_reads.effects_of(recorded, Stop().wait)
    _warn(events.warnings([one.event for one in recorded]))
    if arguments.json:
        shown = [{**asdict(one.event), "new": one.is_new} for one in recorded]
        output.print_json({"events": shown, "effects": effects, "dry_run": arguments.dry_run})
        return
    _print_recorded(recorded, "would be recorded" if arguments.dry_run else "recorded")
    if effects is not None:
        _print_effects(effects)


def _warn(warnings: Sequence[str]) -> None:
    for warning in warnings[:WARNINGS]:
        output.warn(warning)
    if len(warnings) > WARNINGS:
        output.warn(f"and {len(warnings) - WARNINGS:,} more warnings")


def _items(arguments: argparse.Namespace, at: Services) -> Sequence[Mapping[str, object]]:
    one = {
        "eventType": arguments.type,
        "eventResourceId": arguments.resource,
        "eventTimestamp": arguments.at,
        "id": arguments.id,
        "partitions": arguments.partitions,
    }
    given = {name: value for name, value in one.items() if value is not None}
    if arguments.file is not None:
        from synergy.cli.input_files import read_lines

        if given:
            raise InvalidValue("give TYPE and RESOURCE, or --file alone: the file has all fields")
        return read_lines(arguments.file)
    if arguments.type is None or arguments.resource is None:
        raise InvalidValue("give TYPE and RESOURCE, or --file FILE")
    return [{"eventTimestamp": at.now.isoformat(), **given}]


def _print_recorded(recorded: Sequence[RecordedEvent], verb: str) -> None:
    new = sum(one.is_new for one in recorded)
    if len(recorded) == 1:
        event = recorded[0].event
        text = f"{event.type} {event.resource} {output.instant(event.timestamp)}"
        output.say(f"{verb}: {text}" if new else f"recorded before, as {event.id}: {text}")
    elif new == len(recorded):
        output.say(f"{new:,} {verb}")
    else:
        output.say(f"{new:,} of {len(recorded):,} {verb}; the ids of the others exist already")


def _print_effects(effects: Effects) -> None:
    if not effects.schedules:
        output.say("no enabled schedule listens to it")
        return
    output.say(f"listening: {', '.join(effects.schedules)}")
    for run in effects.runs:
        output.say(f"run {run.id} of {run.schedule}: {run.state.value}")
    if not effects.is_decided:
        output.note(f"no agent has processed it yet: {PROGRAM} box list shows whether one runs")
    elif not effects.runs:
        output.say(f"it has caused no run yet: {PROGRAM} schedule why NAME says what is missing")


@NOUN.verb("launch.py event list --from today --limit 20", *TIMES, limit(50), CURSOR, JSON)
def run_list(arguments: argparse.Namespace) -> None:
    """Show events, newest first; --from and --to limit the time when they were recorded."""
    with services() as at:
        page = at.schedule_reads.events(
            arguments.limit, arguments.cursor, within=times(arguments, at)
        )
    output.show(arguments, page, _print_page)


def _print_page(page: Page[Event]) -> None:
    output.table(
        ["number", "type", "resource", "partitions", "happened", "recorded", "by", "id"],
        [
            [
                event.seq,
                event.type,
                event.resource,
                event.body.get("partitions"),
                output.instant(event.timestamp),
                output.instant(event.at),
                event.who,
                event.id,
            ]
            for event in page.items
        ],
    )
    output.note_more(page.next)
