"""When a schedule is due next, and why it is due no more."""

from __future__ import annotations

from datetime import datetime

from synergy.model.schedule import Schedule
from synergy.queries.schedules.trigger_progress import BY_TIME
from synergy.schedule.catchup import next_of
from synergy.schedule.definition import Definition, Times, leaves
from synergy.schedule.format.literals import spelled_instant
from synergy.schedule.progress.due_times import is_spent
from synergy.schedule.progress.state import ProgressState
from synergy.schedule.zones import zone


def next_due(schedule: Schedule, definition: Definition | None) -> datetime | None:
    """The next due time, if the schedule is due by time and not at the end of a wait."""
    at = schedule.wake_at
    if definition is None or at is None:
        return None
    by_time = [leaf for _, leaf in leaves(definition.trigger) if isinstance(leaf, BY_TIME)]
    if not by_time:
        return None
    local = zone(definition.zone)
    if at.astimezone(local).date() not in definition.exclude:
        return at
    lines = [leaf for leaf in by_time if isinstance(leaf, Times)]
    found = (next_of(line, local, at, definition.exclude) for line in lines)
    return min((one for one in found if one is not None), default=None)


def why_over(
    definition: Definition, progress: ProgressState | None, now: datetime
) -> tuple[str, ...]:
    """Why a schedule will not run any more; `progress` is None while it is disabled."""
    if definition.end is not None and definition.end < now:
        return (f"end: it was at {spelled_instant(definition.end)}: nothing is due any more",)
    if progress is not None and is_spent(definition, progress):
        return ("max_runs: all runs are made: nothing is due any more",)
    return ()
