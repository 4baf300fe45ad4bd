"""Reads the triggers of a definition."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial

from synergy.errors import InvalidValue
from synergy.schedule import trigger
from synergy.schedule.check_context import Known
from synergy.schedule.definition import (
    AllOf,
    AnyOf,
    Elapsed,
    EventTrigger,
    EventType,
    Generations,
    Once,
    Partition,
    PeriodFinished,
    ProgramEnded,
    Times,
    Trigger,
)
from synergy.schedule.format import literals
from synergy.schedule.format.field_reader import (
    NO_TIME,
    SHORTEST,
    FieldReader,
    Location,
    kind_of,
    reader_of,
)
from synergy.schedule.format.intervals import read_calendar_interval, read_interval
from synergy.schedule.format.literals import shown, shown_clock, suggestion

DEEPEST = 8
MOST_LEGS = 100
MOST_PARTITIONS = 10**9
LONGEST_RESOURCE = 2048  # characters
LONGEST_TEXT = 1000  # characters of a trigger that is one text, such as a cron line

_SHORTEST_ELAPSED = timedelta(seconds=1)
_FORMS = ("trigger", "cron", "when", "dependencies")
_TYPES = {
    **{member.value: member for member in EventType},
    "TIME_BASED": EventType.TIME_BASED,
    "TIME_BASED_CRON": EventType.TIME_BASED,
}


def read_trigger(fields: FieldReader, known: Known) -> Trigger | None:
    """The trigger of a definition, in whichever form it was given; None if it is invalid."""
    given = [name for name in _FORMS if fields.has(name)]
    if not given:
        fields.location.mistake("trigger is missing: expected trigger, cron, when or dependencies")
        return None
    if len(given) > 1:
        fields.location.mistake(f"expected one of {', '.join(_FORMS)}, not {' and '.join(given)}")
        return None
    (name,) = given
    value, location = fields.get(name), fields.location.at(name)
    triggers = _Triggers(known, seed=str(fields.get("name") or fields.get("schedule_name") or ""))
    match name:
        case "trigger":
            return triggers.any_kind(value, location, 0)
        case "cron":
            return triggers.cron(value, location)
        case "when":
            return _once(value, location)
        case _:
            return triggers.dependencies(value, location)


class _Triggers:
    """Reads the triggers of one definition, and counts their legs; `seed` is its name."""

    def __init__(self, known: Known, seed: str) -> None:
        self._known = known
        self._legs = 0
        self._kinds: dict[str, Callable[[object, Location], Trigger | None]] = {
            "cron": self.cron,
            "every": _every,
            "at": _at,
            "interval": partial(read_interval, seed=seed),
            "calendar_interval": partial(read_calendar_interval, seed=seed),
            "once": _once,
            "elapsed": _elapsed,
            "partition": _partition,
            "program": self._program,
            "timetable": self._timetable,
            "event": _event,
        }

    def any_kind(self, value: object, location: Location, depth: int) -> Trigger | None:
        """Reads a text, or a mapping of one key, `depth` composite triggers below the top."""
        if isinstance(value, str):
            return _times(value, location)
        kind, body = kind_of(value, location, "trigger", [*self._kinds, "all_of", "any_of"])
        if kind in ("all_of", "any_of"):
            legs = self._read_legs(body, location.at(kind), depth + 1)
            if legs is None:
                return None
            return AllOf(legs) if kind == "all_of" else AnyOf(legs)
        return self._kinds[kind](body, location.at(kind)) if kind else None

    def cron(self, value: object, location: Location) -> Trigger | None:
        """Reads one cron line, or several; a repeated line counts once."""
        if isinstance(value, str) or not isinstance(value, Sequence):
            return _cron_line(value, location)
        if not self._is_count_fine(len(value), location):
            return None
        lines = [_cron_line(line, location.item(number)) for number, line in enumerate(value, 1)]
        legs = tuple(dict.fromkeys(line for line in lines if line is not None))
        return legs[0] if len(legs) == 1 else AnyOf(legs)

    def dependencies(self, value: object, location: Location) -> Trigger | None:
        """Reads events with lifetimes that must all be alive."""
        items = value if isinstance(value, Sequence) and not isinstance(value, str) else None
        if items is None:
            location.mistake(
                f"expected a list of {{type, resourceId, lifeDuration}}, not {shown(value)}"
            )
        if items is None or not self._is_count_fine(len(items), location):
            return None
        legs = []
        for number, item in enumerate(items, 1):
            fields = reader_of(item, location.item(number))
            legs.append(_event_trigger(fields, "resourceId", "lifeDuration"))
        return AllOf(tuple(leg for leg in legs if leg is not None))

    def _read_legs(
        self, value: object, location: Location, depth: int
    ) -> tuple[Trigger, ...] | None:
        if depth > DEEPEST:
            location.mistake(f"nested too deeply: at most {DEEPEST} levels of all_of and any_of")
            return None
        if not isinstance(value, Sequence) or isinstance(value, str):
            location.mistake(f"expected a list of triggers, not {shown(value)}")
            return None
        leaves = sum(not _is_composite(leg) for leg in value)
        if not self._is_count_fine(leaves, location, may_be_none=bool(value)):
            return None
        legs = [
            self.any_kind(leg, location.item(number), depth) for number, leg in enumerate(value, 1)
        ]
        return tuple(leg for leg in legs if leg is not None)

    def _is_count_fine(self, more: int, location: Location, *, may_be_none: bool = False) -> bool:
        """Whether `more` legs are allowed: at least one, and not too many; records mistakes."""
        was_fine = self._legs <= MOST_LEGS
        self._legs += more
        if not more and not may_be_none:
            location.mistake("there is nothing in it: expected at least one")
        elif self._legs > MOST_LEGS:
            if was_fine:
                location.mistake(f"too many: a trigger has at most {MOST_LEGS} legs in all")
        else:
            return True
        return False

    def _program(self, value: object, location: Location) -> ProgramEnded:
        fields = reader_of(value, location, "process")
        fields.required("process")
        statuses = fields.texts("statuses", ("processed",))
        found = ProgramEnded(fields.text("process"), tuple(dict.fromkeys(statuses)))
        self._known.check_ended(found.process, found.statuses, location)
        fields.done()
        return found

    def _timetable(self, value: object, location: Location) -> PeriodFinished:
        fields = reader_of(value, location, "process")
        fields.required("process")
        statuses = fields.texts("statuses", ("processed",))
        generations = fields.choice("generations", Generations.ALL)
        found = PeriodFinished(fields.text("process"), tuple(dict.fromkeys(statuses)), generations)
        self._known.check_managed(found.process, found.statuses, location)
        fields.done()
        return found


def _is_composite(leg: object) -> bool:
    return isinstance(leg, Mapping) and not {"all_of", "any_of"}.isdisjoint(leg)


def _times(text: str, location: Location) -> Times | None:
    if len(text) > LONGEST_TEXT:
        location.mistake(f"{len(text):,} characters: the most is {LONGEST_TEXT:,}")
        return None
    try:
        return Times(trigger.parse(text))
    except InvalidValue as error:
        location.mistake(str(error).removeprefix("trigger "))
        return None


def _cron_line(value: object, location: Location) -> Times | None:
    if isinstance(value, str):
        return _times(f"cron {value}", location)
    location.mistake(f"expected a cron line such as '0 2 * * *' in quotes, not {shown(value)}")
    return None


def _every(value: object, location: Location) -> Times | None:
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return _times(f"every {value}", location)
    location.mistake(f"expected a number of whole seconds, not {shown(value)}")
    return None


def _at(value: object, location: Location) -> Times | None:
    if isinstance(value, str):
        return _times(f"at {value}", location)
    location.mistake(
        f"expected times such as '02:30' or '5-18:00, 12:00', not {shown_clock(value)}"
    )
    return None


def _once(value: object, location: Location) -> Once | None:
    try:
        return Once(literals.instant(value))
    except InvalidValue as error:
        location.mistake(str(error))
        return None


def _elapsed(value: object, location: Location) -> Elapsed:
    fields = reader_of(value, location, "duration")
    fields.required("duration")
    found = Elapsed(fields.duration("duration", SHORTEST, least=_SHORTEST_ELAPSED))
    fields.done()
    return found


def _partition(value: object, location: Location) -> Partition:
    fields = reader_of(value, location, "dataset")
    fields.required("dataset")
    dataset = fields.text("dataset", most=LONGEST_RESOURCE)
    found = Partition(dataset, fields.integer("n", 1, 1, MOST_PARTITIONS))
    fields.done()
    return found


def _event(value: object, location: Location) -> EventTrigger | None:
    return _event_trigger(reader_of(value, location), "resource", "life")


def _event_trigger(fields: FieldReader, resource: str, life: str) -> EventTrigger | None:
    """An event with a lifetime; its fields have these names."""
    fields.required("type", resource, life)
    kind = _event_type(fields)
    name = fields.text(resource, most=LONGEST_RESOURCE)
    lasts = fields.duration(life, NO_TIME, least=NO_TIME)
    fields.done()
    if kind is None:
        return None
    if kind is EventType.FILE:
        name = name.rstrip("/") or "/"  # a folder is the same with and without the slash
    return EventTrigger(kind, name, lasts)


def _event_type(fields: FieldReader) -> EventType | None:
    value = fields.get("type")
    if value is None:
        return None
    found = _TYPES.get(value) if isinstance(value, str) else None
    if found is None:
        expected = suggestion(str(value), [member.value for member in EventType])
        fields.mistake("type", f"unknown type of events {shown(value)}: {expected}")
    return found
