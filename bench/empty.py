"""Periods of a closed range for which the source holds nothing."""

from __future__ import annotations

from bench.contexts.empty import WORK
from bench.contexts.parts import SCHEDULER
from bench.figures import Figure
from bench.history import closed_hours_ago, entries, finished_jobs, first_time
from bench.stage import Lab
from synergy.clock import SystemClock
from synergy.model.journal_event import JournalEvent

CONTEXT = "bench.contexts.empty"
TIMEOUT = 300.0


def measure(lab: Lab, size: int) -> list[Figure]:
    """The number of periods that a scheduler finishes a second; `size` hours for each process."""
    first_hour = closed_hours_ago(size, SystemClock().now())
    total = size * len(WORK)
    with lab.stage(CONTEXT, start_timeperiod=first_hour) as stage:
        stage.start(SCHEDULER)

        def is_done() -> bool:
            done = finished_jobs(stage.store, WORK)
            stage.tell(min(done, total), total)
            return done >= total

        stage.until(is_done, f"{total} empty periods", TIMEOUT)
        cpu = stage.cpu_seconds(SCHEDULER)
        began = first_time(stage.store, JournalEvent.SCHEDULER_LEADS)
        ended = max(
            entry.at for entry in entries(stage.store) if entry.event == JournalEvent.JOB_NOOP
        )
        done = finished_jobs(stage.store, WORK)
    rate = done / (ended - began).total_seconds()
    return [
        Figure("empty periods finished", rate, "periods/s", at_least=20_000),
        Figure("CPU of the scheduler", cpu / done * 1e6, "µs/period"),
    ]
