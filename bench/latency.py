"""The time from the end of a unit to the start of its dependant's unit, without other work."""

from __future__ import annotations

from bench.contexts.pair import FIRST, SECOND
from bench.contexts.parts import SCHEDULER
from bench.figures import BenchFailed, Figure, percentile
from bench.history import closed_hours_ago, finished_jobs
from bench.stage import Lab, Stage, pause
from synergy.clock import SystemClock
from synergy.commands.bulk import Bulk, BulkRequest, BulkVerb, Range
from synergy.model.actor import Actor
from synergy.model.unit_of_work import UnitOfWork
from synergy.queries.reads import Reads
from synergy.timeperiod import Qualifier

CONTEXT = "bench.contexts.pair"
HOURS = 24
LONGEST_SECONDS = 10.0  # the time limit of one sample
QUIET_SECONDS = 0.02  # the pause between samples, so that all processes come to rest

_clock = SystemClock()


def measure(lab: Lab, size: int) -> list[Figure]:
    """From `finished_at` of one unit to `started_at` of the other, `size` times."""
    first_hour = closed_hours_ago(HOURS, _clock.now())
    with lab.stage(CONTEXT, start_timeperiod=first_hour) as stage:
        for process in (FIRST, SECOND, SCHEDULER):
            stage.start(process)
        stage.until(lambda: _is_caught_up(stage), "the first run of all periods", 60.0)
        begin = Qualifier.HOURLY.parse(first_hour)
        samples = []
        for number in range(size):
            hour = Qualifier.HOURLY.timeperiod(begin + number % HOURS)
            samples.append(_sample(stage, hour, number // HOURS + 2))
            stage.tell(number + 1, size)
            pause(QUIET_SECONDS)
    return [
        Figure("conclusion to dependant claimed, p50", percentile(samples, 50), "ms", at_most=15),
        Figure("conclusion to dependant claimed, p99", percentile(samples, 99), "ms", at_most=50),
        Figure("conclusion to dependant claimed, max", max(samples), "ms"),
    ]


def _is_caught_up(stage: Stage) -> bool:
    return finished_jobs(stage.store, [FIRST, SECOND]) >= 2 * HOURS


def _sample(stage: Stage, hour: str, generation: int) -> float:
    """Starts a period over; milliseconds from the first unit's end to the second's start."""
    deployment = stage.project.deployment
    reads = Reads(stage.store, stage.bus, deployment, _clock)
    bulk = Bulk(stage.store, stage.bus, deployment, reads.timetable)
    request = BulkRequest(BulkVerb.REPROCESS, (Range(FIRST, hour, hour),))
    bulk.act(request, Actor("bench", "a sample"), _clock.now())
    second = stage.woken_until(
        lambda: _finished(stage, SECOND, hour, generation),
        f"{SECOND} {hour} once more",
        LONGEST_SECONDS,
    )
    first = _finished(stage, FIRST, hour, generation)
    if first is None or first.finished_at is None or second.started_at is None:
        raise BenchFailed(f"{SECOND} {hour} ran before {FIRST} was done")
    return (second.started_at - first.finished_at).total_seconds() * 1000


def _finished(stage: Stage, process: str, hour: str, generation: int) -> UnitOfWork | None:
    units = stage.store.units.of_jobs(process, hour, hour)
    found = (unit for unit in units if unit.generation == generation and unit.state.is_finished)
    return next(found, None)
