"""The runs of one-off jobs: schedules with a `once` trigger."""

from __future__ import annotations

from datetime import datetime

from synergy.commands.schedule_rows import run_of
from synergy.lifecycle.legal_moves import RunMove
from synergy.model.schedule import Run, RunKind, Schedule, run_id
from synergy.schedule.definition import Definition
from synergy.schedule.progress.due_times import once_key, once_keys
from synergy.schedule.progress.state import Made
from synergy.storage.protocol import Store


def run_of_job(store: Store, job: Schedule, definition: Definition) -> Run | None:
    """The run of a one-off job, if it has one; maybe from the version before an edit."""
    keys = once_keys(definition, job.version)
    runs = store.runs.get([run_id(job.name, key) for key in keys])
    if runs or not job.progress.get("done"):
        return runs[0] if runs else None
    found, _ = store.runs.find(job.name)
    return next((run for run in found if run.kind is RunKind.DUE), None)


def canceled_run(
    job: Schedule, definition: Definition, at: datetime, reason: str, now: datetime
) -> Run:
    """The record of the run that a one-off job will not have."""
    key = once_key(at, job.version)
    made = Made(key=key, due_at=at, ended_by=RunMove.CANCEL, reason=reason, created_at=now)
    return run_of(job, definition, made, now)
