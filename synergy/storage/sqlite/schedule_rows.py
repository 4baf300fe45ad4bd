"""Between rows and values: schedules, their runs, and events."""

from __future__ import annotations

import orjson

from synergy.model.schedule import Event, Origin, Run, RunState, Schedule, ScheduleVersion
from synergy.storage.encoding import instant, instant_or_none, json, micros, micros_or_none
from synergy.storage.sqlite.rows import Row

_STATES = (
    RunState.PENDING_CONSTRAINT,
    RunState.PENDING_LAUNCH,
    RunState.LAUNCHED,
    RunState.PROCESSED,  # from here on, a run is finished
    RunState.NOOP,
    RunState.FAILED,
    RunState.ABORTED,
    RunState.SKIPPED,
    RunState.CANCELED,
)
_CODES = {state: code for code, state in enumerate(_STATES)}
_ORIGINS = {origin.value: origin for origin in Origin}


def code(state: RunState) -> int:
    """A run's state as it is stored."""
    return _CODES[state]


def state(stored: int) -> RunState:
    """The state that `code` stored."""
    return _STATES[stored]


def schedule(row: Row) -> Schedule:
    """A row of `schedule`, and the definition of its version."""
    (
        _, name, version, origin, is_enabled, reason, progress, wake_at, keys, created_at,
        changed_at, rev, definition,
    ) = row  # fmt: skip
    return Schedule(
        name=name,
        definition=orjson.loads(definition),
        version=version,
        origin=_ORIGINS[origin],
        is_enabled=bool(is_enabled),
        reason=reason,
        progress=orjson.loads(progress),
        wake_at=instant_or_none(wake_at),
        keys=tuple(orjson.loads(keys)),
        created_at=instant(created_at),
        changed_at=instant(changed_at),
        rev=rev,
    )


def schedule_row(schedule: Schedule) -> Row:
    """The columns of a new schedule, without number and `rev`."""
    *state, changed_at = changing(schedule)
    return (schedule.name, schedule.version, *state, micros(schedule.created_at), changed_at)


def changing(schedule: Schedule) -> Row:
    """The columns that a change writes, in order, without the version."""
    return (
        schedule.origin.value,
        schedule.is_enabled,
        schedule.reason,
        json(schedule.progress, f"the progress of schedule {schedule.name!r}"),
        micros_or_none(schedule.wake_at),
        orjson.dumps(schedule.keys),
        micros(schedule.changed_at),
    )


def version_row(version: ScheduleVersion) -> Row:
    """The columns of a version, without the schedule's number."""
    definition = json(version.definition, f"the definition of schedule {version.name!r}")
    return (version.version, micros(version.at), version.who, definition)


def version(row: Row) -> ScheduleVersion:
    """A row of `schedule_version`, with the schedule's name."""
    name, number, definition, at, who = row
    return ScheduleVersion(name, number, orjson.loads(definition), instant(at), who)


def run(row: Row) -> Run:
    """A row of `run`."""
    (
        _, id_, schedule, key, due_at, version, state, program, created_at, group, priority, reason,
        attempt, owner, not_before, launched_at, finished_at, rev, request, detail,
    ) = row  # fmt: skip
    return Run(
        id=id_,
        schedule=schedule,
        key=key,
        due_at=instant(due_at),
        version=version,
        state=_STATES[state],
        program=program,
        created_at=instant(created_at),
        group=group,
        priority=priority,
        reason=reason,
        attempt=attempt,
        owner=owner,
        not_before=instant_or_none(not_before),
        launched_at=instant_or_none(launched_at),
        finished_at=instant_or_none(finished_at),
        request=orjson.loads(request),
        detail=orjson.loads(detail),
        rev=rev,
    )


def run_row(run: Run) -> Row:
    """The columns of a new run, without number and `rev`."""
    return (
        run.id,
        run.schedule,
        run.key,
        micros(run.due_at),
        run.version,
        _CODES[run.state],
        run.program,
        micros(run.created_at),
        *_rest(run),
    )


def run_changing(run: Run) -> Row:
    """The columns that a change writes, in order."""
    return (run.version, _CODES[run.state], run.program, *_rest(run))


def _rest(run: Run) -> Row:
    return (
        run.group,
        run.priority,
        run.reason,
        run.attempt,
        run.owner,
        micros_or_none(run.not_before),
        micros_or_none(run.launched_at),
        micros_or_none(run.finished_at),
        json(run.request, f"the request of run {run.id}"),
        json(run.detail, f"the detail of run {run.id}"),
    )


def event(row: Row) -> Event:
    """A row of `event`."""
    seq, id_, type_, resource, timestamp, at, who, body = row
    return Event(
        id=id_,
        type=type_,
        resource=resource,
        timestamp=instant(timestamp),
        at=instant(at),
        who=who,
        body=orjson.loads(body),
        seq=seq,
    )


def event_row(event: Event) -> Row:
    """The columns of a new event, without its number."""
    return (
        event.id,
        event.type,
        event.resource,
        micros(event.timestamp),
        micros(event.at),
        event.who,
        json(event.body, f"event {event.id!r}"),
    )
