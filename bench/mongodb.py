"""Catch-up of units over a MongoDB store, whose bus it is too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bench import floor
from bench.figures import BenchFailed, Figure
from bench.history import closed_hours_ago
from bench.stage import Lab, Stage
from bench.units import CONTEXT, catch_up
from synergy import compose
from synergy.clock import SystemClock


@contextmanager
def new_database(lab: Lab, **settings: str) -> Iterator[Stage]:
    """A stage over a database that did not exist, which is removed afterwards."""
    with lab.stage(CONTEXT, store=lab.store, **settings) as stage:
        found = stage.project.settings
        if found.store_file is not None or compose.has_store(found):
            raise BenchFailed("expected the URL of a MongoDB database that does not exist yet")
        try:
            yield stage
        finally:
            stage.stop()
            compose.remove_store(found)


def measure(lab: Lab, size: int) -> list[Figure]:
    """The rate for `size` units, and the rate of one process that does nothing else."""
    first_hour = closed_hours_ago(size, SystemClock().now())
    with new_database(lab, start_timeperiod=first_hour) as stage:
        found = catch_up(stage, size)
    with new_database(lab) as stage:
        best = floor.units_per_second(stage.store, size)
    return [
        Figure("units, created, claimed and concluded", found.rate, "units/s"),
        Figure("the same rows by one process, nothing else", best, "units/s"),
        Figure("share of that", found.rate / best * 100, "%"),
        *found.cpu(),
    ]
