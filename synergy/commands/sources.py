"""The rows in the source of a job, and how many of them a finished job covers."""

from __future__ import annotations

from synergy.model.job import JobState
from synergy.model.journal_event import JournalEvent
from synergy.model.unit_of_work import UnitState
from synergy.storage.protocol import Bounds, Store
from synergy.timetable.level import Level
from synergy.timetable.timetable import Place

SKIPS = (JournalEvent.JOB_SKIPPED, JournalEvent.JOB_GIVEN_UP)


def source_bounds(store: Store, level: Level, ordinal: int) -> Bounds | None:
    """The bounds of a job's source; None if it has no source, or nothing was written there."""
    source = level.process.stored_source
    if source is None:
        return None
    documents, names = store.documents, level.timeperiod
    found = [
        bounds
        for first, end in level.reads(ordinal)
        if (bounds := documents.bounds(source, names(first), names(end))) is not None
    ]
    if len(found) < 2:
        return found[0] if found else None
    return Bounds(min(b.low for b in found), max(b.high for b in found), sum(b.rows for b in found))


def covered(store: Store, place: Place, ordinal: int) -> int:
    """The write number of its source up to which a finished job covers it.

    It is the highest one that units of the present generation were requested for. For a skipped or
    given-up job canceled units count too, and the number that its journal entry has.
    """
    level, process = place.level, place.process.name
    timeperiod, generation = level.timeperiod(ordinal), level.generation(ordinal)
    units = store.units.of_jobs(process, timeperiod, timeperiod)
    is_skipped = level.state(ordinal) in (JobState.SKIPPED, JobState.GIVEN_UP)
    numbers = [
        unit.end_id
        for unit in units
        if unit.generation == generation and (is_skipped or unit.state is not UnitState.CANCELED)
    ]
    if is_skipped:
        story = store.journal.of_job(process, timeperiod)
        numbers += [e.covered for e in story if e.event in SKIPS][:1]
    return max(numbers, default=0)
