"""The overview of a tree: a cell for each month, or year, with its worst state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from synergy.model.job import STALE_FLAG, STATE_MASK, JobState
from synergy.queries.timetable.calendar import label
from synergy.timeperiod import Qualifier
from synergy.timetable.timetable import Place

_WORST = (
    "failed", "given_up", "late", "unseen", "skipped", "stale",
    "final_run", "in_progress", "embryo", "processed", "noop",
)  # fmt: skip
_MARKED = {
    JobState.PROCESSED: "stale",
    JobState.NOOP: "stale",
    JobState.SKIPPED: "unseen",
}
"""Counted instead of the state if the source changed since; a failure remains one."""


@dataclass(frozen=True, slots=True)
class OverviewCell:
    """A month or year with its worst state, and the number of jobs in each state."""

    timeperiod: str
    label: str
    worst: str
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class OverviewYear:
    """The months of a year that the timetable holds; or the year alone."""

    year: str
    cells: tuple[OverviewCell, ...]


def overview(places: Sequence[Place], now: datetime) -> list[OverviewYear]:
    """The overview of a tree, oldest first: by month, or by year if no process is finer."""
    finest = places[-1].process.qualifier
    unit = Qualifier.MONTHLY if finest.rank < Qualifier.MONTHLY.rank else Qualifier.YEARLY
    level = places[-1].level
    counted = [
        (p, p.process.late_before(now)) for p in places if p.process.qualifier.rank <= unit.rank
    ]
    years: dict[int, list[OverviewCell]] = {}
    for ordinal in range(finest.up(level.start, unit), finest.up(level.end - 1, unit) + 1):
        counts = dict.fromkeys(_WORST, 0)
        for place, late in counted:
            _count(place, late, unit, ordinal, counts)
        found = {word: count for word, count in counts.items() if count}
        worst = next(iter(found), "embryo")
        year = unit.up(ordinal, Qualifier.YEARLY)
        cell = OverviewCell(unit.timeperiod(ordinal), label(unit, ordinal), worst, found)
        years.setdefault(year, []).append(cell)
    return [OverviewYear(str(year), tuple(cells)) for year, cells in years.items()]


def _count(place: Place, late: int, unit: Qualifier, ordinal: int, counts: dict[str, int]) -> None:
    level, own = place.level, place.process.qualifier
    first, end = unit.down(ordinal, own)
    begin = max(first - level.start, 0)
    states = level.states[begin : max(end - level.start, begin)]
    overdue = states[: max(late - level.start - begin, 0)]
    for byte in set(states):
        state, count = JobState(byte & STATE_MASK), states.count(byte)
        if byte & STALE_FLAG and state in _MARKED:
            counts[_MARKED[state]] += count
            continue
        missing = overdue.count(byte) if state.is_pending else 0
        counts["late"] += missing
        counts[state.word] += count - missing
