"""A schedule in one line, for lists."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import assert_never

from synergy.schedule.definition import (
    AllOf,
    AnyOf,
    Definition,
    Elapsed,
    EventTrigger,
    Generations,
    Once,
    Partition,
    PeriodFinished,
    Program,
    ProgramEnded,
    Times,
    Trigger,
    WorkerProgram,
)
from synergy.schedule.format.describe import describe
from synergy.schedule.format.literals import spelled_duration, spelled_instant
from synergy.schedule.zones import zone

_MAX_LEGS = 3  # legs that are described; further ones are only counted
_MAX_DEPTH = 2  # of legs within legs; deeper ones are shown as "..."
_WEBHOOK = re.compile(r"(https?://[^/]*).*", re.IGNORECASE)
_CREDENTIALS = re.compile(r"(?<=://)[^\s:/@]{0,256}(:\S{0,2048})?@")


def summarize(definition: Definition) -> str:
    """The trigger and the program in words: `at 02:00 every day, UTC: runs Report`."""
    when = _trigger(definition.trigger, definition.zone, 0)
    return f"{when}: {_program(definition.program)}"


def _program(program: Program) -> str:
    if isinstance(program, WorkerProgram):
        return f"runs {program.process}"
    # Only operators may see the path and query of a webhook. They are cut off first: with an @ in
    # them, the host would be taken for a login, and a part of them for the host.
    where = _WEBHOOK.sub(r"\1", program.target.partition("?")[0])
    where = _CREDENTIALS.sub("", where)
    return f"sends to {where if len(where) <= 60 else f'{where[:60]}...'}"


def _trigger(trigger: Trigger, name: str, depth: int) -> str:
    match trigger:
        case Times():
            return describe(trigger.trigger, zone(name))
        case Once():
            return f"once at {spelled_instant(trigger.at)}"
        case Elapsed():
            return f"{spelled_duration(trigger.duration)} after its last run"
        case Partition():
            return f"{trigger.n:,} new partition{'s' * (trigger.n != 1)} of {trigger.dataset}"
        case ProgramEnded():
            return f"{trigger.process} ended as {' or '.join(trigger.statuses)}"
        case PeriodFinished():
            ended = f"a period of {trigger.process} ended as {' or '.join(trigger.statuses)}"
            is_first = trigger.generations is Generations.FIRST
            return f"{ended} for the first time" if is_first else ended
        case EventTrigger():
            return f"event {trigger.type.value} {trigger.resource}"
        case AllOf() | AnyOf():
            which = "all of" if isinstance(trigger, AllOf) else "any of"
            return f"{which} ({_legs(trigger.legs, name, depth)})"
        case _:
            assert_never(trigger)


def _legs(legs: Sequence[Trigger], name: str, depth: int) -> str:
    if depth == _MAX_DEPTH:
        return "..."
    words = [_trigger(leg, name, depth + 1) for leg in legs[:_MAX_LEGS]]
    if len(legs) > _MAX_LEGS:
        words.append(f"and {len(legs) - _MAX_LEGS} more")
    return "; ".join(words)
