"""When a schedule is due next, and why it is due no more."""

from __future__ import annotations

from datetime import datetime, timedelta

from synergy.model.schedule import Schedule
from synergy.queries.schedules.trigger_progress import BY_TIME
from synergy.schedule.catchup import next_any, next_of
from synergy.schedule.definition import Definition, Once, Times, leaves
from synergy.schedule.format.literals import spelled_instant
from synergy.schedule.progress.due_times import is_spent
from synergy.schedule.progress.state import ProgressState
from synergy.schedule.zones import zone

ALL_RUNS_MADE = "max_runs: all runs are made"

_TICK = timedelta(microseconds=1)


def next_due(schedule: Schedule, definition: Definition | None) -> datetime | None:
    """The next due time, if the schedule is due by time and not at the end of a wait."""
    at = schedule.wake_at
    if definition is None or at is None:
        return None
    by_time = [leaf for _, leaf in leaves(definition.trigger) if isinstance(leaf, BY_TIME)]
    if not by_time:
        return None
    local = zone(definition.zone)
    lines = [leaf for leaf in by_time if isinstance(leaf, Times)]
    onces = [leaf.at for leaf in by_time if isinstance(leaf, Once)]
    if at in onces or at.astimezone(local).date() not in definition.exclude:
        return at
    if all(next_any(line, local, at - _TICK) != at for line in lines):
        return at  # only the due times of lines are excluded
    found = [*(next_of(line, local, at, definition.exclude) for line in lines), *onces]
    later = [one for one in found if one is not None and one > at]
    return min((one for one in later if one <= (definition.end or one)), default=None)


def why_over(
    definition: Definition, progress: ProgressState | None, now: datetime
) -> tuple[str, ...]:
    """Why a schedule will not run any more; `progress` is None while it is disabled."""
    if definition.end is not None and definition.end < now:
        return (f"end: it was at {spelled_instant(definition.end)}: nothing is due any more",)
    if progress is not None and is_spent(definition, progress):
        return (f"{ALL_RUNS_MADE}: nothing is due any more",)
    return ()
