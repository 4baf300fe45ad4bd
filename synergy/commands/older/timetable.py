"""Takes the jobs and units of work of an older deployment over.

Finished periods stay finished, if all their children are; all others are left to the timetable.
Units are history: none is handed out. They are written before the jobs, so that an interruption
leaves what a scheduler that died would leave.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import TypeVar

from synergy.commands.older.reading import KNOWN, TAKEN, Older, TakenOver
from synergy.commands.older.records import READERS, OlderJob, OlderUnit
from synergy.commands.sources import source_bounds
from synergy.lifecycle.legal_moves import JobMove
from synergy.lifecycle.state_changes import as_history, move_job
from synergy.model.actor import Actor
from synergy.model.job import JobChange, JobState
from synergy.model.process import Deployment
from synergy.model.unit_of_work import UnitOfWork
from synergy.names import TIMETABLE_START
from synergy.storage.protocol import Store
from synergy.timeperiod import Qualifier
from synergy.timetable.timetable import Place, Timetable

PORTION = 1_000  # rows of a batch
OUTSIDE = "left out: outside the timetable"
LEFT = "left to the timetable"
INCOMPLETE = "left to the timetable: children are unfinished"
OF_RUNS = "left out: of free runs"

_MOVES = {
    JobState.PROCESSED: JobMove.TAKE_OVER,
    JobState.NOOP: JobMove.PASS,
    JobState.SKIPPED: JobMove.SKIP,
}
_Row = TypeVar("_Row")


class TimetableTakeover:
    """Takes jobs and units over into a store that is not in use."""

    def __init__(
        self, store: Store, deployment: Deployment, older: Older, result: TakenOver, actor: Actor
    ) -> None:
        self._store = store
        self._deployment = deployment
        self._older = older
        self._result = result
        self._actor = actor
        self._taken: defaultdict[str, set[int]] = defaultdict(set)

    def carry_out(self, first_hour: str | None, now: datetime, *, dry_run: bool) -> None:
        """`first_hour` is that of the timetable if the store has none.

        By default it follows from the jobs. Without jobs there is nothing to do.
        """
        start = self._store.facts.get(TIMETABLE_START) or first_hour or self._first_hour()
        self._result.start = start
        if start is None:
            return
        timetable = Timetable(self._deployment, start, now)
        timetable.load(self._store.jobs.load())
        moves = list(_merged(self._moves(timetable)))
        if not dry_run:
            self._store.facts.set_default(TIMETABLE_START, start)
        self._take_units(timetable, dry_run=dry_run)
        for part in () if dry_run else _portions(moves):
            with self._store.batch():
                self._store.jobs.move(part, now)

    def _first_hour(self) -> str | None:
        """The latest hour at which the first jobs of a qualifier begin."""
        hourly, first = Qualifier.HOURLY, dict[Qualifier, int]()
        for name, process in self._deployment.managed().items():
            qualifier = process.qualifier
            for timeperiod in filter(qualifier.names, self._older.jobs.get(name, ())):
                hour = hourly.cast(timeperiod)
                first[qualifier] = min(hour, first.get(qualifier, hour))
        return hourly.timeperiod(max(first.values())) if first else None

    # Jobs

    def _moves(self, timetable: Timetable) -> Iterator[JobChange]:
        """The moves of all jobs, children first, which the timetable follows."""
        for name in self._older.jobs.keys() - timetable.places.keys():
            self._result.count_unknown("jobs", name, len(self._older.jobs[name]))
        for tree in self._deployment.trees.values():
            for name in reversed(tree.processes):
                yield from self._of_process(timetable.places[name], self._older.jobs.get(name, {}))

    def _of_process(self, place: Place, jobs: Mapping[str, OlderJob]) -> Iterator[JobChange]:
        has_rows = _has_rows(self._store, place)
        for timeperiod in sorted(jobs):
            job, ordinal = jobs[timeperiod], place.level.find(timeperiod)
            outcome = OUTSIDE if ordinal is None else _outcome(place, ordinal, job)
            self._result.count("jobs", outcome)
            if outcome is TAKEN and ordinal is not None:
                self._taken[place.process.name].add(ordinal)
                yield from self._without_work(place, ordinal)
                yield self._moved(place, ordinal, _MOVES[job.state], has_rows=has_rows)

    def _without_work(self, place: Place, ordinal: int) -> Iterator[JobChange]:
        """The moves of the other periods that a job covers (`time_grouping`)."""
        for member in range(*(place.level.covered(ordinal) or (ordinal, ordinal))):
            is_free = place.level.holds(member) and place.level.state(member) is JobState.EMBRYO
            if member != ordinal and is_free:
                yield self._moved(place, member, JobMove.PASS, has_rows=False)

    def _moved(self, place: Place, ordinal: int, move: JobMove, *, has_rows: bool) -> JobChange:
        """The move; it covers all that the source of the job holds now."""
        bounds = source_bounds(self._store, place.level, ordinal) if has_rows else None
        covered = 0 if bounds is None else bounds.high
        change = move_job(place, ordinal, move, self._actor.why, self._actor.who, covered=covered)
        place.level.set(ordinal, ordinal, change.after, change.generation)
        return change

    # Units

    def _take_units(self, timetable: Timetable, *, dry_run: bool) -> None:
        for part in _portions(self._units(timetable)):
            known = {unit.id for unit in self._store.units.get([unit.id for unit in part])}
            self._result.count("units", KNOWN, len(known))
            self._result.count("units", TAKEN, len(part) - len(known))
            if not dry_run:
                with self._store.batch():
                    new = [unit for unit in part if unit.id not in known]
                    self._store.units.create(new, self._actor.who)

    def _units(self, timetable: Timetable) -> Iterator[UnitOfWork]:
        for unit in self._older_units():
            place = timetable.places.get(unit.process)
            if unit.is_of_run:
                self._result.count("units", OF_RUNS)
            elif place is None:
                self._result.count_unknown("units", unit.process)
            elif (ordinal := place.level.find(unit.timeperiod)) is None:
                self._result.count("units", OUTSIDE)
            else:
                yield self._unit(unit, place, ordinal)

    def _older_units(self) -> Iterator[OlderUnit]:
        for collection, _, document in self._older.read():
            if collection == "unit_of_work":
                yield from (u for u in READERS[collection](document) if isinstance(u, OlderUnit))

    def _unit(self, older: OlderUnit, place: Place, ordinal: int) -> UnitOfWork:
        """The unit as history: of generation 1 if it made the result of its job, else of 0.

        The unit that made the result covers all that the source of the job holds now.
        """
        job = self._older.jobs.get(older.process, {}).get(older.timeperiod)
        is_result = (
            ordinal in self._taken[older.process] and job is not None and job.unit == older.id
        )
        bounds = source_bounds(self._store, place.level, ordinal) if is_result else None
        unit = UnitOfWork(
            id=older.id,
            process=older.process,
            timeperiod=older.timeperiod,
            generation=int(is_result),
            start_timeperiod=older.start,
            end_timeperiod=older.end,
            start_id=0 if is_result else _number_of(older.id),
            end_id=0 if bounds is None else bounds.high,
            created_at=older.created_at,
            failures=older.failures,
            started_at=older.started_at,
            finished_at=older.finished_at or older.created_at,
            counts=older.counts,
            reason="" if older.was == older.state.value else f"was {older.was}, and taken over",
            first_claimed_at=older.started_at,
        )
        return as_history(unit, older.state)


def _outcome(place: Place, ordinal: int, job: OlderJob) -> str:
    """What becomes of a job: it is taken over only if nothing happened to it here."""
    level = place.level
    if level.state(ordinal) is not JobState.EMBRYO or level.generation(ordinal) > 1:
        return KNOWN
    if job.state is JobState.EMBRYO:
        return LEFT
    is_complete = place.child is None or place.child.level.all_finished(*place.children(ordinal))
    return TAKEN if is_complete else INCOMPLETE


def _has_rows(store: Store, place: Place) -> bool:
    """Whether anything was ever written to the source of a process."""
    source = place.process.stored_source
    return source is not None and source in store.documents.collections()


def _merged(moves: Iterable[JobChange]) -> Iterator[JobChange]:
    """The moves, with equal ones of neighbours as one."""
    last: JobChange | None = None
    for move in moves:
        if last is not None and move == replace(last, first=last.last + 1, last=last.last + 1):
            last = replace(last, last=move.last)
            continue
        if last is not None:
            yield last
        last = move
    if last is not None:
        yield last


def _portions(rows: Iterable[_Row]) -> Iterator[list[_Row]]:
    iterator = iter(rows)
    while part := list(islice(iterator, PORTION)):
        yield part


def _number_of(id_: str) -> int:
    """A number of 62 bits for an id: it makes the key of a unit of generation 0 unique."""
    digest = hashlib.blake2b(id_.encode(), digest_size=8).digest()
    return int.from_bytes(digest) >> 2
