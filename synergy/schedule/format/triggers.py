"""Reads the triggers of a definition."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial

from synergy.errors import InvalidValue
from synergy.schedule import trigger
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
    MOMENT,
    NO_TIME,
    FieldReader,
    Location,
    kind_of,
    reader_of,
)
from synergy.schedule.format.intervals import read_calendar_interval, read_interval
from synergy.schedule.format.literals import shown, shown_clock, suggestion
from synergy.schedule.known import Known

DEEPEST = 8
MOST_LEGS = 100
MOST_PARTITIONS = 10**9
LONGEST_RESOURCE = 2048  # characters
LONGEST_TEXT = 1000  # of a time trigger

_SHORTEST_ELAPSED = timedelta(seconds=1)
_FORMS = ("trigger", "cron", "when", "dependencies")
_TYPES = {
    **{member.value: member for member in EventType},
    "TIME_BASED": EventType.TIME_BASED,
    "TIME_BASED_CRON": EventType.TIME_BASED,
}


def read_trigger(part: FieldReader, known: Known) -> Trigger | None:
    """The trigger of a definition, in whichever form it was given; None if it is invalid."""
    given = [name for name in _FORMS if part.has(name)]
    if not given:
        part.spot.mistake("trigger is missing: expected trigger, cron, when or dependencies")
        return None
    if len(given) > 1:
        part.spot.mistake(f"expected one of {', '.join(_FORMS)}, not {' and '.join(given)}")
        return None
    (name,) = given
    value, spot = part.get(name), part.spot.at(name)
    triggers = _Triggers(known, seed=str(part.get("name") or part.get("schedule_name") or ""))
    match name:
        case "trigger":
            return triggers.any_kind(value, spot, 0)
        case "cron":
            return triggers.cron(value, spot)
        case "when":
            return _once(value, spot)
        case _:
            return triggers.dependencies(value, spot)


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

    def any_kind(self, value: object, spot: Location, depth: int) -> Trigger | None:
        """A text, or a mapping of one key, at so many levels below the top."""
        if isinstance(value, str):
            return _times(value, spot)
        kind, body = kind_of(value, spot, "trigger", [*self._kinds, "all_of", "any_of"])
        if kind in ("all_of", "any_of"):
            legs = self._read_legs(body, spot.at(kind), depth + 1)
            if legs is None:
                return None
            return AllOf(legs) if kind == "all_of" else AnyOf(legs)
        return self._kinds[kind](body, spot.at(kind)) if kind else None

    def cron(self, value: object, spot: Location) -> Trigger | None:
        """One cron line, or several of which each is due; the same one twice counts once."""
        if isinstance(value, str) or not isinstance(value, Sequence):
            return _cron_line(value, spot)
        if not self._is_count_fine(len(value), spot):
            return None
        lines = [_cron_line(line, spot.item(number)) for number, line in enumerate(value, 1)]
        legs = tuple(dict.fromkeys(line for line in lines if line is not None))
        return legs[0] if len(legs) == 1 else AnyOf(legs)

    def dependencies(self, value: object, spot: Location) -> Trigger | None:
        """Events with lifetimes that have all to be alive (semantics, part F)."""
        items = value if isinstance(value, Sequence) and not isinstance(value, str) else None
        if items is None:
            spot.mistake(
                f"expected a list of {{type, resourceId, lifeDuration}}, not {shown(value)}"
            )
        if items is None or not self._is_count_fine(len(items), spot):
            return None
        legs = []
        for number, item in enumerate(items, 1):
            part = reader_of(item, spot.item(number))
            legs.append(_happened(part, "resourceId", "lifeDuration"))
        return AllOf(tuple(leg for leg in legs if leg is not None))

    def _read_legs(self, value: object, spot: Location, depth: int) -> tuple[Trigger, ...] | None:
        if depth > DEEPEST:
            spot.mistake(f"nested too deeply: at most {DEEPEST} levels of all_of and any_of")
            return None
        if not isinstance(value, Sequence) or isinstance(value, str):
            spot.mistake(f"expected a list of triggers, not {shown(value)}")
            return None
        leaves = sum(not _is_composite(leg) for leg in value)
        if not self._is_count_fine(leaves, spot, may_be_none=bool(value)):
            return None
        legs = [self.any_kind(leg, spot.item(number), depth) for number, leg in enumerate(value, 1)]
        return tuple(leg for leg in legs if leg is not None)

    def _is_count_fine(self, more: int, spot: Location, *, may_be_none: bool = False) -> bool:
        """Whether there are legs, and with `more` of them not too many in all; notes it if not."""
        was_fine = self._legs <= MOST_LEGS
        self._legs += more
        if not more and not may_be_none:
            spot.mistake("there is nothing in it: expected at least one")
        elif self._legs > MOST_LEGS:
            if was_fine:
                spot.mistake(f"too many: a trigger has at most {MOST_LEGS} legs in all")
        else:
            return True
        return False

    def _program(self, value: object, spot: Location) -> ProgramEnded:
        part = reader_of(value, spot, "process")
        part.required("process")
        statuses = part.texts("statuses", ("processed",))
        found = ProgramEnded(part.text("process"), tuple(dict.fromkeys(statuses)))
        self._known.check_ended(found.process, found.statuses, spot)
        part.done()
        return found

    def _timetable(self, value: object, spot: Location) -> PeriodFinished:
        part = reader_of(value, spot, "process")
        part.required("process")
        statuses = part.texts("statuses", ("processed",))
        generations = part.choice("generations", Generations.ALL)
        found = PeriodFinished(part.text("process"), tuple(dict.fromkeys(statuses)), generations)
        self._known.check_managed(found.process, found.statuses, spot)
        part.done()
        return found


def _is_composite(leg: object) -> bool:
    return isinstance(leg, Mapping) and not {"all_of", "any_of"}.isdisjoint(leg)


def _times(text: str, spot: Location) -> Times | None:
    if len(text) > LONGEST_TEXT:
        spot.mistake(f"{len(text):,} characters: the most is {LONGEST_TEXT:,}")
        return None
    try:
        return Times(trigger.parse(text))
    except InvalidValue as error:
        spot.mistake(str(error).removeprefix("trigger "))
        return None


def _cron_line(value: object, spot: Location) -> Times | None:
    if isinstance(value, str):
        return _times(f"cron {value}", spot)
    spot.mistake(f"expected a cron line such as '0 2 * * *' in quotes, not {shown(value)}")
    return None


def _every(value: object, spot: Location) -> Times | None:
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return _times(f"every {value}", spot)
    spot.mistake(f"expected a number of whole seconds, not {shown(value)}")
    return None


def _at(value: object, spot: Location) -> Times | None:
    if isinstance(value, str):
        return _times(f"at {value}", spot)
    spot.mistake(f"expected times such as '02:30' or '5-18:00, 12:00', not {shown_clock(value)}")
    return None


def _once(value: object, spot: Location) -> Once | None:
    try:
        return Once(literals.instant(value))
    except InvalidValue as error:
        spot.mistake(str(error))
        return None


def _elapsed(value: object, spot: Location) -> Elapsed:
    part = reader_of(value, spot, "duration")
    part.required("duration")
    found = Elapsed(part.duration("duration", MOMENT, least=_SHORTEST_ELAPSED))
    part.done()
    return found


def _partition(value: object, spot: Location) -> Partition:
    part = reader_of(value, spot, "dataset")
    part.required("dataset")
    dataset = part.text("dataset", most=LONGEST_RESOURCE)
    found = Partition(dataset, part.integer("n", 1, 1, MOST_PARTITIONS))
    part.done()
    return found


def _event(value: object, spot: Location) -> EventTrigger | None:
    return _happened(reader_of(value, spot), "resource", "life")


def _happened(part: FieldReader, resource: str, life: str) -> EventTrigger | None:
    """An event with a lifetime, whose fields go by these names."""
    part.required("type", resource, life)
    kind = _event_type(part)
    name = part.text(resource, most=LONGEST_RESOURCE)
    lasts = part.duration(life, NO_TIME, least=NO_TIME)
    part.done()
    if kind is None:
        return None
    if kind is EventType.FILE:
        name = name.rstrip("/") or "/"  # a folder is the same with and without it
    return EventTrigger(kind, name, lasts)


def _event_type(part: FieldReader) -> EventType | None:
    value = part.get("type")
    if value is None:
        return None
    found = _TYPES.get(value) if isinstance(value, str) else None
    if found is None:
        expected = suggestion(str(value), [member.value for member in EventType])
        part.mistake("type", f"unknown type of events {shown(value)}: {expected}")
    return found
