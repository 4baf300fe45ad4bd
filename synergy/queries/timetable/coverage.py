"""Finished jobs whose source has rows that they do not cover.

A finished job covers what its last unit covered. If its source was written to since, it is late,
and the scheduler starts it over after a quiet time. Until then its state is finished although its
work is not, so queries about finished work have to check the coverage too.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from synergy.model.job import JobState
from synergy.model.process import LateData
from synergy.model.unit_of_work import UnitState
from synergy.storage.protocol import StoreView
from synergy.timetable.level import Level
from synergy.timetable.timetable import Place

AT_ONCE = 1000  # periods whose units are read in one step


@dataclass(frozen=True, slots=True)
class Uncovered:
    """A finished job whose source holds more than its result was made from."""

    process: str
    timeperiod: str
    state: JobState


def uncovered(store: StoreView, place: Place, first: int, end: int) -> Iterator[Uncovered]:
    """The jobs of `[first, end)` that will be started over because of new rows.

    Left out are jobs of processes that only mark or ignore late data, and skipped jobs, which new
    rows do not start over.
    """
    process, level = place.process, place.level
    source = process.stored_source
    if source is None or process.late_data is not LateData.REPROCESS or first >= end:
        return
    names = level.timeperiod
    highest: dict[int, int] = {}
    earliest = min(begin for begin, _ in level.reads(first))
    marks = store.documents.bounds_by_timeperiod(source, names(earliest), names(end))
    for timeperiod, bounds in marks.items():
        for ordinal in level.readers_of(timeperiod):
            if max(first, level.start) <= ordinal < min(end, level.end) and level.state(
                ordinal
            ) in (JobState.PROCESSED, JobState.NOOP):
                highest[ordinal] = max(bounds.high, highest.get(ordinal, 0))
    for some in _in_parts(sorted(highest)):
        ends = _highest_ends(store, level, some[0], some[-1])
        for ordinal in some:
            if highest[ordinal] > ends.get(ordinal, 0):
                yield Uncovered(process.name, names(ordinal), level.state(ordinal))


def _in_parts(ordinals: Sequence[int]) -> Iterator[Sequence[int]]:
    """Rising ordinals in parts that span no more than `AT_ONCE` periods."""
    begin = 0
    while begin < len(ordinals):
        end = bisect_left(ordinals, ordinals[begin] + AT_ONCE, begin)
        yield ordinals[begin:end]
        begin = end


def _highest_ends(store: StoreView, level: Level, first: int, last: int) -> dict[int, int]:
    """The highest write number that the units of each job `first` to `last` had to cover."""
    found: dict[int, int] = {}
    names = level.timeperiod
    for unit in store.units.of_jobs(level.process.name, names(first), names(last)):
        ordinal = level.find(unit.timeperiod)
        if (
            ordinal is not None
            and unit.generation == level.generation(ordinal)
            and unit.state is not UnitState.CANCELED
        ):
            found[ordinal] = max(unit.end_id, found.get(ordinal, 0))
    return found


def below(place: Place, ordinal: int) -> Iterator[tuple[Place, int, int]]:
    """A job and all that it is made from: half-open ranges of jobs, each process once.

    Where a job also reads an earlier period, the periods between are included.
    """
    seen: set[Place] = set()
    waiting = [(place, ordinal, ordinal + 1)]
    for at, first, end in waiting:  # grows while it is walked
        if at in seen:
            continue
        seen.add(at)
        begin, stop = max(first, at.level.start), min(end, at.level.end)
        if begin < stop:
            yield at, begin, stop
        begin = (at.level.covered(first) or (first, end))[0]
        if at.child is not None:
            own, finer = at.process.qualifier, at.child.process.qualifier
            waiting.append((at.child, own.down(begin, finer)[0], own.down(end, finer)[0]))
        begin = min(earliest for earliest, _ in at.level.reads(first))
        for other in at.counterparts:
            waiting.append((other, begin, other.level.checkpoint(end - 1) + 1))


def uncovered_below(store: StoreView, place: Place, ordinal: int) -> Uncovered | None:
    """The first uncovered job among a job and all that it is made from."""
    for at, first, end in below(place, ordinal):
        found = next(uncovered(store, at, first, end), None)
        if found is not None:
            return found
    return None
