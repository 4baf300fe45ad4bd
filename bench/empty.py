"""Measures how fast a scheduler finishes closed periods whose source is empty."""

from __future__ import annotations

from bench.contexts.empty import PROCESSES
from bench.contexts.parts import SCHEDULER
from bench.figures import Figure
from bench.history import closed_hours_ago, entries, finished_jobs, first_time
from bench.stage import Lab
from synergy.clock import SystemClock
from synergy.model.journal_event import JournalEvent

CONTEXT = "bench.contexts.empty"
TIMEOUT = 300.0


def measure(lab: Lab, size: int) -> list[Figure]:
    """Periods finished per second, and CPU time for each; `size` is the hours per process."""
    first_hour = closed_hours_ago(size, SystemClock().now())
    total = size * len(PROCESSES)
    with lab.stage(CONTEXT, start_timeperiod=first_hour) as stage:
        stage.start(SCHEDULER)

        def is_done() -> bool:
            done = finished_jobs(stage.store, PROCESSES)
            stage.tell(min(done, total), total)
            return done >= total

        stage.until(is_done, f"{total} empty periods", TIMEOUT)
        cpu = stage.cpu_seconds(SCHEDULER)
        began = first_time(stage.store, JournalEvent.SCHEDULER_LEADS)
        ended = max(
            entry.at for entry in entries(stage.store) if entry.event == JournalEvent.JOB_NOOP
        )
        done = finished_jobs(stage.store, PROCESSES)
    rate = done / (ended - began).total_seconds()
    return [
        Figure("empty periods finished", rate, "periods/s", at_least=20_000),
        Figure("CPU of the scheduler", cpu / done * 1e6, "µs/period"),
    ]
