"""One job with its inputs, its outputs, its units and its journal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from synergy.model.journal import JournalEntry
from synergy.model.process import ManagedProcess
from synergy.model.unit_of_work import UnitOfWork
from synergy.queries.timetable.coverage import Uncovered
from synergy.queries.timetable.job_completion import Standing
from synergy.queries.timetable.job_list import ListedJob
from synergy.queries.views import SkipCause, shown_word, skip_cause
from synergy.storage.protocol import StoreView
from synergy.timetable.cascade import upwards
from synergy.timetable.readiness import counterparts
from synergy.timetable.timetable import Place

SHOWN = 64  # jobs of a process that are listed as inputs or outputs; the others are counted
STORY = 128  # entries of the journal, the newest
UNITS = 32  # units, the newest of possibly many thousands


class Relation(Enum):
    """The relation of another job to a job: the first two are its inputs, the others its outputs.

    The checkpoint of a grouped process covers the periods before it.
    """

    CHILD = "child"
    COUNTERPART = "counterpart"
    CHECKPOINT = "checkpoint"
    PARENT = "parent"
    DEPENDANT = "dependant"


@dataclass(frozen=True, slots=True)
class RelatedJob:
    """An input or an output of a job.

    `state` is None for a job outside the timetable: it has not begun yet, or lies before the start.
    """

    timeperiod: str
    state: str | None
    cause: SkipCause | None
    generation: int
    is_stale: bool

    @property
    def word(self) -> str:
        """The state as counts and colours name it; "" if there is no job."""
        return shown_word(self.state or "", self.cause)


@dataclass(frozen=True, slots=True)
class Related:
    """The jobs of a process in one relation to a job, oldest first.

    `counts` counts all of them by state; `jobs` holds the first `SHOWN`.
    """

    relation: Relation
    process: str
    tree: str
    first: str
    last: str
    counts: Mapping[str, int]
    jobs: tuple[RelatedJob, ...]


@dataclass(frozen=True, slots=True)
class Collection:
    """The half-open ranges of timeperiods of a collection that a job reads or writes.

    `rows` is the number of rows there; None if the collection lies outside the store.
    """

    name: str
    ranges: tuple[tuple[str, str], ...]
    rows: int | None


@dataclass(frozen=True, slots=True)
class Outlook:
    """The remaining work until a job is settled; see `Standing`."""

    is_settled: bool
    finished: int
    total: int
    events_waiting: int
    late_data: str | None

    @staticmethod
    def of(standing: Standing) -> Outlook:
        return Outlook(
            is_settled=standing.is_settled,
            finished=standing.finished,
            total=standing.total,
            events_waiting=standing.events_waiting,
            late_data=None if standing.late is None else _named(standing.late),
        )


@dataclass(frozen=True, slots=True)
class JobDetail:
    """A job in detail.

    Its period is `[begins_at, ends_at)`, and is closed after `closes_at`. `units`, of all
    generations, and `story` hold the newest first; `has_older_units`: there are more. `source` is
    None for a process that reads its children's results, or nothing; `sink` is None for a process
    that writes to no collection.
    """

    job: ListedJob
    tree: str
    qualifier: str
    begins_at: datetime
    ends_at: datetime
    closes_at: datetime
    source: Collection | None
    sink: Collection | None
    inputs: tuple[Related, ...]
    outputs: tuple[Related, ...]
    outlook: Outlook
    units: tuple[UnitOfWork, ...]
    has_older_units: bool
    story: tuple[JournalEntry, ...]


def job_detail(
    store: StoreView, place: Place, ordinal: int, job: ListedJob, standing: Standing
) -> JobDetail:
    """A job of the timetable in detail."""
    level, process = place.level, place.process
    name = level.timeperiod(ordinal)
    units = store.units.newest(process.name, name, UNITS + 1)
    return JobDetail(
        job=job,
        tree=place.tree,
        qualifier=process.qualifier.value,
        begins_at=process.qualifier.start(ordinal),
        ends_at=process.qualifier.start(ordinal + 1),
        closes_at=process.closes_at(ordinal),
        source=_collection(store, process, process.source, level.reads(ordinal)),
        sink=_collection(store, process, process.sink, level.reads(ordinal)[:1]),
        inputs=tuple(_related(_inputs(place, ordinal))),
        outputs=tuple(_related(_outputs(place, ordinal))),
        outlook=Outlook.of(standing),
        units=tuple(units[:UNITS]),
        has_older_units=len(units) > UNITS,
        story=tuple(store.journal.of_job(process.name, name, STORY)),
    )


def _collection(
    store: StoreView, process: ManagedProcess, name: str | None, spans: Iterable[tuple[int, int]]
) -> Collection | None:
    if name is None:
        return None
    timeperiod = process.qualifier.timeperiod
    ranges = tuple((timeperiod(first), timeperiod(end)) for first, end in spans)
    rows = None
    if name in (process.stored_source, process.sink):
        found = [store.documents.bounds(name, first, end) for first, end in ranges]
        rows = sum(bounds.rows for bounds in found if bounds is not None)
    return Collection(name, ranges, rows)


_Found = tuple[Relation, Place, int]


def _inputs(place: Place, ordinal: int) -> Iterator[_Found]:
    if place.child is not None:
        first, end = place.children(ordinal)
        child = place.child.level
        for at in range(max(first, child.start), min(end, child.end)):
            yield Relation.CHILD, place.child, at
    for other, at in counterparts(place, ordinal):
        yield Relation.COUNTERPART, other, at


def _outputs(place: Place, ordinal: int) -> Iterator[_Found]:
    for other, at in dict.fromkeys(upwards(place, ordinal)):
        if other is not place:
            yield Relation.PARENT if other is place.parent else Relation.DEPENDANT, other, at
        elif at != ordinal:
            yield Relation.CHECKPOINT, other, at


def _related(found: Iterable[_Found]) -> Iterator[Related]:
    groups: dict[tuple[Relation, Place], list[int]] = {}
    for relation, place, ordinal in found:
        groups.setdefault((relation, place), []).append(ordinal)
    for (relation, place), unordered in groups.items():
        ordinals = sorted(unordered)
        level = place.level
        there = (level.state(at).word for at in ordinals if level.holds(at))
        yield Related(
            relation,
            place.process.name,
            place.tree,
            level.timeperiod(ordinals[0]),
            level.timeperiod(ordinals[-1]),
            Counter(there),
            tuple(_related_job(place, at) for at in ordinals[:SHOWN]),
        )


def _related_job(place: Place, ordinal: int) -> RelatedJob:
    level, name = place.level, place.level.timeperiod(ordinal)
    if not level.holds(ordinal):
        return RelatedJob(name, None, None, 1, is_stale=False)
    return RelatedJob(
        name,
        level.state(ordinal).public,
        skip_cause(level, ordinal),
        level.generation(ordinal),
        level.is_stale(ordinal),
    )


def _named(late: Uncovered) -> str:
    return f"{late.process} {late.timeperiod}"
