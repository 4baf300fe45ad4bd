"""The keys by which events, ended runs and ended periods find the schedules that they concern.

A store lists the schedules of a key, so the cost of an event depends only on the schedules that
listen to it. Keys are not the ids of events.
"""

from __future__ import annotations

from collections.abc import Iterator

from synergy.schedule.definition import (
    EventTrigger,
    EventType,
    Leaf,
    Partition,
    PeriodFinished,
    ProgramEnded,
    Trigger,
    leaves,
)


def keys(trigger: Trigger) -> tuple[str, ...]:
    """The keys that a trigger listens to, sorted."""
    return tuple(sorted({key for _, leaf in leaves(trigger) if (key := key_of(leaf))}))


def key_of(leaf: Leaf) -> str:
    """The key that a leaf of a trigger listens to; empty for one of time alone."""
    match leaf:
        case EventTrigger(EventType.FILE, resource):
            return f"FILE|{resource.rstrip('/')}"
        case EventTrigger(type_, resource):
            return f"{type_.value}|{resource}"
        case Partition(dataset):
            return f"PARTITION|{dataset}"
        case ProgramEnded(process):
            return f"program|{process}"
        case PeriodFinished(process):
            return f"timetable|{process}"
        case _:
            return ""


def event_keys(event_type: str, resource: str) -> tuple[str, ...]:
    """The keys that an arriving event is looked up by.

    Those of a file are its path and all folders above it, the nearest first.
    """
    if event_type == EventType.FILE.value:
        return tuple(f"FILE|{path}" for path in _and_above(resource))
    return (f"{event_type}|{resource}",)


def _and_above(resource: str) -> Iterator[str]:
    """A path without trailing slashes, then each folder above it."""
    path = resource.rstrip("/")
    yield path
    for place in range(len(path) - 1, -1, -1):
        if path[place] == "/" and path[place - 1 : place] != "/":
            yield path[:place]
