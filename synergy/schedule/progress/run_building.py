"""Builds the runs of a schedule: what a run consumes, and its cause."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from synergy.lifecycle.legal_moves import RunMove
from synergy.model.schedule import RunKind
from synergy.schedule.definition import (
    Definition,
    Elapsed,
    EventTrigger,
    Once,
    TimeoutPolicy,
    Times,
    leaves,
)
from synergy.schedule.format.literals import readable_duration
from synergy.schedule.progress import event_lifetime, event_matching
from synergy.schedule.progress.state import Collecting, Made, Occurrence, ProgressState, Step

NAMED = 100  # the newest events are named in the cause of a run; all events are counted

_ENDED = ("process", "status", "timeperiod", "start", "end", "generation")


def run(
    definition: Definition,
    progress: ProgressState,
    now: datetime,
    *,
    key: str,
    due_at: datetime,
    cause: Mapping[str, object],
    in_turn: bool = False,
) -> Step:
    """Makes a run of a due time, which consumes what was collected and has it in its cause."""
    collected = progress.collecting.cause if progress.collecting else {}
    made = Made(
        key=key, due_at=due_at, created_at=now, cause={**collected, **cause}, in_turn=in_turn
    )
    return Step(_having_run(definition, progress, now), (made,))


def run_if_met(
    definition: Definition,
    progress: ProgressState,
    touched: Collection[str],
    now: datetime,
    *,
    number: str,
    at: datetime,
    due_at: datetime,
    cause: Mapping[str, object],
) -> Step:
    """Makes the run of the collecting job, if the touched leaves meet the trigger at `at`.

    Without a collecting job (events with a lifetime open none) the run's key has `number`.
    """
    if not event_matching.fires(definition.trigger, progress.met, touched, at):
        return Step(progress)
    collecting = progress.collecting
    made = Made(
        key=RunKind.EVENTS.key(collecting.number if collecting else number),
        due_at=due_at,
        created_at=collecting.since if collecting else now,
        cause=_naming(cause, [*_alive(definition, progress, at), *_events(cause)]),
    )
    return Step(_having_run(definition, progress, now), (made,))


def time_out(definition: Definition, progress: ProgressState, now: datetime) -> Step:
    """Drops the collecting job, or forces it to run, if it has waited for the timeout."""
    collecting, end = progress.collecting, definition.end
    if collecting is None:
        return Step(progress)
    until = collecting.since + definition.timeout
    if now < until or (end is not None and end < until):
        return Step(progress)
    reason = f"timed out: not triggered within {readable_duration(definition.timeout)}"
    if definition.timeout_policy is not TimeoutPolicy.FORCE:
        return _dropped(definition, progress, collecting, reason, now)
    made = Made(
        key=RunKind.EVENTS.key(collecting.number),
        due_at=now,
        created_at=collecting.since,
        cause={**collecting.cause, "remark": reason},
    )
    return Step(_having_run(definition, progress, now), (made,))


def drop_at_end(definition: Definition, progress: ProgressState, now: datetime) -> Step:
    """Drops the collecting job after the schedule's end.

    It comes after everything that was due, or arrived, up to the end: an agent looks later.
    """
    collecting, end = progress.collecting, definition.end
    if collecting is None or end is None or now <= end:
        return Step(progress)
    reason = "the schedule ended before it was triggered"
    return _dropped(definition, progress, collecting, reason, now)


def _dropped(
    definition: Definition,
    progress: ProgressState,
    collecting: Collecting,
    reason: str,
    now: datetime,
) -> Step:
    record = Made(
        key=RunKind.EVENTS.key(collecting.number),
        due_at=now,
        created_at=collecting.since,
        ended_by=RunMove.ABORT,
        reason=reason,
        cause=collecting.cause,
    )
    return Step(_emptied(definition, progress, now), (record,))


def extended(cause: Mapping[str, object], occurrence: Occurrence) -> dict[str, object]:
    """A cause with one more event.

    Of several ended runs and jobs it has the last one with a period, or else the last one.
    """
    ended: dict[str, object] = {}
    if occurrence.timeperiod or not cause.get("timeperiod"):
        fields = {name: getattr(occurrence, name) for name in _ENDED}
        ended = {name: value for name, value in fields.items() if value}
    counted = cause.get("count", 0)
    assert isinstance(counted, int)
    named = _naming(cause, [*_events(cause), occurrence.id])
    return {**named, "count": counted + 1, **ended}


def joined_by(cause: Mapping[str, object], joined: Sequence[Occurrence]) -> dict[str, object]:
    """A cause with the occurrences that join its run; one that joined before counts once."""
    for occurrence in joined:
        if occurrence.id not in _events(cause):
            cause = extended(cause, occurrence)
    return dict(cause)


def _events(cause: Mapping[str, object]) -> list[str]:
    named = cause.get("events", [])
    assert isinstance(named, list)
    return named


def _naming(cause: Mapping[str, object], events: Sequence[str]) -> dict[str, object]:
    newest = list(dict.fromkeys(events))[-NAMED:]
    return {**cause, "events": newest} if newest else dict(cause)


def _alive(definition: Definition, progress: ProgressState, at: datetime) -> list[str]:
    """The live events with a lifetime that a run depends on."""
    return [
        met.event
        for path, leaf in _lifetimes(definition)
        if (met := progress.met.get(path))
        and event_lifetime.is_alive(leaf, met, at, has_just_come=False)
    ]


def _having_run(definition: Definition, progress: ProgressState, now: datetime) -> ProgressState:
    last = max(progress.last_run_at or now, now)
    runs = progress.runs + (definition.max_runs is not None)
    return replace(_emptied(definition, progress, now), last_run_at=last, runs=runs)


def _emptied(definition: Definition, progress: ProgressState, now: datetime) -> ProgressState:
    """The progress after everything collected was consumed; events with a lifetime are kept.

    Due times are consumed too, even those that lie ahead because the clock was set back.
    """
    kept = {path: progress.met[path] for path, _ in _lifetimes(definition) if path in progress.met}
    due = [
        progress.met[path].at
        for path, leaf in leaves(definition.trigger)
        if path in progress.met and isinstance(leaf, Times | Once | Elapsed)
    ]
    emptied_at = max(progress.emptied_at, now, *due)
    return replace(progress, met=kept, collecting=None, emptied_at=emptied_at)


def _lifetimes(definition: Definition) -> Iterator[tuple[str, EventTrigger]]:
    for path, leaf in leaves(definition.trigger):
        if isinstance(leaf, EventTrigger):
            yield path, leaf
