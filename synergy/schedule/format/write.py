"""Writes definitions as mappings, which are stored and shown, and which `read` reads.

The form is canonical: equal definitions are written alike, whatever they were read from, and
fields with their defaults are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import date, datetime, timedelta
from enum import Enum
from typing import assert_never

from synergy.schedule.definition import (
    AllOf,
    AnyOf,
    AtMost,
    Concurrency,
    Constraint,
    Definition,
    Delay,
    DeliveryProgram,
    Elapsed,
    EventTrigger,
    Load,
    Once,
    Partition,
    PeriodFinished,
    Program,
    ProgramEnded,
    SinceLastRun,
    Times,
    TimeWindow,
    Trigger,
    WorkerProgram,
)
from synergy.schedule.format.literals import spelled_duration, spelled_instant
from synergy.schedule.format.programs import StoredDelivery
from synergy.schedule.interval import CalendarInterval, Interval, TimeTrigger

_BARE = Definition(name="", program=WorkerProgram(""), trigger=PeriodFinished(""))
_REQUIRED = ("name", "program", "trigger", "constraints")  # written apart from the others
OPTIONAL = {
    field.name: "from" if field.name == "start" else field.name
    for field in fields(Definition)
    if field.name not in _REQUIRED
}
"""The fields that are left out if they have their defaults, and their names in a file."""


def write(definition: Definition) -> dict[str, object]:
    """The definition as a mapping of plain JSON values."""
    written = {
        "name": definition.name,
        **_program(definition.program),
        "trigger": _trigger(definition.trigger),
    }
    if definition.constraints:
        written["constraints"] = [_constraint(one) for one in definition.constraints]
    for field, name in OPTIONAL.items():
        value = getattr(definition, field)
        if value != getattr(_BARE, field):
            written[name] = _plain(value)
    return written


def _plain(value: object) -> object:
    match value:
        case Enum():
            return value.value
        case timedelta():
            return spelled_duration(value)
        case datetime():
            return spelled_instant(value)
        case date():
            return value.isoformat()
        case Mapping():
            return {name: _plain(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_plain(inner) for inner in value]
        case _:
            return value


def _program(program: Program) -> dict[str, object]:
    match program:
        case WorkerProgram():
            written: dict[str, object] = {"process": program.process}
            if program.arguments:
                written["arguments"] = _plain(program.arguments)
            return written
        case DeliveryProgram():
            written = {"target": program.target}
            if isinstance(program, StoredDelivery):
                written["payload"] = {"stored": program.stored}
            elif program.payload:
                written["payload"] = program.payload
            if program.content_type != "application/json":
                written["content_type"] = program.content_type
            if program.headers:
                written["headers"] = dict(program.headers)
            if program.signing_secret:
                written["signing_secret"] = program.signing_secret
            return written
        case _:
            assert_never(program)


def _trigger(trigger: Trigger) -> object:
    match trigger:
        case Times():
            return _times(trigger.trigger)
        case Once():
            return {"once": spelled_instant(trigger.at)}
        case Elapsed():
            return {"elapsed": spelled_duration(trigger.duration)}
        case Partition():
            return {"partition": {"dataset": trigger.dataset, "n": trigger.n}}
        case ProgramEnded():
            return {"program": {"process": trigger.process, "statuses": list(trigger.statuses)}}
        case PeriodFinished():
            return {"timetable": _periods(trigger)}
        case EventTrigger():
            life = spelled_duration(trigger.life)
            kind = trigger.type.value
            return {"event": {"type": kind, "resource": trigger.resource, "life": life}}
        case AllOf() | AnyOf():
            kind = "all_of" if isinstance(trigger, AllOf) else "any_of"
            return {kind: [_trigger(leg) for leg in trigger.legs]}
        case _:
            assert_never(trigger)


def _times(trigger: TimeTrigger) -> object:
    match trigger:
        case Interval():
            return {"interval": trigger.fields}
        case CalendarInterval():
            return {"calendar_interval": trigger.fields}
        case _:
            return str(trigger)


def _periods(trigger: PeriodFinished) -> dict[str, object]:
    usual = PeriodFinished(trigger.process)
    written: dict[str, object] = {"process": trigger.process}
    if trigger.statuses != usual.statuses:
        written["statuses"] = list(trigger.statuses)
    if trigger.generations is not usual.generations:
        written["generations"] = trigger.generations.value
    return written


def _constraint(constraint: Constraint) -> dict[str, object]:
    if isinstance(constraint, Delay):
        return {"delay": spelled_duration(constraint.duration)}
    kind, body = _kind_and_body(constraint)
    return {kind: {**body, "when_unmet": constraint.when_unmet.value}}


def _kind_and_body(
    constraint: Concurrency | TimeWindow | SinceLastRun | AtMost | Load,
) -> tuple[str, dict[str, object]]:
    match constraint:
        case Concurrency(n, scope):
            return "concurrency", {"n": n, "scope": scope.value}
        case TimeWindow(start, end, zone):
            return "time_window", {"start": f"{start:%H:%M}", "end": f"{end:%H:%M}", "zone": zone}
        case SinceLastRun(duration):
            return "since_last_run", {"duration": spelled_duration(duration)}
        case AtMost(n, per):
            return "at_most", {"n": n, "per": spelled_duration(per)}
        case Load(maximum, of):
            return "load", {"max": maximum, "of": of.value}
        case _:
            assert_never(constraint)
