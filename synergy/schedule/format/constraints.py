"""Reads the run constraints of a definition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import time, timedelta

from synergy.errors import InvalidValue
from synergy.schedule.definition import (
    AtMost,
    Concurrency,
    Constraint,
    Delay,
    Load,
    LoadOf,
    Scope,
    SinceLastRun,
    TimeWindow,
    WhenUnmet,
)
from synergy.schedule.format import literals
from synergy.schedule.format.field_reader import SHORTEST, FieldReader, Location, kind_of, reader_of
from synergy.schedule.format.literals import shown

MOST_CONSTRAINTS = 50
MOST_RUNS = 1_000_000

_PER = {
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(days=7),
}


def read_constraints(fields: FieldReader, zone: str, *, has_group: bool) -> tuple[Constraint, ...]:
    """The valid constraints of a definition, which has this `zone`, and perhaps a group."""
    value = fields.get("constraints")
    location = fields.location.at("constraints")
    if value is None:
        return ()
    if not isinstance(value, Sequence) or isinstance(value, str):
        location.mistake(
            f"expected a list of mappings such as {{concurrency: 1}}, not {shown(value)}"
        )
        return ()
    if len(value) > MOST_CONSTRAINTS:
        location.mistake(f"{len(value)} of them: the most is {MOST_CONSTRAINTS}")
        return ()
    found = (_constraint(item, location.item(n), zone) for n, item in enumerate(value, 1))
    constraints = tuple(one for one in found if one is not None)
    if not has_group and any(_is_of_group(one) for one in constraints):
        location.mistake(
            "a concurrency of scope group needs the schedule's group: group is missing"
        )
    return constraints


def _is_of_group(constraint: Constraint) -> bool:
    return isinstance(constraint, Concurrency) and constraint.scope is Scope.GROUP


def _constraint(value: object, location: Location, zone: str) -> Constraint | None:
    kind, body = kind_of(value, location, "constraint", [*_KINDS, "time_window"])
    if not kind:
        return None
    inner = location.at(kind)
    if kind == "time_window":
        return _time_window(body, inner, zone)
    return _KINDS[kind](body, inner)


def _concurrency(value: object, location: Location) -> Concurrency:
    fields = reader_of(value, location, "n")
    fields.required("n")
    found = Concurrency(
        fields.integer("n", 1, 1, MOST_RUNS),
        fields.choice("scope", Scope.PROGRAM),
        fields.choice("when_unmet", WhenUnmet.ABORT),
    )
    fields.done()
    return found


def _delay(value: object, location: Location) -> Delay:
    fields = reader_of(value, location, "duration")
    fields.required("duration")
    found = Delay(fields.duration("duration", SHORTEST))
    if fields.choice("when_unmet", WhenUnmet.WAIT) is WhenUnmet.ABORT:
        fields.mistake("when_unmet", "a delay cannot abort, it only waits")
    fields.done()
    return found


def _since_last_run(value: object, location: Location) -> SinceLastRun:
    fields = reader_of(value, location, "duration")
    fields.required("duration")
    found = SinceLastRun(
        fields.duration("duration", SHORTEST), fields.choice("when_unmet", WhenUnmet.ABORT)
    )
    fields.done()
    return found


def _at_most(value: object, location: Location) -> AtMost:
    fields = reader_of(value, location, like="{n: 3, per: hour}")
    fields.required("n", "per")
    found = AtMost(
        fields.integer("n", 1, 1, MOST_RUNS),
        _per(fields),
        fields.choice("when_unmet", WhenUnmet.WAIT),
    )
    fields.done()
    return found


def _per(fields: FieldReader) -> timedelta:
    """The length of the time in which launches are counted."""
    value = fields.get("per")
    if isinstance(value, str) and value in _PER:
        return _PER[value]
    try:
        if value is None or literals.duration(value):
            return fields.duration("per", SHORTEST)
    except InvalidValue:
        pass
    fields.mistake("per", f"expected {', '.join(_PER)} or a duration, not {shown(value)}")
    return SHORTEST


def _load(value: object, location: Location) -> Load:
    fields = reader_of(value, location, "max")
    fields.required("max")
    found = Load(
        fields.number("max", 0.0),
        fields.choice("of", LoadOf.BOX),
        fields.choice("when_unmet", WhenUnmet.WAIT),
    )
    fields.done()
    return found


def _time_window(value: object, location: Location, zone: str) -> TimeWindow:
    fields = reader_of(value, location, like='{start: "22:00", end: "06:00"}')
    fields.required("start", "end")
    start, end = fields.literal("start", literals.clock), fields.literal("end", literals.clock)
    if start is not None and start == end:
        location.mistake(f"start and end are both {start:%H:%M}: expected two times")
    found = TimeWindow(
        start=start or time(),
        end=end or time(),
        zone=fields.zone("zone", zone),
        when_unmet=fields.choice("when_unmet", WhenUnmet.WAIT),
    )
    fields.done()
    return found


_KINDS: dict[str, Callable[[object, Location], Constraint]] = {
    "concurrency": _concurrency,
    "delay": _delay,
    "since_last_run": _since_last_run,
    "at_most": _at_most,
    "load": _load,
}
