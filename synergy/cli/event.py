"""`launch.py event …`: say that something happened, and look at what was said."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from synergy.cli import options
from synergy.queries.schedules.event_effects import Effects, RecordedEvent

if TYPE_CHECKING:
    from synergy.cli.services import Services


DOUBTS = 10  # warnings about the events of a file
SHOWN = 20  # events of a file whose effects are waited for and told


def add(subparsers: Any) -> None:
    """Adds the noun to the parser."""
    verbs = options.noun(
        subparsers,
        "event",
        "events that schedules react to: emit, list",
        "launch.py event emit FILE /data/in/2026-11-21.csv",
    )
    emit = options.verb(
        verbs, "emit", run_emit, "say that something happened",
        """launch.py event emit FILE /data/in/2026-11-21.csv --at 2026-11-21T12:00:00Z
        launch.py event emit PARTITION visits --partitions 3 --id load-4711
        launch.py event emit --file EVENTS.jsonl""",
    )  # fmt: skip
    emit.add_argument("type", metavar="TYPE", nargs="?", help="FILE, TABLE, TIME_BASED, PARTITION")
    emit.add_argument("resource", metavar="RESOURCE", nargs="?", help="a path, or a name")
    emit.add_argument("--at", metavar="TIME", help="when it happened; default: now")
    emit.add_argument("--id", metavar="ID", help="an event whose id was seen before does nothing")
    emit.add_argument(
        "--partitions", metavar="N", type=options.positive, help="of a PARTITION; default: 1"
    )
    emit.add_argument("--file", metavar="FILE", help="one event a line, as JSON; - for stdin")
    options.json_option(emit)
    options.dry_run_option(emit)
    listing = options.verb(
        verbs, "list", run_list, "show events, newest first", "launch.py event list --limit 20"
    )
    listing.add_argument(
        "--limit", metavar="N", type=options.positive, default=50, help="default: 50"
    )
    listing.add_argument("--cursor", metavar="C", help="the next page, as the last one named it")
    options.json_option(listing)


def run_emit(arguments: argparse.Namespace) -> None:
    """Takes one event, or those of a file: all or none."""
    from synergy.cli import output
    from synergy.cli.services import actor, services
    from synergy.commands import events

    with services() as at:
        items = _items(arguments, at)
        taken = events.record_events(
            at.store, at.bus, items, actor(), at.now, dry_run=arguments.dry_run
        )
        effects = None
        if not arguments.dry_run and len(taken) <= SHOWN:
            effects = _effects(at, taken)
    _warn(taken)
    if arguments.json:
        output.print_json(
            {
                "events": [{**_plain(one), "new": one.is_new} for one in taken],
                "effects": effects,
                "dry_run": arguments.dry_run,
            }
        )
    else:
        _tell(arguments, taken, effects)


def _warn(taken: Sequence[RecordedEvent]) -> None:
    """Names what is taken, but probably not meant."""
    from synergy.cli import output
    from synergy.commands import events

    doubts = events.doubts([one.event for one in taken])
    for doubt in doubts[:DOUBTS]:
        output.note(f"warning: {doubt}")
    if len(doubts) > DOUBTS:
        output.note(f"warning: and {len(doubts) - DOUBTS:,} more of the same kind")


def _items(arguments: argparse.Namespace, at: Services) -> Sequence[Mapping[str, object]]:
    from synergy.errors import InvalidValue

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
            raise InvalidValue("either TYPE and RESOURCE, or --file: the file says the rest")
        return read_lines(arguments.file)
    if arguments.type is None or arguments.resource is None:
        raise InvalidValue("an event is TYPE and RESOURCE, or --file FILE")
    return [{"eventTimestamp": at.now.isoformat(), **given}]


def _effects(at: Services, taken: Sequence[RecordedEvent]) -> Effects:
    from synergy.queries.schedules.event_effects import effects
    from synergy.runtime.stop import Stop

    return effects(at.store, taken, Stop().wait)


def _plain(one: RecordedEvent) -> dict[str, object]:
    from dataclasses import asdict

    return asdict(one.event)


def _tell(
    arguments: argparse.Namespace, taken: Sequence[RecordedEvent], effects: Effects | None
) -> None:
    from synergy.cli import output

    new = sum(one.is_new for one in taken)
    verb = "would be taken" if arguments.dry_run else "taken"
    if len(taken) == 1:
        event = taken[0].event
        told = f"{event.type} {event.resource} {output.instant(event.timestamp)}"
        output.say(f"{verb}: {told}" if new else f"was there before, as {event.id}: {told}")
    elif new == len(taken):
        output.say(f"{new:,} {verb}")
    else:
        output.say(f"{new:,} of {len(taken):,} {verb}; the ids of the others were there before")
    if effects is None:
        return
    if not effects.schedules:
        output.say("no schedule listens to it that is enabled")
        return
    output.say(f"listening: {', '.join(effects.schedules)}")
    for run in effects.runs:
        output.say(f"run {run.id} of {run.schedule}: {run.state.value}")
    if not effects.is_decided:
        output.note("no agent has looked at it yet: launch.py box list shows whether one runs")
    elif not effects.runs:
        output.say("no run came of it yet: launch.py schedule show NAME says what is missing")


def run_list(arguments: argparse.Namespace) -> None:
    """A page of events."""
    from synergy.cli import output
    from synergy.cli.services import services

    with services() as at:
        events, following = at.store.events.find(arguments.limit, arguments.cursor)
    if arguments.json:
        output.print_json({"items": events, "next": following})
        return
    output.table(
        ["number", "type", "resource", "partitions", "happened", "taken", "by", "id"],
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
            for event in events
        ],
    )
    if following is not None:
        output.note(f"there are more: --cursor {following}")
