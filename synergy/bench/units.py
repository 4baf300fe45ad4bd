"""Catch-up: how many units a second go from the timetable through workers and back."""

from __future__ import annotations

from synergy.bench import floor
from synergy.bench.contexts.noop import WORK
from synergy.bench.contexts.parts import SCHEDULER
from synergy.bench.figures import BenchFailed, Figure
from synergy.bench.history import closed_hours_ago, finished_jobs, units_of
from synergy.bench.stage import Lab, Stage
from synergy.clock import SystemClock
from synergy.model.unit_of_work import UnitState

CONTEXT = "synergy.bench.contexts.noop"
WORKERS = 2
TIMEOUT = 600.0


def measure(lab: Lab, size: int) -> list[Figure]:
    """The rate for `size` units, and what store and disk could do at best."""
    first_hour = closed_hours_ago(size, SystemClock().now())
    with lab.stage(CONTEXT, start_timeperiod=first_hour) as stage:
        figures = _catch_up(stage, size)
    with lab.stage(CONTEXT) as stage:
        best = floor.units_per_second(stage.store, size)
        syncs = floor.syncs_per_second(stage.home, 1.0)
    return [
        figures[0],
        Figure("the same rows by one process, nothing else", best, "units/s"),
        Figure("share of that", figures[0].value / best * 100, "%"),
        Figure("fsyncs of the disk", syncs, "1/s"),
        *figures[1:],
    ]


def _catch_up(stage: Stage, size: int) -> list[Figure]:
    stage.start(WORK, WORKERS)
    stage.start(SCHEDULER)

    def is_done() -> bool:
        done = finished_jobs(stage.store, [WORK])
        stage.tell(min(done, size), size)
        return done >= size

    stage.until(is_done, f"catch-up of {size} units", TIMEOUT)
    scheduler, workers = stage.cpu_seconds(SCHEDULER), stage.cpu_seconds(WORK)
    stage.stop()
    units = units_of(stage.store, WORK)
    if any(unit.state is not UnitState.PROCESSED or unit.attempt != 1 for unit in units):
        raise BenchFailed("not every unit was processed at its first attempt")
    entries = stage.store.journal.find(WORK, limit=5000)
    last = max(entry.at for entry in entries if entry.event == "job.processed")
    seconds = (last - min(unit.created_at for unit in units)).total_seconds()
    return [
        Figure("units, created, claimed and concluded", len(units) / seconds, "units/s", 2000),
        Figure("CPU of the scheduler", scheduler / len(units) * 1e6, "µs/unit"),
        Figure("CPU of both workers", workers / len(units) * 1e6, "µs/unit"),
    ]
