"""Lists of every store can be limited to a range of time, in the order of their numbers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from synergy.model.schedule import RunState
from synergy.model.time_range import EVER, TimeRange
from synergy.model.unit_of_work import UnitState
from synergy.storage.protocol import Store
from tests.contract.scheduled import a_run, an_event
from tests.factories import NOW, a_unit, an_entry

HOUR = timedelta(hours=1)
# Clocks of several boxes differ: times do not rise with numbers exactly.
TIMES = [NOW + n * HOUR for n in (0, 1, 3, 2, 4, 3, 5, 7, 6, 8)]
RANGES = [
    EVER,
    TimeRange(begin=NOW + 3 * HOUR),
    TimeRange(end=NOW + 3 * HOUR),
    TimeRange(NOW + 3 * HOUR, NOW + 7 * HOUR),
    TimeRange(NOW + 3 * HOUR, NOW + 3 * HOUR + timedelta(microseconds=1)),
    TimeRange(NOW - 2 * HOUR, NOW),
    TimeRange(begin=NOW + 9 * HOUR),
]
PERIOD = "2015051700"

Find = Callable[..., tuple[list[Any], str | None]]


def units(store: Store) -> Find:
    for number, at in enumerate(TIMES):
        store.units.create([a_unit(created_at=at, start_id=number, end_id=number + 1)], "x")
    return store.units.find


def runs(store: Store) -> Find:
    store.runs.create([a_run(str(n), created_at=at) for n, at in enumerate(TIMES)], "x")
    return store.runs.find


def events(store: Store) -> Find:
    store.events.append([an_event(str(n), at=at) for n, at in enumerate(TIMES)])
    return store.events.find


def journal(store: Store) -> Find:
    return written(store, store.journal.find, "A")


def journal_of_all(store: Store) -> Find:
    return written(store, store.journal.find)


def journal_of_job(store: Store) -> Find:
    return written(store, store.journal.of_job, "A", PERIOD)


def written(store: Store, find: Callable[..., list[Any]], *of: str) -> Find:
    """Writes entries; returns their search in the form of the other lists."""
    job = {"process": "A", "first": PERIOD, "last": PERIOD}
    store.journal.append([an_entry("job.noop", **job, at=at) for at in TIMES])

    def page(
        limit: int, cursor: str | None = None, within: TimeRange = EVER
    ) -> tuple[list[Any], str | None]:
        before = None if cursor is None else int(cursor)
        entries = find(*of, limit=limit + 1, before=before, within=within)
        return entries[:limit], str(entries[limit - 1].seq) if entries[limit:] else None

    return page


def times(rows: list[Any]) -> list[datetime]:
    return [row.created_at if hasattr(row, "created_at") else row.at for row in rows]


@pytest.mark.parametrize("within", RANGES)
@pytest.mark.parametrize("fill", [units, runs, events, journal, journal_of_all, journal_of_job])
def test_a_range_of_time_is_half_open_and_paged_by_cursor(
    store: Store, fill: Callable[[Store], Find], within: TimeRange
) -> None:
    find = fill(store)
    found, cursor = find(limit=2, within=within)
    while cursor is not None:
        page, cursor = find(limit=2, cursor=cursor, within=within)
        assert page
        found += page
    assert times(found) == [
        at
        for at in reversed(TIMES)
        if (within.begin is None or at >= within.begin) and (within.end is None or at < within.end)
    ]


def test_a_range_of_time_goes_with_the_other_filters(store: Store) -> None:
    inside = TimeRange(NOW, NOW + HOUR)
    for process in ("A", "B"):
        for at in (NOW - HOUR, NOW, NOW + HOUR):
            store.units.create([a_unit(process, created_at=at, end_id=at.hour)], "x")
            state = RunState.FAILED if at == NOW else RunState.PROCESSED
            store.runs.create([a_run(str(at), process, created_at=at, state=state)], "x")
    for unit_filter in ({}, {"state": UnitState.REQUESTED}):
        found, _ = store.units.find(process="A", **unit_filter, within=inside)
        assert [(unit.process, unit.created_at) for unit in found] == [("A", NOW)]
    assert len(store.units.find(state=UnitState.REQUESTED, within=inside)[0]) == 2
    assert store.units.find("A", UnitState.NOOP, within=inside) == ([], None)
    for run_filter in ({}, {"state": RunState.FAILED}):
        found, _ = store.runs.find("A", **run_filter, within=inside)
        assert [(run.schedule, run.created_at) for run in found] == [("A", NOW)]
    assert store.runs.find("A", RunState.PROCESSED, within=inside) == ([], None)
