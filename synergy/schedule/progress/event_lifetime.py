"""Dependencies on events with a lifetime: semantics, part F, rules 1 to 6.

A schedule whose leaves are all `EventTrigger`, alone or under `all_of`, follows exactly these
rules. In other triggers an `EventTrigger` leg follows those of matching, keeping and being alive
(rules 2, 4 and 5), judged at the instant of the decision: an arriving event's timestamp, or a due
time. Rule 3, about the last execution, does not apply there: in `any_of` an event must be able to
run the schedule whatever ran it last.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from synergy.schedule.definition import AllOf, EventTrigger, EventType, Trigger
from synergy.schedule.progress.state import Met, Occurrence


def keeps_the_rules(trigger: Trigger) -> bool:
    """Whether all of a trigger is dependencies with a lifetime, alone or under `all_of`."""
    if isinstance(trigger, AllOf):
        return all(keeps_the_rules(leg) for leg in trigger.legs)
    return isinstance(trigger, EventTrigger)


def event_keys(event_type: str, resource: str) -> tuple[str, ...]:
    """The keys that an arriving event is looked up by.

    Those of a file are its path and all folders above it (rule 2), the nearest first.
    """
    if event_type == EventType.FILE.value:
        return tuple(f"FILE|{path}" for path in _and_above(resource))
    return (f"{event_type}|{resource}",)


def listening_key(dependency: EventTrigger) -> str:
    """The key by which arriving events find a dependency."""
    if dependency.type is EventType.FILE:
        return f"FILE|{dependency.resource.rstrip('/')}"
    return f"{dependency.type.value}|{dependency.resource}"


def _and_above(resource: str) -> Iterator[str]:
    """A path without trailing slashes, then each folder above it."""
    path = resource.rstrip("/")
    yield path
    for place in range(len(path) - 1, -1, -1):
        if path[place] == "/" and path[place - 1 : place] != "/":
            yield path[:place]


def concerns(dependency: EventTrigger, occurrence: Occurrence) -> bool:
    """Whether type and resource match (rule 2)."""
    if occurrence.stream != "events":
        return False
    return listening_key(dependency) in event_keys(occurrence.type, occurrence.resource)


def newest(stored: Met | None, arriving: Occurrence) -> Met:
    """The newest event: one that is older but arrives later does not replace it (rule 4)."""
    if stored is not None and stored.at > arriving.at:
        return stored
    return Met(arriving.at, event=arriving.id)


def is_alive(
    dependency: EventTrigger, stored: Met | None, at: datetime, *, has_just_come: bool
) -> bool:
    """Whether a dependency is alive at `at` (rule 5); with life 0 only if it just arrived."""
    if stored is None:
        return False
    if dependency.life <= timedelta(0):
        return has_just_come
    return at - stored.at <= dependency.life
