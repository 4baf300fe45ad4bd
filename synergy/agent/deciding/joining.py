"""Events that join a run that waits, with `coalesce`, instead of counting for the next run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from synergy.agent.deciding.unfinished_runs import UnfinishedRuns
from synergy.agent.deciding.wait_queues import position_of
from synergy.model.schedule import Run, RunChange, RunKind, RunState, Schedule
from synergy.schedule.progress.run_building import joined_by
from synergy.schedule.progress.state import Occurrence
from synergy.storage.protocol import Store


def waiting_run(store: Store, unfinished: UnfinishedRuns, row: Schedule) -> Run | None:
    """The first run of the schedule that events triggered and that waits, as stored.

    It is read again: an operator may have canceled it meanwhile.
    """
    if not row.definition.get("coalesce"):
        return None
    runs = store.runs.get([run.id for run in unfinished.pending_of(row.name)])
    waiting = (
        run
        for run in runs
        if run.kind is RunKind.EVENTS
        and run.state is RunState.PENDING_CONSTRAINT
        and run.version == row.version
    )
    return min(waiting, key=position_of, default=None)


def joining(run: Run, joined: Sequence[Occurrence], agent: str) -> RunChange:
    """The change of a waiting run that these occurrences join."""
    detail = replace(run.detail, cause=joined_by(run.detail.cause, joined))
    return RunChange(replace(run, detail=detail), "", agent)
