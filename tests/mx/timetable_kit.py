"""Timetables for tests of MX: a deployment, its first hour, and jobs moved by hand."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from synergy.model.job import JobChange, JobState
from synergy.model.process import Blocking, Deployment
from synergy.names import TIMETABLE_START
from tests.deployments import DAILY, HOURLY, a_deployment, a_process
from tests.service.scheduler_harness import SchedulerHarness

START = "2015051700"
NOON = datetime(2015, 5, 18, 12, 0, tzinfo=UTC)


def hours_days_and_client(**hourly: Any) -> Deployment:
    """Days sum up the hours of a source; another tree reads the days."""
    day = a_process("Day", DAILY, source="hour", sink="day")
    hour = a_process("Hour", HOURLY, source="raw", sink="hour", **hourly)
    client = a_process("Client", DAILY, source="day", sink="client", blocking=Blocking.DEPENDENCIES)
    return a_deployment({"site": [day, hour], "client": [client]}, {"client": ("site",)})


def started(world: SchedulerHarness, start: str = START) -> SchedulerHarness:
    """Fixes the first hour of the timetable."""
    world.store.facts.set(TIMETABLE_START, start)
    return world


def move(
    world: SchedulerHarness,
    first: int | str,
    last: int | str,
    after: JobState,
    *,
    process: str = "Hour",
    before: JobState = JobState.EMBRYO,
    why: str = "so",
    generation: int = 1,
    **fields: Any,
) -> None:
    """Moves jobs from one state to another; a number counts hours from `START`."""
    qualifier = world.deployment.processes[process].qualifier
    zero = qualifier.cast(START)
    span = [zero + at if isinstance(at, int) else qualifier.parse(at) for at in (first, last)]
    moves = [JobChange(process, qualifier, *span, before, after, generation, why, "t", **fields)]
    assert not world.store.jobs.move(moves, world.clock.now())
