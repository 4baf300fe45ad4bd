"""A schedule in one line, for lists."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import assert_never

from synergy.schedule.definition import (
    AllOf,
    AnyOf,
    Definition,
    Elapsed,
    EventTrigger,
    Generations,
    Once,
    Overlap,
    Partition,
    PeriodFinished,
    Program,
    ProgramEnded,
    Times,
    Trigger,
    WorkerProgram,
)
from synergy.schedule.format.describe import describe
from synergy.schedule.format.literals import (
    readable_duration,
    spelled_duration,
    spelled_instant,
)
from synergy.schedule.zones import zone

_OVERLAPS = {
    Overlap.SKIP: "skipped during a run",
    Overlap.BUFFER_ONE: "one waits during a run",
    Overlap.BUFFER_ALL: "all wait during a run",
    Overlap.CANCEL_OTHER: "cancels the run before it",
    Overlap.ALLOW: "runs may overlap",
}
_MAX_LEGS = 3  # legs that are described; further ones are only counted
_MAX_DEPTH = 2  # of legs within legs; deeper ones are shown as "..."
_WEBHOOK = re.compile(r"(https?://[^/]*).*", re.IGNORECASE)
_CREDENTIALS = re.compile(r"(?<=://)[^\s:/@]{0,256}(:\S{0,2048})?@")


def summarize(definition: Definition) -> str:
    """The trigger and the program in words: `at 02:00 every day, UTC: runs Report`."""
    when = trigger_words(definition.trigger, definition.zone)
    return f"{', '.join([when, *_limits(definition)])}: {_program(definition.program)}"


def trigger_words(trigger: Trigger, zone_name: str) -> str:
    """A trigger in words: `at 02:00 every day, UTC`."""
    return _trigger(trigger, zone_name, 0)


def _limits(definition: Definition) -> Iterator[str]:
    if definition.jitter:
        yield f"up to {readable_duration(definition.jitter)} later"
    if definition.exclude:
        many = f"{len(definition.exclude)} dates"
        yield f"except on {many if len(definition.exclude) > 1 else definition.exclude[0]}"
    if definition.end is not None:
        yield f"until {spelled_instant(definition.end)}"
    if definition.max_runs is not None:
        yield f"at most {definition.max_runs:,} run{'s' * (definition.max_runs != 1)}"
    if definition.overlap is not None:
        yield _OVERLAPS[definition.overlap]
    if definition.coalesce:
        yield "events join a run that waits"
    if failures := definition.pause_after_failures:
        yield f"disabled after {failures:,} failure{'s in a row' * (failures != 1)}"


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
