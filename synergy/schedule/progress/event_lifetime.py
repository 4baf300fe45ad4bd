"""Dependencies on events that stay alive for a while: semantics, part F, rules 1 to 6.

A schedule whose leaves are all `EventTrigger`, alone or under `all_of`, keeps exactly these rules.
In other triggers a `EventTrigger` leg keeps those of matching, keeping and being alive (rules 2, 4
and 5), judged at the instant of whatever decides: an arriving event's timestamp, or a due
time. There is no last execution to be later than there (rule 3): in `any_of` an event must be
able to run the schedule whatever else has just run it.
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

    A file's are its resource and all that it lies under (rule 2), the nearest first.
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
    """A path without its trailing slashes, then each of its beginnings that end before a `/`."""
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
    """What is kept: an older event that arrives later does not shorten it (rule 4)."""
    if stored is not None and stored.at > arriving.at:
        return stored
    return Met(arriving.at, event=arriving.id)


def is_alive(
    dependency: EventTrigger, stored: Met | None, at: datetime, *, has_just_come: bool
) -> bool:
    """Whether a dependency is alive at `at` (rule 5); with life 0 only if it has just come."""
    if stored is None:
        return False
    if dependency.life <= timedelta(0):
        return has_just_come
    return at - stored.at <= dependency.life
