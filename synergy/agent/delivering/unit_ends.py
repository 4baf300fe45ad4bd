"""Ends the runs that workers carry out, with the outcomes of their units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from synergy.agent.context import AgentContext
from synergy.lifecycle.state_changes import advance, outcome_of
from synergy.model.schedule import Run, RunChange, RunState
from synergy.model.unit_of_work import UnitOfWork, UnitState
from synergy.runtime.agent_counters import Meter


class UnitEnds:
    """Ends the runs of finished units.

    `has_ended_runs` is whether it ended any since the flag was last cleared.
    """

    def __init__(self, context: AgentContext) -> None:
        self._store = context.store
        self._meter = context.meter
        self._name = context.name
        self.has_ended_runs = False

    def of_units(self, ids: Sequence[str], now: datetime) -> list[str]:
        """Ends the runs whose units are finished; returns the runs without a unit."""
        units = {unit.id: unit for unit in self._store.units.get(ids)}
        self._end({id_: unit for id_, unit in units.items() if outcome_of(unit)}, now)
        return [id_ for id_ in ids if id_ not in units]

    def _end(self, units: dict[str, UnitOfWork], now: datetime) -> None:
        if not units:
            return
        rows = self._store.runs.get(list(units))
        changes = [
            _ended(row, units[row.id], now, self._name)
            for row in rows
            if row.state is RunState.LAUNCHED
        ]
        refused = self._store.runs.change(changes) if changes else []
        self.has_ended_runs |= len(refused) < len(changes)
        refused_ids = {change.run.id for change in refused}
        for change in changes:
            if change.run.id not in refused_ids:
                count_end(self._meter, change.run)


def count_end(meter: Meter, run: Run) -> None:
    """Counts an ended run."""
    meter.count("job_completed_total", run.state.value)
    if run.launched_at is not None and run.finished_at is not None:
        seconds = (run.finished_at - run.launched_at).total_seconds()
        meter.observe("job_completed_duration_seconds", run.state.value, seconds)


def _ended(run: Run, unit: UnitOfWork, now: datetime, agent: str) -> RunChange:
    outcome = outcome_of(unit)
    assert outcome is not None
    move, reason = outcome
    # Canceling a unit raises its attempt, so that its worker loses it; that attempt never began.
    handed_out = unit.attempt - (unit.state is UnitState.CANCELED)
    ended = advance(run, move, unit.finished_at or now, reason)
    return RunChange(replace(ended, attempt=handed_out), reason, agent)
