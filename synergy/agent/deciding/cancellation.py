"""Cancels the active runs of a schedule for a new run (`overlap: cancel_other`)."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from synergy.lifecycle.legal_moves import RunMove, UnitMove
from synergy.lifecycle.state_changes import advance, move_unit
from synergy.model.schedule import RunChange, RunState
from synergy.storage.protocol import Store

WHY = "canceled for the next run of its schedule"


def cancel_active(store: Store, runs: Collection[str], who: str, now: datetime) -> list[str]:
    """Cancels launched runs and their units; returns the runs whose rows are to be read again.

    A run whose unit has just ended is left: it ends as the unit did. The worker of a unit loses it
    and lets go within its grace time; the answer to a request that is being sent is ignored.
    """
    rows = [run for run in store.runs.get(list(runs)) if run.state is RunState.LAUNCHED]
    units = {unit.id: unit for unit in store.units.get([run.id for run in rows])}
    active = [unit for unit in units.values() if not unit.state.is_finished]
    moves = [move_unit(unit, UnitMove.CANCEL, WHY, who) for unit in active]
    refused = {change.unit for change in store.units.move(moves, now)} if moves else set()
    ended = units.keys() - {unit.id for unit in active}
    changes = [
        RunChange(advance(run, RunMove.CANCEL, now, WHY), WHY, who)
        for run in rows
        if run.id not in refused | ended
    ]
    if changes:
        store.runs.change(changes)
    return [run.id for run in rows if run.id not in ended]
