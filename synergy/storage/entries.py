"""Journal entries of boxes, schedules, runs and operations, the same in every engine."""

from __future__ import annotations

from datetime import datetime

from synergy.model.journal import JournalEntry
from synergy.model.operation import Operation, OperationState
from synergy.model.schedule import Run, RunChange, RunState, Schedule, ScheduleChange


def box_switched(
    box: str, process: str, was_on: bool, is_on: bool, who: str, now: datetime, why: str
) -> JournalEntry:
    """That a process was switched on or off on a box."""
    before, after = ("on" if on else "off" for on in (was_on, is_on))
    told = f"on box {box}; {why}" if why else f"on box {box}"
    return JournalEntry(now, f"box.process_{after}", process, "", "", before, after, 0, told, who)


def schedule_created(schedule: Schedule, who: str) -> JournalEntry:
    """That a schedule is new."""
    after = str(schedule.version)
    return _of_schedule(schedule, "schedule.created", "", after, schedule.created_at, "", who)


def schedule_changed(change: ScheduleChange, before: int, after: int) -> JournalEntry:
    """That a schedule was changed, from one version to another; for changes with an event."""
    schedule = change.schedule
    return _of_schedule(
        schedule, change.event, str(before), str(after), schedule.changed_at, change.why, change.who
    )


def schedule_removed(schedule: Schedule, why: str, who: str, now: datetime) -> JournalEntry:
    """That a schedule is no more."""
    before = str(schedule.version)
    return _of_schedule(schedule, "schedule.removed", before, "", now, why, who)


def run_created(run: Run, who: str) -> JournalEntry:
    """That a run is new."""
    return _of_run(run, "", run.reason, who)


def run_changed(change: RunChange, before: RunState) -> JournalEntry:
    """That a run is in another state than before."""
    return _of_run(change.run, before.value, change.why, change.who)


def operation_accepted(operation: Operation) -> JournalEntry:
    """That something long was asked for."""
    return _of_operation(operation, "", operation.created_at, operation.why)


def operation_finished(operation: Operation, before: OperationState) -> JournalEntry:
    """That an operation is done, or failed; why it failed."""
    assert operation.finished_at is not None
    failed = operation.state is OperationState.FAILED
    why = operation.detail if failed else operation.why
    return _of_operation(operation, before.value, operation.finished_at, why)


def _of_operation(operation: Operation, before: str, at: datetime, why: str) -> JournalEntry:
    after = operation.state.value
    return JournalEntry(
        at, f"operation.{after}", operation.process, "", "", before, after, 0, why,
        operation.who, operation.id,
    )  # fmt: skip


def _of_schedule(
    schedule: Schedule, event: str, before: str, after: str, at: datetime, why: str, who: str
) -> JournalEntry:
    return JournalEntry(at, event, schedule.name, "", "", before, after, 0, why, who)


def _of_run(run: Run, before: str, why: str, who: str) -> JournalEntry:
    return JournalEntry(
        at=_latest(run),
        event=f"run.{run.state.value}",
        process=run.schedule or run.program,
        first="",
        last="",
        before=before,
        after=run.state.value,
        generation=0,
        why=why,
        who=who,
        unit=run.id,
        attempt=run.attempt,
    )


def _latest(run: Run) -> datetime:
    """The newest of the instants that a run knows; what a change is told to have happened at."""
    known = (run.created_at, run.launched_at, run.finished_at)
    return max(instant for instant in known if instant is not None)
