"""From `supervisor start` in an empty home to the first unit that a worker has processed."""

from __future__ import annotations

from statistics import median

from bench.figures import BenchFailed, Figure
from bench.history import entries, first_time
from bench.stage import Lab, Stage
from synergy import compose
from synergy.clock import SystemClock
from synergy.model.journal_event import JournalEvent

CONTEXT = "context"  # the default deployment
EVENT = JournalEvent.UNIT_PROCESSED
TIMEOUT = 60.0

_clock = SystemClock()


def measure(lab: Lab, size: int) -> list[Figure]:
    """The default deployment with its demo stream; the median of `size` starts."""
    starts = []
    for number in range(size):
        with lab.stage(CONTEXT, demo_stream="on") as stage:
            starts.append(_start(stage))
        lab.tell(number + 1, size)
    first, up, stop = (median(column) for column in zip(*starts, strict=True))
    return [
        Figure("start to first unit processed", first, "s", at_most=10),
        Figure("start to all processes up", up, "s"),
        Figure("stop", stop, "s"),
    ]


def _start(stage: Stage) -> tuple[float, float, float]:
    """Seconds to the first processed unit, to the end of the command, and for the stop."""
    began = _clock.now()
    stage.command("supervisor", "start")
    up = (_clock.now() - began).total_seconds()
    stage.until(lambda: _has_processed(stage), "a processed unit", TIMEOUT, every=0.1)
    first = (first_time(stage.store, EVENT) - began).total_seconds()
    return first, up, stopped(stage)


def _has_processed(stage: Stage) -> bool:
    return compose.has_store(stage.project.settings) and any(
        entry.event == EVENT for entry in entries(stage.store)
    )


def stopped(stage: Stage) -> float:
    """The seconds that a stop takes; raises BenchFailed if it leaves processes behind."""
    began = _clock.monotonic()
    report = stage.command("supervisor", "stop")
    if report["left"] or not report["is_stopped"]:
        raise BenchFailed(f"the stop left processes behind: {report}")
    return _clock.monotonic() - began
