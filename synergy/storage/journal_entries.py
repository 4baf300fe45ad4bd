"""Constructors of the entries that a store writes together with a change, for every engine."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, Protocol

from synergy.model.job import JobChange, JobState
from synergy.model.journal import JournalEntry, job_event, run_event, unit_event, with_reason
from synergy.model.journal_event import JournalEvent
from synergy.model.operation import Operation, OperationState
from synergy.model.schedule import Run, RunChange, RunState, Schedule, ScheduleChange
from synergy.model.unit_of_work import UnitOfWork, UnitState

_SWITCH = {None: "", False: "off", True: "on"}

# Jobs and units


def job_moved(move: JobChange, now: datetime) -> JournalEntry:
    """Neighbouring jobs are in another state, or have another generation or other flags."""
    return JournalEntry(
        at=now,
        event=_event_of(move),
        process=move.process,
        first=move.qualifier.timeperiod(move.first),
        last=move.qualifier.timeperiod(move.last),
        before=move.before.word,
        after=move.after.word,
        generation=move.generation + move.start_over,
        why=move.why,
        who=move.who,
        unit=move.unit,
        covered=move.covered,
        flags=move.flags,
    )


def _event_of(move: JobChange) -> JournalEvent:
    if move.start_over:
        return JournalEvent.JOB_STARTED_OVER
    if move.before == move.after:
        return JournalEvent.JOB_STALE
    if move.after is JobState.EMBRYO:
        return JournalEvent.JOB_RETRIED
    if move.before is JobState.GIVEN_UP:
        return JournalEvent.JOB_ACKNOWLEDGED
    return job_event(move.after)


class AnyUnit(Protocol):
    """The fields of a unit that its journal entries hold."""

    @property
    def id(self) -> str: ...
    @property
    def process(self) -> str: ...
    @property
    def timeperiod(self) -> str: ...
    @property
    def generation(self) -> int: ...
    @property
    def attempt(self) -> int: ...


class UnitAttempt(NamedTuple):
    """The fields of a unit that its entries need, for callers without the whole unit."""

    id: str
    process: str
    timeperiod: str
    generation: int
    attempt: int


def unit_created(unit: UnitOfWork, who: str) -> JournalEntry:
    """A unit is new."""
    event = JournalEvent.UNIT_REQUESTED
    return _of_unit(unit, event, "", unit.state.value, "", who, unit.created_at)


def unit_changed(
    unit: AnyUnit, before: UnitState, after: UnitState, why: str, who: str, now: datetime
) -> JournalEntry:
    """A unit is in another state; its `attempt` is the one after the change."""
    return _of_unit(unit, unit_event(after), before.value, after.value, why, who, now)


def unit_extended(unit: AnyUnit, state: UnitState, end_id: int, now: datetime) -> JournalEntry:
    """A unit covers its source up to the write `end_id`."""
    event, why = JournalEvent.UNIT_EXTENDED, f"up to {end_id}"
    return _of_unit(unit, event, state.value, state.value, why, "scheduler", now)


def _of_unit(
    unit: AnyUnit, event: JournalEvent, before: str, after: str, why: str, who: str, now: datetime
) -> JournalEntry:
    period = unit.timeperiod
    return JournalEntry(
        at=now,
        event=event,
        process=unit.process,
        first=period,
        last=period,
        before=before,
        after=after,
        generation=unit.generation,
        why=why,
        who=who,
        unit=unit.id,
        attempt=unit.attempt,
    )


# Schedules and runs


def schedule_created(schedule: Schedule, who: str) -> JournalEntry:
    """A schedule is new."""
    event, after = JournalEvent.SCHEDULE_CREATED, str(schedule.version)
    return JournalEntry.without_period(
        event, schedule.created_at, who, process=schedule.name, after=after
    )


def schedule_changed(change: ScheduleChange, before: int, after: int) -> JournalEntry:
    """A schedule went from one version to another, by a change that has an event."""
    assert change.event is not None
    schedule = change.schedule
    return JournalEntry.without_period(
        change.event, schedule.changed_at, change.who, change.why,
        process=schedule.name, before=str(before), after=str(after),
    )  # fmt: skip


def schedule_removed(schedule: Schedule, why: str, who: str, now: datetime) -> JournalEntry:
    """A schedule was removed."""
    event, before = JournalEvent.SCHEDULE_REMOVED, str(schedule.version)
    return JournalEntry.without_period(event, now, who, why, process=schedule.name, before=before)


def run_created(run: Run, who: str) -> JournalEntry:
    """A run is new."""
    return _of_run(run, "", run.reason, who)


def run_changed(change: RunChange, before: RunState) -> JournalEntry:
    """A run is in another state than before."""
    return _of_run(change.run, before.value, change.why, change.who)


def _of_run(run: Run, before: str, why: str, who: str) -> JournalEntry:
    known = (run.created_at, run.launched_at, run.finished_at)
    return JournalEntry(
        at=max(instant for instant in known if instant is not None),
        event=run_event(run.state),
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


# Operations


def operation_accepted(operation: Operation) -> JournalEntry:
    """An operation was accepted."""
    event = JournalEvent.OPERATION_ACCEPTED
    return _of_operation(operation, event, "", operation.created_at, operation.why)


def operation_finished(operation: Operation, before: OperationState) -> JournalEntry:
    """An operation is done, or failed; then the entry says why it failed."""
    assert operation.finished_at is not None
    failed = operation.state is OperationState.FAILED
    event = JournalEvent.OPERATION_FAILED if failed else JournalEvent.OPERATION_DONE
    why = operation.detail if failed else operation.why
    return _of_operation(operation, event, before.value, operation.finished_at, why)


def _of_operation(
    operation: Operation, event: JournalEvent, before: str, at: datetime, why: str
) -> JournalEntry:
    return JournalEntry.without_period(
        event, at, operation.who, why,
        process=operation.process, before=before, after=operation.state.value, unit=operation.id,
    )  # fmt: skip


# Switches


def process_switched(
    process: str, was_on: bool | None, is_on: bool, who: str, why: str, now: datetime
) -> JournalEntry:
    """A process was switched on or off; `was_on` is None if it was as `context.py` declares it."""
    event = JournalEvent.PROCESS_ON if is_on else JournalEvent.PROCESS_OFF
    before, after = _SWITCH[was_on], _SWITCH[is_on]
    return JournalEntry.without_period(
        event, now, who, why, process=process, before=before, after=after
    )


def trigger_changed(
    process: str, before: str | None, after: str, who: str, why: str, now: datetime
) -> JournalEntry:
    """A managed process got another trigger; `before` is None for the declared one."""
    event = JournalEvent.PROCESS_TRIGGER_FREQUENCY
    return JournalEntry.without_period(
        event, now, who, why, process=process, before=before or "", after=after
    )


def box_switched(
    box: str, process: str, was_on: bool, is_on: bool, who: str, now: datetime, why: str
) -> JournalEntry:
    """A process was switched on or off on a box."""
    event = JournalEvent.BOX_PROCESS_ON if is_on else JournalEvent.BOX_PROCESS_OFF
    before, after = _SWITCH[was_on], _SWITCH[is_on]
    reason = with_reason(f"on box {box}", why)
    return JournalEntry.without_period(
        event, now, who, reason, process=process, before=before, after=after
    )
