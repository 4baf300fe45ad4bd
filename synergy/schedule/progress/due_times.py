"""The effects of time alone on a schedule; see `steps` for the rules.

A time leg is *alone* if it meets the trigger by itself; the others are legs of an `all_of`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from synergy.lifecycle.legal_moves import RunMove
from synergy.model.schedule import RunKind
from synergy.schedule import catchup
from synergy.schedule.definition import (
    Definition,
    Elapsed,
    FirstRun,
    Once,
    Times,
    leaves,
)
from synergy.schedule.format.literals import spelled_instant
from synergy.schedule.interval import Jitter
from synergy.schedule.progress.event_matching import alone
from synergy.schedule.progress.run_building import run, run_if_met
from synergy.schedule.progress.state import Collecting, Made, Met, ProgressState, Step
from synergy.schedule.zones import zone

FIRST = RunKind.FIRST.value  # the key of the run that `first_run: immediately` asks for

_TICK = timedelta(microseconds=1)


def run_first(definition: Definition, progress: ProgressState, now: datetime) -> Step:
    """The run of `first_run: immediately`; at the schedule's start, if that is in the future."""
    at = _first_at(definition, progress)
    if at is None or catchup.by_end(definition, now) < at:
        return Step(progress)
    progress = replace(progress, done=(*progress.done, FIRST))
    key = first_key(progress.life)
    return run(definition, progress, now, key=key, due_at=at, cause={})


def run_once(definition: Definition, progress: ProgressState, now: datetime) -> Step:
    """Runs each `once` that is due, whatever the catch-up; those of one instant are one run."""
    made: tuple[Made, ...] = ()
    until = catchup.by_end(definition, now)
    for path, at in _onces(definition):
        if path in progress.done or until < at or is_spent(definition, progress):
            continue
        progress = replace(progress, done=(*progress.done, path))
        key = once_key(at, progress.version)
        if all(key != other.key for other in made):
            step = run(definition, progress, now, key=key, due_at=at, cause={})
            progress, made = step.progress, (*made, *step.made)
    return Step(progress, made)


def run_lines(definition: Definition, progress: ProgressState, now: datetime) -> Step:
    """Runs or skips the due times of all lines that are alone, up to the limit of one step."""
    lines = [leaf for _, leaf in alone(definition.trigger) if isinstance(leaf, Times)]
    floor = _floor(definition, progress.last_due)
    if not lines or now <= floor:
        return Step(progress)
    once = {at for _, at in _onces(definition)}  # a due time of both is one run
    made: tuple[Made, ...] = ()
    for decided in catchup.decide(definition, lines, floor, now):
        if is_spent(definition, progress):
            break
        progress = replace(progress, last_due=decided.until or decided.at)
        if decided.at not in once:
            step = _settle(definition, progress, decided, now)
            progress, made = step.progress, (*made, *step.made)
    elapsed_at = _elapsed_at(definition, progress)  # `run_elapsed` runs a due time of both
    return Step(progress, tuple(one for one in made if one.due_at != elapsed_at))


def _settle(
    definition: Definition, progress: ProgressState, decided: catchup.DueDecision, now: datetime
) -> Step:
    """The run, or the record, of a due time."""
    key = RunKind.DUE.key(spelled_instant(decided.at))
    cause = {"remark": decided.remark} if decided.remark else {}
    if decided.is_run:
        at, in_turn = decided.at, decided.in_turn
        return run(definition, progress, now, key=key, due_at=at, cause=cause, in_turn=in_turn)
    if decided.until is not None:
        cause["until"] = spelled_instant(decided.until)
    skipped = Made(
        key=key,
        due_at=decided.at,
        ended_by=RunMove.SKIP,
        reason=decided.reason,
        created_at=now,
        cause=cause,
    )
    return Step(progress, (skipped,))


def run_elapsed(definition: Definition, progress: ProgressState, now: datetime) -> Step:
    """Runs an `elapsed` leg that is due: a duration after the last run, or after the beginning."""
    at = _elapsed_at(definition, progress)
    if at is None or catchup.by_end(definition, now) < at:
        return Step(progress)
    key = RunKind.DUE.key(spelled_instant(at))
    return run(definition, progress, now, key=key, due_at=at, cause={})


def latch(definition: Definition, progress: ProgressState, now: datetime) -> Step:
    """Marks due time legs of `all_of` as met, and makes a run if that meets the trigger."""
    legs = dict(_unmet(definition, progress))
    until = catchup.by_end(definition, now)
    due = {path: _last_due_at(definition, progress, leaf, until) for path, leaf in legs.items()}
    fresh = {path: Met(at) for path, at in due.items() if at is not None}
    if not fresh:
        return Step(progress)
    at = max(met.at for met in fresh.values())
    opened = [_next_due_at(definition, progress, legs[path]) for path in fresh]
    collecting = progress.collecting or Collecting(_opening(progress, opened), now)
    cause = {**collecting.cause, "due": spelled_instant(at)}
    progress = replace(
        progress,
        met={**progress.met, **fresh},
        done=(*progress.done, *(path for path in fresh if isinstance(legs[path], Once))),
        collecting=replace(collecting, cause=cause),
    )
    return run_if_met(
        definition,
        progress,
        fresh.keys(),
        now,
        number=collecting.number,
        at=at,
        due_at=now,
        cause=cause,
    )


def _opening(progress: ProgressState, due: list[datetime | None]) -> str:
    """The number of a job that due times open: the first of these due times.

    It does not depend on the time of the decision. A `once` from before this version has the
    instant at which the version began, because earlier versions have the same `once`.
    """
    first = min(at for at in due if at is not None)
    return spelled_instant(max(first, progress.begun))


def instants(definition: Definition, progress: ProgressState) -> Iterator[datetime]:
    """The next instants at which time alone has an effect."""
    if is_spent(definition, progress):
        return
    end = definition.end
    yield from (at for at in _due(definition, progress) if end is None or at <= end)
    if progress.collecting is not None:
        yield progress.collecting.since + definition.timeout
        if end is not None:
            yield end + _TICK  # it is dropped


def is_spent(definition: Definition, progress: ProgressState) -> bool:
    """Whether the schedule has made all of its `max_runs`."""
    return definition.max_runs is not None and progress.runs >= definition.max_runs


def _due(definition: Definition, progress: ProgressState) -> Iterator[datetime]:
    first = (_first_at(definition, progress), _elapsed_at(definition, progress))
    yield from (at for at in first if at is not None)
    yield from (at for path, at in _onces(definition) if path not in progress.done)
    floor = _floor(definition, progress.last_due)
    for _, leaf in alone(definition.trigger):
        if isinstance(leaf, Times) and (at := catchup.next_any(leaf, zone(definition.zone), floor)):
            yield at
    for _, leaf in _unmet(definition, progress):
        if at := _next_due_at(definition, progress, leaf):
            yield at


# Keys that do not depend on an instant alone


def first_key(life: int) -> str:
    """The key of the run of `first_run: immediately` in the life that began at this version."""
    return FIRST if life == 1 else f"{FIRST}/{life}"


def once_key(at: datetime, version: int) -> str:
    """The key of a one-off run at an instant."""
    return RunKind.DUE.key(spelled_instant(at)) + (f"/{version}" if version > 1 else "")


def once_keys(definition: Definition, version: int) -> list[str]:
    """The keys of the one-off legs that are alone."""
    return [once_key(at, version) for _, at in _onces(definition)]


def lasting_keys(definition: Definition, version: int) -> list[str]:
    """The keys of a schedule that is created at this version that do not depend on the time."""
    is_first = definition.first_run is FirstRun.IMMEDIATELY
    return [*([first_key(version)] if is_first else ()), *once_keys(definition, version)]


def legs_done(
    before: Definition, progress: ProgressState, after: Definition, dropped: Collection[datetime]
) -> tuple[str, ...]:
    """The one-off legs of `after` that ran before it: `ProgressState.done` of the new version.

    `before` and `progress` are those of the version before. `dropped` are the instants of one-off
    runs that were never launched; these legs are due again.
    """
    due = dict(_onces(before))
    had = [
        path
        for path, at in _onces(after)
        if path in progress.done and due.get(path) == at and at not in dropped
    ]
    return (*([FIRST] if FIRST in progress.done else ()), *had)


# When legs are due


def _floor(definition: Definition, floor: datetime) -> datetime:
    """The lower bound of due times: not before the start."""
    return max(floor, definition.start - _TICK) if definition.start else floor


def _not_before_start(definition: Definition, at: datetime) -> datetime:
    return max(at, definition.start) if definition.start else at


def _first_at(definition: Definition, progress: ProgressState) -> datetime | None:
    if definition.first_run is not FirstRun.IMMEDIATELY or FIRST in progress.done:
        return None
    return _not_before_start(definition, progress.begun)


def _onces(definition: Definition) -> list[tuple[str, datetime]]:
    """The one-off legs that are alone, and when they are due, earliest first."""
    found = [
        (path, _not_before_start(definition, leaf.at))
        for path, leaf in alone(definition.trigger)
        if isinstance(leaf, Once)
    ]
    return sorted(found, key=lambda one: one[1])


def _elapsed_at(definition: Definition, progress: ProgressState) -> datetime | None:
    """The earliest of the `elapsed` legs that are alone."""
    since = progress.last_run_at or progress.begun
    due = (
        _not_before_start(definition, _after(definition, since, leaf))
        for _, leaf in alone(definition.trigger)
        if isinstance(leaf, Elapsed)
    )
    return min(due, default=None)


def _unmet(
    definition: Definition, progress: ProgressState
) -> Iterator[tuple[str, Times | Once | Elapsed]]:
    """The time legs of `all_of` that can still be met."""
    past = {path for path, _ in alone(definition.trigger)} | {*progress.met, *progress.done}
    for path, leaf in leaves(definition.trigger):
        if path not in past and isinstance(leaf, Times | Once | Elapsed):
            yield path, leaf


def _last_due_at(
    definition: Definition, progress: ProgressState, leaf: Times | Once | Elapsed, now: datetime
) -> datetime | None:
    """The newest due time of a leg up to now, since the progress was last emptied."""
    if isinstance(leaf, Times):
        floor = _floor(definition, progress.emptied_at)
        return catchup.latest(leaf, zone(definition.zone), floor, now, definition.exclude)
    at = _due_at(definition, progress, leaf)
    return at if at <= now else None


def _next_due_at(
    definition: Definition, progress: ProgressState, leaf: Times | Once | Elapsed
) -> datetime | None:
    """The first due time of a leg since the progress was last emptied."""
    if isinstance(leaf, Times):
        floor = _floor(definition, progress.emptied_at)
        return catchup.next_of(leaf, zone(definition.zone), floor, definition.exclude)
    return _due_at(definition, progress, leaf)


def _due_at(definition: Definition, progress: ProgressState, leaf: Once | Elapsed) -> datetime:
    since = progress.emptied_at
    at = leaf.at if isinstance(leaf, Once) else _after(definition, since, leaf)
    return _not_before_start(definition, at)


def _after(definition: Definition, since: datetime, leaf: Elapsed) -> datetime:
    """When an `elapsed` leg is due, with the schedule's jitter."""
    at = since + leaf.duration
    return at + Jitter(definition.jitter, definition.name).delay(at)
