"""Where a schedule begins in the life of its name: created, edited, enabled, or added again.

Keys of runs are unique for good, and some of them rest on no instant of their own: `first`, and
those of a `once`. A schedule whose name had another life, and one that is enabled again after
its job was dropped, therefore begin at a version whose keys nobody has. What has had its turn
does not have it again because somebody edits something else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from synergy.commands.schedule_rows import Row, Seen, begun
from synergy.errors import InvalidValue
from synergy.model.schedule import Schedule, ScheduleChange, run_id
from synergy.schedule.definition import Definition, Elapsed, leaves
from synergy.schedule.format.read import Known, read
from synergy.schedule.progress import transitions
from synergy.schedule.progress.state import ProgressState
from synergy.storage.protocol import Store


def first_versions(store: Store, definitions: Sequence[Definition]) -> dict[str, int]:
    """At which version new schedules begin, by name: 1, or after what was removed."""
    versions = {definition.name: 1 for definition in definitions}
    unsure = list(definitions)
    while unsure:
        ids = [
            run_id(definition.name, key)
            for definition in unsure
            for key in transitions.lasting_keys(definition, versions[definition.name])
        ]
        taken = {run.schedule: run for run in (store.runs.get(ids) if ids else ())}
        for name, run in taken.items():
            versions[name] = max(versions[name], run.version) + 1
        unsure = [definition for definition in unsure if definition.name in taken]
    return versions


def begun_again(
    store: Store,
    present: Schedule,
    row: Schedule,
    definition: Definition,
    now: datetime,
    seen: Seen,
) -> Row:
    """A schedule that is edited while it is enabled, or is enabled."""
    if not present.is_enabled and row.version == present.version:
        row = replace(row, version=row.version + _was_dropped(store, row, definition))
    done = _turns_had(store, present, definition) if present.is_enabled else ()
    life = min(version.version for version in store.schedules.versions(row.name))
    return begun(row, definition, now, seen, life=life, done=done)


def _was_dropped(store: Store, row: Schedule, definition: Definition) -> bool:
    """Whether a `once` of this version ended before it was launched."""
    keys = transitions.once_keys(definition, row.version)
    runs = store.runs.get([run_id(row.name, key) for key in keys])
    return any(run.state.is_finished and run.launched_at is None for run in runs)


def _turns_had(store: Store, present: Schedule, definition: Definition) -> tuple[str, ...]:
    """What is not to come again with a new version: it has come, and is not just dropped."""
    try:
        before, came = read(present.definition, Known()), ProgressState.from_json(present.progress)
    except (InvalidValue, KeyError, TypeError, ValueError):  # it never was in order
        return ()
    keys = transitions.once_keys(before, present.version)
    runs = store.runs.get([run_id(present.name, key) for key in keys])
    dropped = {run.due_at for run in runs if run.launched_at is None}
    return transitions.turns_had(before, came, definition, dropped)


def put_off(store: Store, schedule: Schedule, now: datetime) -> None:
    """Somebody runs a schedule by hand: what comes so long after the last run comes later.

    If an agent decides about it at the same moment, that run counts, and nothing is put off.
    """
    if not schedule.is_enabled:
        return
    try:
        definition = read(schedule.definition, Known())
        came = ProgressState.from_json(schedule.progress)
    except (InvalidValue, KeyError, TypeError, ValueError):
        return
    if any(isinstance(leaf, Elapsed) for _, leaf in leaves(definition.trigger)):
        came = replace(came, last_run_at=max(came.last_run_at or now, now))
        wakes = transitions.wake_at(definition, came, now)
        row = replace(schedule, progress=came.to_json(), wake_at=wakes)
        store.schedules.change([ScheduleChange(row)])
