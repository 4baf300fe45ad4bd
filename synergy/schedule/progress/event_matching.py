"""The effect of events on the legs of a trigger, and whether a trigger is met.

A leg that was met stays met (it *latches*) until a run or a timeout clears it; an `EventTrigger` is
met as long as its event is alive. A trigger fires only if the last event touched the part of the
trigger that is met. So in `any_of(all_of(a, b), all_of(c, d))` an
event for c does not cause a run because a and b are still alive.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime

from synergy.schedule.definition import (
    AllOf,
    AnyOf,
    EventTrigger,
    Generations,
    Leaf,
    Partition,
    PeriodFinished,
    ProgramEnded,
    Trigger,
    leaves,
)
from synergy.schedule.progress import event_lifetime
from synergy.schedule.progress.event_keys import event_keys, key_of
from synergy.schedule.progress.state import Met, Occurrence


def alone(trigger: Trigger, path: str = "") -> Iterator[tuple[str, Leaf]]:
    """The leaves that meet the trigger by themselves: a lone one, or those under `any_of` only."""
    if isinstance(trigger, AnyOf):
        for number, leg in enumerate(trigger.legs):
            yield from alone(leg, f"{path}.{number}" if path else str(number))
    elif not isinstance(trigger, AllOf):
        yield path, trigger


def concerns(leaf: Leaf, occurrence: Occurrence) -> bool:
    """Whether an occurrence counts for a leaf.

    Ended runs and jobs match by process and status, so that an ended job counts for a `program` leg
    and for a `timetable` leg.
    """
    match leaf:
        case EventTrigger() | Partition():
            is_event = occurrence.stream == "events"
            return is_event and key_of(leaf) in event_keys(occurrence.type, occurrence.resource)
        case ProgramEnded(process, statuses):
            ended = occurrence.stream == "journal" and occurrence.process == process
            return ended and occurrence.status in statuses
        case PeriodFinished(process, statuses, generations):
            ended = occurrence.stream == "journal" and occurrence.process == process
            is_meant = generations is Generations.ALL or occurrence.generation <= 1
            return ended and is_meant and occurrence.status in statuses
        case _:
            return False


def counted(leaf: Leaf, before: Met | None, occurrence: Occurrence) -> Met:
    """The state of a leaf after an occurrence that concerns it."""
    match leaf:
        case EventTrigger():
            return event_lifetime.newest(before, occurrence)
        case Partition():
            sum_so_far = before.count if before else 0
            return Met(occurrence.at, sum_so_far + occurrence.partitions)
        case _:
            return before or Met(occurrence.at)


def fires(
    trigger: Trigger, met: Mapping[str, Met], touched: Collection[str], at: datetime, path: str = ""
) -> bool:
    """Whether the leaves that were just touched (by path) meet the trigger at `at`."""
    match trigger:
        case AnyOf(legs):
            return any(fires(leg, met, touched, at, sub) for sub, leg in _below(path, legs))
        case AllOf(legs):
            return any(path in touched for path, _ in leaves(trigger, path)) and all(
                _is_met(leg, met, touched, at, sub) for sub, leg in _below(path, legs)
            )
        case _:
            return path in touched and _is_met(trigger, met, touched, at, path)


def _is_met(
    trigger: Trigger, met: Mapping[str, Met], touched: Collection[str], at: datetime, path: str
) -> bool:
    match trigger:
        case AnyOf(legs):
            return any(_is_met(leg, met, touched, at, sub) for sub, leg in _below(path, legs))
        case AllOf(legs):
            return all(_is_met(leg, met, touched, at, sub) for sub, leg in _below(path, legs))
        case EventTrigger():
            come = path in touched
            return event_lifetime.is_alive(trigger, met.get(path), at, has_just_come=come)
        case Partition(_, n):
            return path in met and met[path].count >= n
        case _:
            return path in met


def _below(path: str, legs: tuple[Trigger, ...]) -> Iterator[tuple[str, Trigger]]:
    for number, leg in enumerate(legs):
        yield (f"{path}.{number}" if path else str(number)), leg
