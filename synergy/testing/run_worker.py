"""Carries out one unit of a worker on rows in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from synergy.commands.units_by_hand import unit_of_period
from synergy.messaging.message import UnitMessage
from synergy.model.process import Deployment, FreerunProcess, ManagedProcess, WorkingProcess
from synergy.model.unit_of_work import UnitState
from synergy.testing.simulation import Simulation
from synergy.timeperiod import parse_named
from synergy.worker.base import Worker

SOURCE, SINK = "source", "sink"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class WorkerRun:
    """What became of a unit.

    `state` is PROCESSED, NOOP, or INVALID with a `reason`. `error` is the exception that the work
    raised; None if it raised none, and its rows were refused when they were written. `rows` are
    those in the sink now, as another worker would read them; a failed unit has written none. `log`
    has the lines that `launch.py unit log` would show.
    """

    state: UnitState
    rows: list[dict[str, object]]
    counts: Mapping[str, int]
    log: list[str]
    reason: str
    error: BaseException | None


def run_worker(
    worker: type[Worker],
    timeperiod: str | None = None,
    *,
    source: Iterable[Mapping[str, object]] = (),
    arguments: Mapping[str, Any] | None = None,
    now: datetime = NOW,
) -> WorkerRun:
    """Has a new worker of that class carry out a period, with these rows as its source.

    A row belongs to the period, unless its field `timeperiod` names another one: so do the rows of
    the hours of a day, and those that `task.source.between` reads. Without a period the worker is
    that of a free-run process, and carries out a run that is due `now`. Raises InvalidValue for ten
    digits that are an hour as well as a day: `2015-05-17` is the day.
    """
    fields: dict[str, Any] = {
        "name": worker.__name__,
        "classname": f"{worker.__module__}.{worker.__name__}.start",
        "token": worker.__name__,
        "present_on_boxes": (".*",),
        "arguments": arguments or {},
        "max_attempts": 1,
    }
    if timeperiod is None:
        with _simulation(FreerunProcess(**fields), worker, now) as simulation:
            return _carried_out(simulation, simulation.trigger(worker.__name__) or "")
    qualifier, ordinal = parse_named(timeperiod)
    process = ManagedProcess(**fields, qualifier=qualifier, source=SOURCE, sink=SINK)
    with _simulation(process, worker, now) as simulation:
        simulation.put(SOURCE, qualifier.timeperiod(ordinal), source)
        return _carried_out(simulation, _request(simulation, process, ordinal))


def _simulation(process: WorkingProcess, worker: type[Worker], now: datetime) -> Simulation:
    """A deployment of one process; its timetable, which is not played through, is short."""
    deployment = Deployment({process.name: process}, {})
    workers = {process.name: worker}
    return Simulation(deployment, start=f"{now:%Y-%m-%d}", now=now, workers=workers)


def _request(simulation: Simulation, process: ManagedProcess, ordinal: int) -> str:
    """Stores a unit that waits for a worker; returns its id."""
    unit = unit_of_period(process, ordinal, simulation.clock.now())
    with simulation.store.batch() as batch:
        simulation.store.units.create([unit], "a test")
        message = UnitMessage(unit.id, unit.attempt)
        simulation.bus.publish(process.queue, [message], batch)
    return unit.id


def _carried_out(simulation: Simulation, id_: str) -> WorkerRun:
    """Has the worker carry out the unit."""
    simulation.work()
    (unit,) = simulation.store.units.get([id_])
    return WorkerRun(
        unit.state,
        simulation.rows(SINK),
        unit.counts,
        [f"{line.level} {line.text}" for line in simulation.log(id_)],
        unit.reason,
        simulation.errors[-1] if simulation.errors else None,
    )
