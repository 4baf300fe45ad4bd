"""Catch-up: units a second from the timetable through workers and back."""

from __future__ import annotations

from dataclasses import dataclass

from bench import floor
from bench.contexts.noop import PROCESS
from bench.contexts.parts import SCHEDULER
from bench.figures import BenchFailed, Figure
from bench.history import closed_hours_ago, finished_jobs, units_of
from bench.stage import Lab, Stage
from synergy.clock import SystemClock
from synergy.model.journal_event import JournalEvent
from synergy.model.unit_of_work import UnitState

CONTEXT = "bench.contexts.noop"
WORKERS = 2
TIMEOUT = 600.0


@dataclass(frozen=True, slots=True)
class CatchUp:
    """The result: units a second, and CPU seconds for all of them."""

    size: int
    rate: float
    scheduler: float
    workers: float

    def cpu(self) -> list[Figure]:
        """The CPU time of a unit."""
        return [
            Figure("CPU of the scheduler", self.scheduler / self.size * 1e6, "µs/unit"),
            Figure("CPU of both workers", self.workers / self.size * 1e6, "µs/unit"),
        ]


def measure(lab: Lab, size: int) -> list[Figure]:
    """The rate for `size` units, and the best rates of store and disk."""
    first_hour = closed_hours_ago(size, SystemClock().now())
    with lab.stage(CONTEXT, start_timeperiod=first_hour) as stage:
        found = catch_up(stage, size)
    with lab.stage(CONTEXT) as stage:
        best = floor.units_per_second(stage.store, size)
        syncs = floor.syncs_per_second(stage.home, 1.0)
    return [
        Figure("units, created, claimed and concluded", found.rate, "units/s", 2000),
        Figure("the same rows by one process, nothing else", best, "units/s"),
        Figure("share of that", found.rate / best * 100, "%"),
        Figure("fsyncs of the disk", syncs, "1/s"),
        *found.cpu(),
    ]


def catch_up(stage: Stage, size: int) -> CatchUp:
    """Runs scheduler and workers of a stage until all its `size` hours are done."""
    stage.start(PROCESS, WORKERS)
    stage.start(SCHEDULER)

    def is_done() -> bool:
        done = finished_jobs(stage.store, [PROCESS])
        stage.tell(min(done, size), size)
        return done >= size

    stage.until(is_done, f"catch-up of {size} units", TIMEOUT)
    scheduler, workers = stage.cpu_seconds(SCHEDULER), stage.cpu_seconds(PROCESS)
    stage.stop()
    units = units_of(stage.store, PROCESS)
    if any(unit.state is not UnitState.PROCESSED or unit.attempt != 1 for unit in units):
        raise BenchFailed("not every unit was processed at its first attempt")
    entries = stage.store.journal.find(PROCESS, limit=5000)
    last = max(entry.at for entry in entries if entry.event == JournalEvent.JOB_PROCESSED)
    seconds = (last - min(unit.created_at for unit in units)).total_seconds()
    return CatchUp(len(units), len(units) / seconds, scheduler, workers)
