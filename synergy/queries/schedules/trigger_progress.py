"""The progress of a trigger: which of its legs are met, since when, and what it waits for."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from synergy.queries.schedules.views import LegView
from synergy.schedule.definition import (
    AllOf,
    AnyOf,
    Definition,
    Elapsed,
    EventTrigger,
    Leaf,
    Once,
    Partition,
    Times,
    Trigger,
    leaves,
)
from synergy.schedule.format.literals import readable_duration
from synergy.schedule.format.summary import trigger_words
from synergy.schedule.progress.state import Met, ProgressState

BY_TIME = (Times, Once, Elapsed)
"""Triggers that wait for the clock alone."""


def legs_of(
    definition: Definition, progress: ProgressState | None, now: datetime
) -> tuple[LegView, ...]:
    """The leaves of a trigger that waits for more than the clock."""
    if isinstance(definition.trigger, BY_TIME):
        return ()
    met = progress.met if progress is not None else {}
    return tuple(
        _leg(path, leaf, definition, met.get(path), now)
        for path, leaf in leaves(definition.trigger)
    )


def missing(trigger: Trigger, legs: Mapping[str, LegView], path: str = "") -> list[str]:
    """All that a trigger still waits for; `legs` are given by path."""
    if not isinstance(trigger, AllOf | AnyOf):
        leg = legs[path]
        return [] if leg.is_met else [f"{leg.words} ({leg.how})"]
    below = [
        missing(leg, legs, f"{path}.{number}" if path else str(number))
        for number, leg in enumerate(trigger.legs)
    ]
    if isinstance(trigger, AllOf):
        return [words for some in below for words in some]
    return [" or ".join(" and ".join(some) for some in below)] if all(below) else []


def _leg(path: str, leaf: Leaf, definition: Definition, met: Met | None, now: datetime) -> LegView:
    words = trigger_words(leaf, definition.zone)
    if isinstance(definition.trigger, EventTrigger):  # a lone one
        is_met, how = False, "each such event is a run"
    else:
        is_met, how = _how(leaf, met, now)
    return LegView(path, words, is_met, how, met.at if met is not None else None)


def _how(leaf: Leaf, met: Met | None, now: datetime) -> tuple[bool, str]:
    match leaf:
        case Partition(n=n):
            count = met.count if met is not None else 0
            return count >= n, f"{count:,} of {n:,}"
        case EventTrigger(life=life) if met is not None:
            over = now - met.at - life
            if not life:
                return False, f"counts on arrival only; the last one was {_seconds(over)} ago"
            is_alive = over <= timedelta(0)
            state = "alive" if is_alive else f"ended {_seconds(over)} ago"
            return is_alive, f"{state}, lives for {readable_duration(life)}"
        case EventTrigger():
            return False, "no such event so far"
        case _:
            return met is not None, "yes" if met is not None else "no"


def _seconds(duration: timedelta) -> str:
    return f"{duration.total_seconds():,.0f} s"
