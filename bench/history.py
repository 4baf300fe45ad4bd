"""Helpers of the benches: closed hours, new units, and the rows of a deployment's store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from bench.figures import BenchFailed
from synergy.model.job import JobState
from synergy.model.journal import JournalEntry
from synergy.model.journal_event import JournalEvent
from synergy.model.unit_of_work import UnitOfWork, unit_id
from synergy.storage.protocol import Store
from synergy.timeperiod import Qualifier

SETTLE = timedelta(minutes=5)  # the default time from the end of an hour until it is closed
_PAGE = 5000
_FINISHED = bytes(state for state in JobState if state.is_finished)


def closed_hours_ago(count: int, now: datetime) -> str:
    """The hour that is `count` hours before the open one: the first of `count` closed hours."""
    hourly = Qualifier.HOURLY
    return hourly.timeperiod(hourly.at(now - SETTLE) - count)


def finished_jobs(store: Store, processes: Sequence[str]) -> int:
    """The number of finished jobs of the processes."""
    return sum(
        len(run.states) - len(run.states.translate(None, _FINISHED))
        for run in store.jobs.load(processes)
    )


def units_of(store: Store, process: str) -> list[UnitOfWork]:
    """All units of a process, newest creation first."""
    page, cursor = store.units.find(process, limit=_PAGE)
    units = list(page)
    while cursor is not None:
        page, cursor = store.units.find(process, limit=_PAGE, cursor=cursor)
        units += page
    return units


def entries(store: Store) -> Iterator[JournalEntry]:
    """The whole journal, oldest first."""
    page = store.journal.since(0, _PAGE)
    while page:
        yield from page
        page = store.journal.since(page[-1].seq, _PAGE)


def new_unit(process: str, ordinal: int, now: datetime) -> UnitOfWork:
    """A unit for an hour of a process without a source in the store."""
    name = Qualifier.HOURLY.timeperiod
    hour, end = name(ordinal), name(ordinal + 1)
    return UnitOfWork(unit_id(process, hour, 1, 0, 0), process, hour, 1, hour, end, 0, 0, now)


def first_time(store: Store, event: JournalEvent) -> datetime:
    """The time of the first entry of this event; raises BenchFailed if there is none."""
    for entry in entries(store):
        if entry.event == event:
            return entry.at
    raise BenchFailed(f"the journal has no {event}")
