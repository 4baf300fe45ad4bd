"""Runs that wait to be launched, and the job that collects the events of a schedule."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from synergy.model.cursor import invalid_cursor
from synergy.model.schedule import Run, RunKind, RunState, Schedule
from synergy.queries.page import Page
from synergy.queries.schedules.trigger_progress import legs_of, missing
from synergy.queries.schedules.views import RunView, run_view
from synergy.schedule.check_context import InvalidDefinition, Known
from synergy.schedule.definition import Definition
from synergy.schedule.format.read import read
from synergy.schedule.progress.state import ProgressState
from synergy.storage.protocol import StoreView

MOST_PENDING = 1000
PENDING_TRIGGER = "pending_trigger"
UNCHECKED = Known()  # a stored definition was checked before; its program may be gone

_WAITING = (RunState.PENDING_LAUNCH, RunState.PENDING_CONSTRAINT)


def pending_runs(store: StoreView, schedule: str | None) -> list[Run]:
    """The runs of a schedule, or of all, that wait to be launched."""
    return [run for state in _WAITING for run in store.runs.find(schedule, state, MOST_PENDING)[0]]


def pending_page(
    store: StoreView, schedule: Schedule, now: datetime, limit: int, cursor: str | None
) -> Page[RunView]:
    """A page of what waits to be launched; see `ScheduleReads.pending_page`."""
    stage, place = _position(cursor)
    items: list[RunView] = []
    while len(items) < limit and stage < len(_WAITING):
        missing_items = limit - len(items)
        found, place = store.runs.find(schedule.name, _WAITING[stage], missing_items, place)
        items += map(run_view, found)
        stage += place is None
    collecting = _collecting(schedule, now)
    if stage < len(_WAITING) or (collecting is not None and len(items) == limit):
        return Page(tuple(items), f"{stage}.{place or ''}")
    return Page((*items, *([collecting] if collecting is not None else ())), None)


def _position(cursor: str | None) -> tuple[int, str | None]:
    """Where a page begins: the index in `_WAITING`, and the cursor within that state."""
    text = "0." if cursor is None else cursor
    stage, dot, place = text.partition(".")
    if not dot or stage not in map(str, range(len(_WAITING) + 1)):
        raise invalid_cursor(text)
    return int(stage), place or None


def _collecting(schedule: Schedule, now: datetime) -> RunView | None:
    """The job in `pending_trigger`, as a run that has no id yet."""
    progress = progress_of(schedule)
    definition, _ = read_stored(schedule)
    if progress is None or progress.collecting is None or definition is None:
        return None
    legs = {leg.path: leg for leg in legs_of(definition, progress, now)}
    return RunView(
        id="",
        schedule=schedule.name,
        key=RunKind.EVENTS.key(progress.collecting.number),
        due_at=progress.collecting.since,
        state=PENDING_TRIGGER,
        program=schedule.process or "delivery",
        group=definition.group,
        priority=definition.priority,
        version=schedule.version,
        attempt=0,
        reason="",
        waits=tuple(missing(definition.trigger, legs)),
        created_at=progress.collecting.since,
        not_before=progress.collecting.since + definition.timeout,
        launched_at=None,
        finished_at=None,
    )


def read_stored(schedule: Schedule) -> tuple[Definition | None, Sequence[str]]:
    """A schedule's definition; or None and the mistakes, if it is not valid any more."""
    try:
        return read(schedule.definition, UNCHECKED), ()
    except InvalidDefinition as error:
        return None, error.mistakes


def progress_of(schedule: Schedule) -> ProgressState | None:
    """The progress of an enabled schedule; None for any other, and if it cannot be read."""
    if not schedule.is_enabled or not schedule.progress:
        return None
    try:
        return ProgressState.from_json(schedule.progress)
    except (KeyError, TypeError, ValueError):
        return None
