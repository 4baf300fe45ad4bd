"""The best rates of the disk and the store, for ratios within one run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from bench.history import new_unit
from synergy.clock import SystemClock
from synergy.model.unit_of_work import Conclusion, Hint, UnitState
from synergy.scheduler.decider import BATCH
from synergy.storage.protocol import Store
from synergy.timeperiod import Qualifier
from synergy.worker.unit_runner import LARGEST_GROUP

_PROCESS = "Floor"
_FIRST = Qualifier.HOURLY.parse("2000010100")
T = TypeVar("T")


def syncs_per_second(folder: Path, seconds: float) -> float:
    """How many pages a second the disk makes durable, one after the other."""
    clock, page, count = SystemClock(), bytes(4096), 0
    path = folder / "syncs"
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        os.pwrite(file, page, 0)
        os.fsync(file)
        began = clock.monotonic()
        while (elapsed := clock.monotonic() - began) < seconds:
            os.pwrite(file, page, 0)
            os.fdatasync(file)
            count += 1
    finally:
        os.close(file)
        path.unlink()
    return count / elapsed


def units_per_second(store: Store, count: int) -> float:
    """Units a second through the store's grouped calls, by one process.

    Units are created, claimed and concluded in groups as large as those of scheduler and workers;
    there are no jobs, messages or wake-ups.
    """
    clock = SystemClock()
    units = [new_unit(_PROCESS, _FIRST + number, clock.now()) for number in range(count)]
    began = clock.monotonic()
    for group in _groups(units, BATCH):
        store.units.create(group, "bench")
        for part in _groups(group, LARGEST_GROUP):
            hints = [Hint(unit.id, unit.attempt) for unit in part]
            claimed = store.units.claim(hints, "bench", clock.now())
            ends = [Conclusion(u.id, u.attempt, "bench", UnitState.PROCESSED) for u in claimed]
            store.units.conclude(ends, clock.now())
    return count / (clock.monotonic() - began)


def _groups(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[first : first + size] for first in range(0, len(items), size))
