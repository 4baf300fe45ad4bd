"""A period whose work a person does, in place of a worker.

The work is done before anything is written. Then the job is started over with all that was made
from it, as by a reprocess, and gets a unit that is claimed and concluded at once, with the rows. A
store with transactions does all of it or nothing. Without transactions, what an interruption leaves
is a job that was started over, or a unit whose worker is lost: a scheduler finds both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from synergy.commands.bulk import Bulk, BulkRequest, BulkVerb, Range
from synergy.commands.jobs import Touched
from synergy.commands.sources import source_bounds
from synergy.commands.units_by_hand import unit_of_period
from synergy.errors import Refused
from synergy.lifecycle.legal_moves import JobMove, UnitMove
from synergy.lifecycle.state_changes import conclude, move_job
from synergy.messaging.protocol import Bus
from synergy.model.actor import Actor
from synergy.model.job import JobState
from synergy.model.process import Deployment
from synergy.model.unit_of_work import Hint, SinkWrite, UnitOfWork, UnitState
from synergy.names import SCHEDULER_TOPIC
from synergy.program import PROGRAM
from synergy.queries.timetable.load import load_timetable
from synergy.storage.protocol import LogLine, Store, unique_documents
from synergy.timetable.readiness import blockers, readiness
from synergy.timetable.timetable import Place


@dataclass(frozen=True, slots=True)
class DoneByHand:
    """What the work has come to: its move, its counts, the rows to write, and what it logged."""

    move: UnitMove
    counts: Mapping[str, int]
    writes: tuple[SinkWrite, ...]
    lines: Sequence[LogLine]


class PeriodByHand:
    """A period of a managed process, from the check whether it may be done to its conclusion."""

    def __init__(
        self, store: Store, bus: Bus, deployment: Deployment, process: str, timeperiod: str
    ) -> None:
        self._store = store
        self._bus = bus
        self._deployment = deployment
        self._process = process
        self._timeperiod = timeperiod

    def unit(self, now: datetime) -> UnitOfWork:
        """The unit of the period, not stored, over all that its source holds now.

        Raises NotFound for a period outside of the timetable, and Refused for one that a scheduler
        would not have carried out now, or that a worker carries out.
        """
        place, ordinal = self._place(now)
        _refuse_unready(place, ordinal, now)
        self._refuse_busy(place, ordinal)
        level = place.level
        bounds = source_bounds(self._store, level, ordinal)
        if bounds is None and level.process.stored_source is not None:
            raise Refused(f"{self._name} has an empty source: it ends as noop, without a worker")
        ids = (0, 0) if bounds is None else (bounds.low, bounds.high)
        generation = level.generation(ordinal) + (level.state(ordinal) is not JobState.EMBRYO)
        return unit_of_period(level.process, ordinal, now, generation, ids)

    def conclude(
        self, unit: UnitOfWork, done: DoneByHand, owner: str, actor: Actor, now: datetime
    ) -> Sequence[Touched]:
        """Starts the period over, and concludes it by what was done for this unit.

        Returns the jobs that were started over. Raises InvalidValue for rows that the store does
        not take, and Refused if the job has changed since the unit was made.
        """
        for write in done.writes:
            unique_documents(write)
        store = self._store
        with store.batch() as batch:
            if self.unit(now).generation != unit.generation:
                raise self._changed()
            touched = self._bulk(now).act(self._request, actor, now)
            claimed = self._claimed(unit, owner, actor, now)
            end = conclude(claimed, owner, done.move, counts=done.counts, writes=done.writes)
            if store.units.conclude([end], now):
                raise self._changed()
            store.logs.append(unit.id, done.lines)
            batch.after_commit(partial(self._bus.notify, SCHEDULER_TOPIC))
        return touched

    def _claimed(self, unit: UnitOfWork, owner: str, actor: Actor, now: datetime) -> UnitOfWork:
        """The stored unit, claimed, with its job in the final run."""
        store = self._store
        store.units.create([unit], actor.who)
        place, ordinal = self._place(now)
        move = move_job(place, ordinal, JobMove.FINALISE, actor.why, actor.who, unit=unit.id)
        if store.jobs.move([move], now):
            raise self._changed()
        claimed = store.units.claim([Hint(unit.id, unit.attempt)], owner, now)
        if not claimed:
            raise self._changed()
        return claimed[0]

    def _refuse_busy(self, place: Place, ordinal: int) -> None:
        """Raises Refused while a worker carries the period out, or is about to."""
        units = self._store.units.of_jobs(self._process, self._timeperiod, self._timeperiod)
        running = [unit for unit in units if unit.state is UnitState.IN_PROGRESS]
        if running:
            raise Refused(
                f"a worker carries out {self._name}: {PROGRAM} timetable wait {self._name}, or "
                f"{PROGRAM} unit cancel {running[0].id}"
            )
        level = place.level
        if level.state(ordinal) is JobState.EMBRYO and any(
            unit.generation == level.generation(ordinal) for unit in units
        ):
            raise Refused(
                f"a scheduler is about to have {self._name} carried out: "
                f"{PROGRAM} timetable wait {self._name}"
            )

    @property
    def _name(self) -> str:
        return f"{self._process} {self._timeperiod}"

    def _place(self, now: datetime) -> tuple[Place, int]:
        place = load_timetable(self._store, self._deployment, now).place(self._process)
        return place, place.level.ordinal(self._timeperiod)

    def _bulk(self, now: datetime) -> Bulk:
        load = partial(load_timetable, self._store, self._deployment, now)
        return Bulk(self._store, self._bus, self._deployment, load)

    @property
    def _request(self) -> BulkRequest:
        jobs = Range(self._process, self._timeperiod, self._timeperiod)
        return BulkRequest(BulkVerb.REPROCESS, (jobs,))

    def _changed(self) -> Refused:
        return Refused(
            f"{self._name} has changed meanwhile, and its rows were not written: try again"
        )


def _refuse_unready(place: Place, ordinal: int, now: datetime) -> None:
    """Raises Refused for a period that is open, or that waits for other jobs."""
    level, process = place.level, place.process
    name = f"{process.name} {level.timeperiod(ordinal)}"
    if now < process.closes_at(ordinal):
        raise Refused(
            f"{name} is open until {process.closes_at(ordinal):%Y-%m-%d %H:%M:%S} UTC: until then "
            "it can be run, and not written"
        )
    ready = readiness(place, ordinal)
    if ready.skipped_by is not None:
        by = ready.skipped_by
        raise Refused(f"{name} is skipped with {by.process} {by.timeperiod}: reprocess that first")
    if ready.all_children_skipped:
        raise Refused(f"all children of {name} are skipped, and it with them")
    if not ready.may_finish:
        first = blockers(place, ordinal, 1)[0]
        raise Refused(
            f"{name} waits for {first.process} {first.timeperiod}: {PROGRAM} timetable why {name}"
        )
