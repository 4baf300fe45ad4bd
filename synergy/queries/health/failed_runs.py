"""Failed runs that were not launched again, paused schedules, and messages in quarantine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from synergy.messaging.protocol import BusView
from synergy.model.schedule import Run, RunState
from synergy.queries.health.situation import FailedRuns, Paused, Quarantine
from synergy.queries.schedules.run_successors import successor_id, successors
from synergy.runtime.paused_schedules import paused_schedules
from synergy.storage.protocol import StoreView

_SUCCEEDED = (RunState.PROCESSED, RunState.NOOP)


def failed_runs(store: StoreView, limit: int) -> Iterator[FailedRuns]:
    """The newest failed runs that were not launched again, by schedule.

    A failed run of a worker is made up for by a later successful run of the schedule, a failed
    delivery is not. Runs of removed schedules are left out.
    """
    page, _ = store.runs.find(None, RunState.FAILED, limit)
    repeated = successors(store, page)
    by_schedule: defaultdict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in page:
        if successor_id(run) not in repeated:
            by_schedule[run.schedule, "" if run.schedule else run.program].append(run)
    names = [schedule for schedule, _ in by_schedule if schedule]
    present = {one.name for one in store.schedules.get(names)} if names else set()
    for (schedule, _), runs in by_schedule.items():
        if schedule and schedule not in present:
            continue
        remaining = _not_made_up_for(store, schedule, runs)
        if remaining:
            oldest = remaining[-1]
            yield FailedRuns(
                schedule=schedule,
                program=oldest.program,
                count=len(remaining),
                run=oldest.id,
                since=oldest.finished_at or oldest.created_at,
                why=oldest.reason,
            )


def _not_made_up_for(store: StoreView, schedule: str, runs: Sequence[Run]) -> list[Run]:
    if not schedule or not any(run.is_of_worker for run in runs):
        return list(runs)
    last = store.runs.last(schedule, _SUCCEEDED)
    succeeded_at = None if last is None else last.launched_at
    return [
        run
        for run in runs
        if not run.is_of_worker
        or succeeded_at is None
        or (run.launched_at or run.created_at) > succeeded_at
    ]


def paused(store: StoreView) -> Iterator[Paused]:
    """The schedules that were paused because their runs failed."""
    for row in paused_schedules(store):
        yield Paused(row.name, row.changed_at, row.reason)


def quarantine(bus: BusView, limit: int) -> Quarantine | None:
    """The newest messages in quarantine; None if there are none."""
    dead = bus.dead(limit)
    if not dead:
        return None
    oldest = dead[-1]
    return Quarantine(len(dead), oldest.at, oldest.queue, oldest.reason)
