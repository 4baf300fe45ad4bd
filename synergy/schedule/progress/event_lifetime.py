"""Dependencies on events with a lifetime.

- Matching: an event concerns a dependency if type and resource match.
- Newest: of the matching events the newest by timestamp is kept, and is not consumed by runs.
- Alive: a kept event is alive up to `life` after its timestamp; with life 0 at its arrival only.
- Last execution: an event that is not later than the one that last ran the schedule has no effect.

A schedule whose leaves are all `EventTrigger`, alone or under `all_of`, follows all four rules. In
other triggers an `EventTrigger` leg follows the first three, judged at the instant of the decision:
an arriving event's timestamp, or a due time. The last rule does not apply there: in `any_of` an
event must be able to run the schedule whatever ran it last.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from synergy.schedule.definition import AllOf, EventTrigger, EventType, Trigger
from synergy.schedule.progress.state import Met, Occurrence


def has_lifetimes_only(trigger: Trigger) -> bool:
    """Whether all leaves of a trigger have lifetimes, alone or under `all_of`."""
    if isinstance(trigger, AllOf):
        return all(has_lifetimes_only(leg) for leg in trigger.legs)
    return isinstance(trigger, EventTrigger)


def event_keys(event_type: str, resource: str) -> tuple[str, ...]:
    """The keys that an arriving event is looked up by.

    Those of a file are its path and all folders above it, the nearest first.
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
    """Whether type and resource match."""
    if occurrence.stream != "events":
        return False
    return listening_key(dependency) in event_keys(occurrence.type, occurrence.resource)


def newest(stored: Met | None, arriving: Occurrence) -> Met:
    """The newest event: one that is older but arrives later does not replace it."""
    if stored is not None and stored.at > arriving.at:
        return stored
    return Met(arriving.at, event=arriving.id)


def is_alive(
    dependency: EventTrigger, stored: Met | None, at: datetime, *, has_just_come: bool
) -> bool:
    """Whether a dependency is alive at `at`; with life 0 only if its event just arrived."""
    if stored is None:
        return False
    if dependency.life <= timedelta(0):
        return has_just_come
    return at - stored.at <= dependency.life
