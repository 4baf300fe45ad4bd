"""Writes of a schedule's row together with its runs, each in one batch.

New runs are stored before the row; the ends of dropped jobs, and of runs that will not happen,
after it. So an interrupted batch, in an engine without transactions, records no end of a run that
goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from synergy.commands.drop_reasons import off, superseded
from synergy.commands.schedule_rows import Row, dropped, overtaken_if
from synergy.errors import Refused
from synergy.lifecycle.legal_moves import RunMove
from synergy.lifecycle.state_changes import advance
from synergy.messaging.protocol import Bus
from synergy.model.actor import Actor
from synergy.model.journal_event import JournalEvent
from synergy.model.schedule import Run, RunChange, RunState, Schedule, ScheduleChange
from synergy.names import AGENT_TOPIC
from synergy.program import PROGRAM
from synergy.queries.schedules.run_successors import run_pages
from synergy.storage.protocol import Batch, Store


class ScheduleWriter:
    """Writes schedules on an operator's behalf, and wakes the agents."""

    def __init__(self, store: Store, bus: Bus) -> None:
        self._store = store
        self._bus = bus

    def create(self, rows: Sequence[Row], actor: Actor) -> None:
        """Stores new schedules; raises Refused if a name is in use."""
        with self._store.batch() as batch:
            self._store.runs.create([run for row in rows for run in row.runs], actor.who)
            in_use = self._store.schedules.create([row.schedule for row in rows], actor.who)
            if in_use:
                raise names_in_use(in_use)
            self._wake_after(batch)

    def change(self, row: Row, event: JournalEvent, actor: Actor, now: datetime) -> None:
        """Stores a changed schedule and drops its pending jobs; raises Overtaken."""
        change = ScheduleChange(row.schedule, event, actor.why, actor.who)
        with self._store.batch() as batch:
            self._store.runs.create(row.runs, actor.who)
            overtaken_if(self._store.schedules.change([change]))
            self._store.runs.create(row.gone, actor.who)
            version = row.schedule.version if event == JournalEvent.SCHEDULE_CHANGED else None
            reason = _why_dropped(event, row)
            self._abort_pending(row.schedule.name, reason, actor, now, row.runs, version)
            self._wake_after(batch)

    def remove(self, present: Schedule, actor: Actor, now: datetime) -> None:
        """Removes a schedule and drops its pending jobs; raises Overtaken."""
        reason = "its schedule was removed"
        with self._store.batch() as batch:
            is_removed = self._store.schedules.remove(present, actor.why, actor.who, now)
            overtaken_if(not is_removed)
            self._store.runs.create(dropped(present, reason, now), actor.who)
            self._abort_pending(present.name, reason, actor, now)
            self._wake_after(batch)

    def _abort_pending(
        self,
        name: str,
        reason: str,
        actor: Actor,
        now: datetime,
        new: Sequence[Run] = (),
        version: int | None = None,
    ) -> None:
        """Drops the pending jobs of a schedule, except the `new` ones and those of `version`.

        A job that is launched meanwhile is left alone.
        """
        ids = {run.id for run in new}
        pending = [
            run
            for state in (RunState.PENDING_CONSTRAINT, RunState.PENDING_LAUNCH)
            for page in run_pages(self._store, name, state)
            for run in page
            if run.id not in ids and run.version != version
        ]
        aborted = [advance(run, RunMove.ABORT, now, reason) for run in pending]
        self._store.runs.change([RunChange(run, reason, actor.who) for run in aborted])

    def _wake_after(self, batch: Batch) -> None:
        batch.after_commit(partial(self._bus.notify, AGENT_TOPIC))


def names_in_use(names: Sequence[str]) -> Refused:
    """The error for new schedules whose names are in use."""
    return Refused(
        f"schedules exist already: {', '.join(names)}; nothing was added. {PROGRAM} schedule edit "
        "NAME FILE changes one"
    )


def _why_dropped(event: JournalEvent, row: Row) -> str:
    if event == JournalEvent.SCHEDULE_CHANGED:
        return superseded(row.schedule.version)
    # An agent that disables a schedule drops its pending jobs in a later step; some may be left.
    if event == JournalEvent.SCHEDULE_ENABLED:
        return "its schedule was disabled"
    return off(row.schedule.reason)
