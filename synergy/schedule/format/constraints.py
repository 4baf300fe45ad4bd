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
from synergy.schedule.format.field_reader import MOMENT, FieldReader, Location, kind_of, reader_of
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


def read_constraints(part: FieldReader, zone: str, *, has_group: bool) -> tuple[Constraint, ...]:
    """The valid constraints of a definition in this zone, with or without a group."""
    value = part.get("constraints")
    spot = part.spot.at("constraints")
    if value is None:
        return ()
    if not isinstance(value, Sequence) or isinstance(value, str):
        spot.mistake(f"expected a list of mappings such as {{concurrency: 1}}, not {shown(value)}")
        return ()
    if len(value) > MOST_CONSTRAINTS:
        spot.mistake(f"{len(value)} of them: the most is {MOST_CONSTRAINTS}")
        return ()
    found = (_constraint(item, spot.item(n), zone) for n, item in enumerate(value, 1))
    constraints = tuple(one for one in found if one is not None)
    if not has_group and any(_is_of_group(one) for one in constraints):
        spot.mistake("a concurrency of scope group needs the schedule's group: group is missing")
    return constraints


def _is_of_group(constraint: Constraint) -> bool:
    return isinstance(constraint, Concurrency) and constraint.scope is Scope.GROUP


def _constraint(value: object, spot: Location, zone: str) -> Constraint | None:
    kind, body = kind_of(value, spot, "constraint", [*_KINDS, "time_window"])
    if not kind:
        return None
    inner = spot.at(kind)
    if kind == "time_window":
        return _time_window(body, inner, zone)
    return _KINDS[kind](body, inner)


def _concurrency(value: object, spot: Location) -> Concurrency:
    part = reader_of(value, spot, "n")
    part.required("n")
    found = Concurrency(
        part.integer("n", 1, 1, MOST_RUNS),
        part.choice("scope", Scope.PROGRAM),
        part.choice("when_unmet", WhenUnmet.ABORT),
    )
    part.done()
    return found


def _delay(value: object, spot: Location) -> Delay:
    part = reader_of(value, spot, "duration")
    part.required("duration")
    found = Delay(part.duration("duration", MOMENT))
    if part.choice("when_unmet", WhenUnmet.WAIT) is WhenUnmet.ABORT:
        part.mistake("when_unmet", "a delay cannot abort, it only waits")
    part.done()
    return found


def _since_last_run(value: object, spot: Location) -> SinceLastRun:
    part = reader_of(value, spot, "duration")
    part.required("duration")
    found = SinceLastRun(
        part.duration("duration", MOMENT), part.choice("when_unmet", WhenUnmet.ABORT)
    )
    part.done()
    return found


def _at_most(value: object, spot: Location) -> AtMost:
    part = reader_of(value, spot, like="{n: 3, per: hour}")
    part.required("n", "per")
    found = AtMost(
        part.integer("n", 1, 1, MOST_RUNS), _per(part), part.choice("when_unmet", WhenUnmet.WAIT)
    )
    part.done()
    return found


def _per(part: FieldReader) -> timedelta:
    """The length of the time in which launches are counted."""
    value = part.get("per")
    if isinstance(value, str) and value in _PER:
        return _PER[value]
    try:
        if value is None or literals.duration(value):
            return part.duration("per", MOMENT)
    except InvalidValue:
        pass
    part.mistake("per", f"expected {', '.join(_PER)} or a duration, not {shown(value)}")
    return MOMENT


def _load(value: object, spot: Location) -> Load:
    part = reader_of(value, spot, "max")
    part.required("max")
    found = Load(
        part.number("max", 0.0),
        part.choice("of", LoadOf.BOX),
        part.choice("when_unmet", WhenUnmet.WAIT),
    )
    part.done()
    return found


def _time_window(value: object, spot: Location, zone: str) -> TimeWindow:
    part = reader_of(value, spot, like='{start: "22:00", end: "06:00"}')
    part.required("start", "end")
    start, end = part.literal("start", literals.clock), part.literal("end", literals.clock)
    if start is not None and start == end:
        spot.mistake(f"start and end are both {start:%H:%M}: expected two times")
    found = TimeWindow(
        start or time(), end or time(), part.zone("zone", zone),
        part.choice("when_unmet", WhenUnmet.WAIT),
    )  # fmt: skip
    part.done()
    return found


_KINDS: dict[str, Callable[[object, Location], Constraint]] = {
    "concurrency": _concurrency,
    "delay": _delay,
    "since_last_run": _since_last_run,
    "at_most": _at_most,
    "load": _load,
}
