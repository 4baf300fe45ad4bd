"""The version at which a schedule begins: created, edited, enabled, or added again.

Keys of runs stay unique forever, and some do not depend on an instant: `first`, and those of a
`once`. A schedule whose name was used before, and one that is enabled again after its job was
dropped, therefore begin at a version whose keys are unused. A one-off run that was made is not
repeated when another part of the schedule is edited.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from synergy.commands.schedule_rows import Row, Seen, begun
from synergy.errors import InvalidValue
from synergy.model.schedule import Schedule, ScheduleChange, run_id
from synergy.schedule.check_context import Known
from synergy.schedule.definition import Definition, Elapsed, leaves
from synergy.schedule.format.read import read
from synergy.schedule.progress import due_times, steps
from synergy.schedule.progress.state import ProgressState
from synergy.storage.protocol import Store


def first_versions(store: Store, definitions: Sequence[Definition]) -> dict[str, int]:
    """The first versions of new schedules by name: 1, or the next after a removed schedule."""
    versions = {definition.name: 1 for definition in definitions}
    unsure = list(definitions)
    while unsure:
        ids = [
            run_id(definition.name, key)
            for definition in unsure
            for key in due_times.lasting_keys(definition, versions[definition.name])
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
    """A schedule that is enabled, or was enabled when it was edited."""
    if not present.is_enabled and row.version == present.version:
        row = replace(row, version=row.version + _was_dropped(store, row, definition))
    done = _legs_done(store, present, definition) if present.is_enabled else ()
    life = min(version.version for version in store.schedules.versions(row.name))
    return begun(row, definition, now, seen, life=life, done=done)


def _was_dropped(store: Store, row: Schedule, definition: Definition) -> bool:
    """Whether a `once` of this version ended before it was launched."""
    keys = due_times.once_keys(definition, row.version)
    runs = store.runs.get([run_id(row.name, key) for key in keys])
    return any(run.state.is_finished and run.launched_at is None for run in runs)


def _legs_done(store: Store, present: Schedule, definition: Definition) -> tuple[str, ...]:
    """The one-off legs that are not due again in a new version: their runs were not dropped."""
    stored = _read(present)
    if stored is None:
        return ()
    before, progress = stored
    keys = due_times.once_keys(before, present.version)
    runs = store.runs.get([run_id(present.name, key) for key in keys])
    dropped = {run.due_at for run in runs if run.launched_at is None}
    return due_times.legs_done(before, progress, definition, dropped)


def postpone(store: Store, schedule: Schedule, now: datetime) -> None:
    """Postpones the `elapsed` legs of a schedule that a person runs now.

    If an agent decides about the schedule at the same moment, its decision wins.
    """
    stored = _read(schedule) if schedule.is_enabled else None
    if stored is None:
        return
    definition, progress = stored
    if any(isinstance(leaf, Elapsed) for _, leaf in leaves(definition.trigger)):
        progress = replace(progress, last_run_at=max(progress.last_run_at or now, now))
        wakes = steps.wake_at(definition, progress)
        row = replace(schedule, progress=progress.to_json(), wake_at=wakes)
        store.schedules.change([ScheduleChange(row)])


def _read(schedule: Schedule) -> tuple[Definition, ProgressState] | None:
    """Definition and progress of a schedule; None if they are invalid."""
    try:
        return read(schedule.definition, Known()), ProgressState.from_json(schedule.progress)
    except (InvalidValue, KeyError, TypeError, ValueError):
        return None
