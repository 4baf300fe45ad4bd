"""The transitions of a schedule: pure functions of its progress, an occurrence, and the time.

A decision is a `Step`: the new progress, and the runs that it makes. Both are written together, by
one compare-and-set on the schedule's row, so each due time and each event is accounted for once.
Where a store cannot write them together the runs are written first: their keys depend on their
cause alone, so a decision that is repeated finds the runs that it made before.

- `due:<instant>` is the run, or the record, of a due time. A version of a schedule above the
  first has `due:<instant>/<version>` for a `once`. A new version runs a past `once` again, unless
  the same `once` ran in the version before (`due_times.legs_done`).
- `first` is the run of `first_run: immediately`, once in the life of a schedule:
  `first/<version>` in a life that began at a later version than the first.
- `events:<number>` is the run of a job that events triggered; the number is that of the
  occurrence that opened the job (`Collecting`), and is never used again.

Time. A leg that meets the trigger alone (a lone one, or one of `any_of`) has due times of its own:
each is run or recorded as skipped (`catchup`); due times of several legs at the same instant are
one. Within `all_of` a time leg is met once it is due, and only the newest of its due times matters;
it is no due time of the schedule, and has no record.

A schedule is over after its `end`, and once it has made `max_runs` runs: nothing is due any more,
and events have no effect.

Events. The first that concerns a leg opens the collecting job, the others extend it; when the
trigger is met, the job becomes a run, and everything collected is consumed, surplus included. A run
by time consumes it too. A job that has collected for as long as the timeout is aborted, with all
that it collected, or forced to run. Events with a lifetime (`event_lifetime`) are different: they
expire, and neither open a job nor are consumed. A lone event is a run of its own.

A clock that is set back repeats no run, because the lower bounds of due times never go back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from synergy.schedule.definition import Definition, EventTrigger, Leaf, leaves
from synergy.schedule.progress import due_times, event_lifetime, event_matching
from synergy.schedule.progress.run_building import drop_at_end, extended, run_if_met, time_out
from synergy.schedule.progress.state import Collecting, Made, Occurrence, ProgressState, Step

_BY_TIME = (
    time_out,
    due_times.run_first,
    due_times.run_once,
    due_times.run_lines,
    due_times.run_elapsed,
    due_times.latch,
    drop_at_end,
)


def begin(
    definition: Definition,
    now: datetime,
    seen_events: int,
    seen_journal: int,
    version: int = 1,
    life: int = 1,
    done: tuple[str, ...] = (),
) -> Step:
    """The first step of a schedule that is created, edited or enabled; it ignores earlier events.

    `seen_events` and `seen_journal` are the newest numbers. Runs that are due immediately (a first
    run, a past `once`) are made, unless they are `done` (`legs_done`).
    """
    progress = ProgressState(
        begun=now,
        version=version,
        life=life,
        last_due=now,
        emptied_at=now,
        done=done,
        seen_events=seen_events,
        seen_journal=seen_journal,
    )
    return pass_time(definition, progress, now)


def pass_time(definition: Definition, progress: ProgressState, now: datetime) -> Step:
    """The effects of time alone: due times, legs that are met, the timeout of the collecting job.

    A long window is decided in several steps (`catchup`): then `wake_at` is still past.
    """
    made: tuple[Made, ...] = ()
    for transition in _BY_TIME:
        if due_times.is_spent(definition, progress):
            break
        step = transition(definition, progress, now)
        progress, made = step.progress, (*made, *step.made)
    return Step(progress, made)


def take(
    definition: Definition, progress: ProgressState, occurrence: Occurrence, now: datetime
) -> Step:
    """The effects of one occurrence; none if it counted before, or concerns no leg.

    The occurrences of a stream come in the order of their numbers and parts.
    """
    concerned = _concerned(definition, progress, occurrence)
    if not concerned or due_times.is_spent(definition, progress):
        return Step(progress)
    timed_out = time_out(definition, progress, now)
    if due_times.is_spent(definition, timed_out.progress):  # the forced run was the last one
        return timed_out
    step = _count(definition, timed_out.progress.seeing(occurrence), occurrence, concerned, now)
    return Step(step.progress, (*timed_out.made, *step.made))


def join(definition: Definition, progress: ProgressState, occurrence: Occurrence) -> Step:
    """The effects of an occurrence while a run waits, with `coalesce`: it joins that run.

    It counts for nothing else, but is kept if it has a lifetime, because runs do not consume it.
    """
    concerned = _concerned(definition, progress, occurrence)
    if not concerned:
        return Step(progress)
    kept = {
        path: event_lifetime.newest(progress.met.get(path), occurrence)
        for path, leaf in concerned.items()
        if isinstance(leaf, EventTrigger)
    }
    progress = replace(progress.seeing(occurrence), met={**progress.met, **kept})
    return Step(progress, joined=(occurrence,))


def _concerned(
    definition: Definition, progress: ProgressState, occurrence: Occurrence
) -> dict[str, Leaf]:
    """The legs that an occurrence concerns; none if it was seen, or came after the end."""
    received_at = occurrence.received_at or occurrence.at
    is_over = definition.end is not None and received_at > definition.end
    if is_over or progress.has_seen(occurrence):
        return {}
    return {
        path: leaf
        for path, leaf in leaves(definition.trigger)
        if event_matching.concerns(leaf, occurrence)
    }


def wake_at(definition: Definition, progress: ProgressState) -> datetime | None:
    """The next instant at which time alone has an effect, in the past if that is due; None: never.

    It does not depend on the clock, which may be wrong.
    """
    return min(due_times.instants(definition, progress), default=None)


def _count(
    definition: Definition,
    progress: ProgressState,
    occurrence: Occurrence,
    concerned: Mapping[str, Leaf],
    now: datetime,
) -> Step:
    """The effects of an occurrence on the legs that it concerns, and on the collecting job."""
    if isinstance(definition.trigger, EventTrigger):  # a lone one: each event is a run of its own
        alone = replace(progress, met={})
        return _collect(definition, alone, occurrence, concerned, now, due_at=occurrence.at)
    if not event_lifetime.has_lifetimes_only(definition.trigger):
        return _collect(definition, progress, occurrence, concerned, now, due_at=now)
    if progress.last_execution is not None and occurrence.at <= progress.last_execution:
        return Step(progress)  # not later than the last execution: no effect
    step = _collect(definition, progress, occurrence, concerned, now, due_at=occurrence.at)
    if not step.made:
        return step
    return replace(step, progress=replace(step.progress, last_execution=occurrence.at))


def _collect(
    definition: Definition,
    progress: ProgressState,
    occurrence: Occurrence,
    concerned: Mapping[str, Leaf],
    now: datetime,
    *,
    due_at: datetime,
) -> Step:
    met = {
        path: event_matching.counted(leaf, progress.met.get(path), occurrence)
        for path, leaf in concerned.items()
    }
    collecting = progress.collecting
    if collecting is None and not all(
        isinstance(leaf, EventTrigger) for leaf in concerned.values()
    ):
        collecting = Collecting(occurrence.number, now)
    cause = extended(collecting.cause if collecting else {}, occurrence)
    progress = replace(
        progress,
        met={**progress.met, **met},
        collecting=replace(collecting, cause=cause) if collecting else None,
    )
    return run_if_met(
        definition,
        progress,
        concerned.keys(),
        now,
        number=occurrence.number,
        at=occurrence.at,
        due_at=due_at,
        cause=cause,
    )
