"""Reads a `Definition` from the fields of a schedule file, and finds every mistake at once.

`docs/schedule-files.md` is the reference of the format. `write` gives its one canonical form:
`read(write(definition), known) == definition`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from synergy.schedule import request_template
from synergy.schedule.check_context import InvalidDefinition, Known
from synergy.schedule.definition import (
    CatchUp,
    Constraint,
    Definition,
    DeliveryProgram,
    FirstRun,
    Load,
    LoadOf,
    Once,
    PeriodFinished,
    Program,
    ProgramEnded,
    TimeoutPolicy,
    Times,
    Trigger,
    WorkerProgram,
    leaves,
)
from synergy.schedule.format import literals
from synergy.schedule.format.constraints import read_constraints
from synergy.schedule.format.field_reader import FieldReader, Location
from synergy.schedule.format.limits import (
    MOST_FAILURES,
    MOST_RUNS,
    delayed,
    read_end,
    read_exclude,
    read_jitter,
    read_most,
    read_overlap,
)
from synergy.schedule.format.literals import shown
from synergy.schedule.format.programs import read_program
from synergy.schedule.format.triggers import read_trigger
from synergy.schedule.format.write import write
from synergy.schedule.interval import CalendarInterval, Jitter
from synergy.schedule.progress.event_keys import keys

LONGEST_WORD = 256  # characters of `external_id` and `by`
MOST_CAUGHT_UP = 10_000
HIGHEST_PRIORITY = 1_000_000

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", re.ASCII)
_DAY = timedelta(hours=24)
_FIVE_MINUTES = timedelta(minutes=5)


def read(data: Mapping[str, object], known: Known) -> Definition:
    """The definition in these fields; raises InvalidDefinition with all mistakes in them."""
    mistakes: list[str] = []
    if not isinstance(data, Mapping):
        raise InvalidDefinition([f"expected a mapping of fields, not {shown(data)}"])
    definition = _read(FieldReader(Location(mistakes.append), data), known)
    if mistakes or definition is None:
        raise InvalidDefinition(mistakes)
    return definition if definition.name else replace(definition, name=_generated_name(definition))


def read_enabled(data: Mapping[str, object]) -> bool | None:
    """The field `enabled`; None if it is missing or invalid."""
    value = data.get("enabled") if isinstance(data, Mapping) else None
    return value if isinstance(value, bool) else None


def warnings(definition: Definition) -> list[str]:
    """Warnings about parts that are valid but probably not intended."""
    return [
        *_about_template(definition),
        *_about_loops(definition),
        *_about_first_run(definition),
        *_about_months(definition),
        *_about_coalescing(definition),
    ]


def _read(fields: FieldReader, known: Known) -> Definition | None:
    program, trigger = read_program(fields, known), read_trigger(fields, known)
    group, zone = fields.text("group", most=100), fields.zone("zone", "UTC")
    constraints = read_constraints(fields, zone, has_group=bool(group))
    _check_queue(constraints, program, fields)
    name = _name(fields, trigger)
    jitter = read_jitter(fields, trigger)
    if trigger is not None and jitter:
        trigger = delayed(trigger, Jitter(jitter, name))
    start = fields.literal("from", literals.instant)
    definition = Definition(
        name=name,
        program=program or WorkerProgram(""),
        trigger=trigger or PeriodFinished(""),
        constraints=constraints,
        timeout=fields.duration("timeout", _DAY),
        timeout_policy=fields.choice("timeout_policy", TimeoutPolicy.DISCARD),
        priority=fields.integer("priority", 0, -HIGHEST_PRIORITY, HIGHEST_PRIORITY),
        group=group,
        properties=fields.text_mapping("properties"),
        zone=zone,
        template_zone=fields.zone("template_zone", "America/Los_Angeles"),
        catchup=fields.choice("catchup", CatchUp.ALL),
        catchup_max=fields.integer("catchup_max", 60, 1, MOST_CAUGHT_UP),
        first_run=fields.choice("first_run", FirstRun.ON_SCHEDULE),
        start=start,
        end=read_end(fields, start),
        max_runs=read_most(fields, "max_runs", MOST_RUNS),
        jitter=jitter,
        exclude=read_exclude(fields, trigger),
        overlap=read_overlap(fields),
        coalesce=fields.flag("coalesce", default=False),
        pause_after_failures=read_most(fields, "pause_after_failures", MOST_FAILURES),
        budget=fields.duration("budget", _FIVE_MINUTES),
        external_id=fields.text("external_id", most=LONGEST_WORD),
        by=fields.text("by", most=LONGEST_WORD),
    )
    fields.flag("enabled", default=False)
    fields.done()
    return definition if program is not None and trigger is not None else None


def _name(fields: FieldReader, trigger: Trigger | None) -> str:
    """The name; "" for a one-off job without one."""
    names = [name for name in ("name", "schedule_name") if fields.has(name)]
    if len(names) == 2 and fields.get("name") != fields.get("schedule_name"):
        fields.mistake("schedule_name", "it means the same as name, but their values differ")
    if not names:
        if not isinstance(trigger, Once) and not fields.has("when"):
            fields.location.mistake("name is missing: only a one-off job can do without")
        return ""
    name = fields.text(names[0], most=1000)
    if name and not _NAME.fullmatch(name):
        fields.mistake(
            names[0],
            f"{shown(name)}: expected letters, digits and . _ - only, at most 100, the first of "
            "them a letter or digit",
        )
    return name


def _generated_name(definition: Definition) -> str:
    """A name for a one-off job: the same job always has the same name, so it is stored once."""
    text = json.dumps(write(definition), sort_keys=True)
    digest = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    assert isinstance(definition.trigger, Once)
    return f"once-{definition.trigger.at:%Y%m%dT%H%M%SZ}-{digest}"


def _check_queue(
    constraints: tuple[Constraint, ...], program: Program | None, fields: FieldReader
) -> None:
    if not isinstance(program, DeliveryProgram):
        return
    for one in constraints:
        if isinstance(one, Load) and one.of is LoadOf.QUEUE:
            fields.mistake("constraints", "load of queue: a target has no queue here, use box")


def _about_template(definition: Definition) -> list[str]:
    if not isinstance(definition.program, DeliveryProgram):
        return []
    text = definition.program.payload
    found = [
        f"payload: ${{{name:.60}}} is unknown and stays as it is"
        for name in request_template.unknown(text, request_template.NAMES)
    ]
    kinds = {type(leaf) for _, leaf in leaves(definition.trigger)}
    if kinds.isdisjoint({PeriodFinished, ProgramEnded}):
        others = [
            name for name in request_template.NAMES if name not in request_template.OF_PERIODS
        ]
        found += [
            f"payload: ${{{name}}} stays as it is: no timetable or program triggers this schedule"
            for name in request_template.unknown(text, others)
            if name in request_template.OF_PERIODS
        ]
    return found


def _about_loops(definition: Definition) -> list[str]:
    if not isinstance(definition.program, WorkerProgram):
        return []
    own = definition.program.process
    return [
        f"trigger: each run of {own} triggers the next one, without end"
        for _, leaf in leaves(definition.trigger)
        if isinstance(leaf, ProgramEnded) and leaf.process == own
    ]


def _about_first_run(definition: Definition) -> list[str]:
    is_twice = definition.first_run is FirstRun.IMMEDIATELY and isinstance(definition.trigger, Once)
    return ["first_run: a one-off job runs immediately, and again when it is due"] * is_twice


def _about_months(definition: Definition) -> list[str]:
    times = [leaf.trigger for _, leaf in leaves(definition.trigger) if isinstance(leaf, Times)]
    return [
        f"trigger: months without a day {trigger.start.day} are left out; "
        "`day: last` means the last day of each"
        for trigger in times
        if isinstance(trigger, CalendarInterval) and trigger.leaves_out_months
    ]


def _about_coalescing(definition: Definition) -> list[str]:
    has_events = bool(keys(definition.trigger))
    return ["coalesce: no event triggers this schedule"] * (definition.coalesce and not has_events)
