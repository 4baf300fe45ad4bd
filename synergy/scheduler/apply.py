"""The only place where decisions about jobs become writes and messages.

A batch of decisions is written together: units first, then job states, then messages, so that each
prefix is a legal state on an engine without transactions too. A unit without its job's move is
found again by its key; a message that is missing after a job's move is sent by the collector.
Messages that the bus did not take after the batch was durable are sent again with the next batch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import assert_never

from synergy.errors import MessagingUnavailable
from synergy.lifecycle.decision import (
    Extend,
    Fail,
    Finalise,
    Finish,
    Request,
    Wait,
)
from synergy.lifecycle.legal_moves import JobMove, UnitMove
from synergy.lifecycle.state_changes import move_job, move_unit
from synergy.lifecycle.superseded_units import is_superseded
from synergy.messaging.message import UnitMessage
from synergy.messaging.protocol import Bus
from synergy.model.job import STATE_MASK, JobChange, JobSpan, JobState
from synergy.model.unit_of_work import Hint, UnitChange, UnitOfWork, UnitState
from synergy.scheduler.job_decision import JobDecision
from synergy.scheduler.job_moves import jobs_of, merged
from synergy.scheduler.process_state import ProcessState
from synergy.scheduler.unit_requests import create_units
from synergy.storage.protocol import Batch, Store

_FINISHES = {
    JobState.PROCESSED: JobMove.PROCESS,
    JobState.NOOP: JobMove.PASS,
    JobState.SKIPPED: JobMove.SKIP,
    JobState.GIVEN_UP: JobMove.GIVE_UP,
}


# For each move by a unit, the states in which a further unit leaves the job where it is.
_AT_LEAST = {
    JobMove.REQUEST: (JobState.IN_PROGRESS, JobState.FINAL_RUN),
    JobMove.FINALISE: (JobState.FINAL_RUN,),
}


@dataclass(slots=True)
class Applied:
    """The result of a batch: moves that were made and refused, and the units as stored.

    `failure` is why the bus did not take the messages `unsent`, although the rest is durable. The
    messages for the queues in `sent` were taken.
    """

    moved: list[JobChange] = field(default_factory=list)
    refused: list[JobChange] = field(default_factory=list)
    units: list[tuple[ProcessState, int, UnitOfWork]] = field(default_factory=list)
    extended: list[tuple[ProcessState, int, Extend, bool]] = field(default_factory=list)
    sent: set[str] = field(default_factory=set)
    unsent: list[tuple[str, Hint]] = field(default_factory=list)
    failure: MessagingUnavailable | None = None


@dataclass(slots=True)
class _Plan:
    """The writes of a batch of decisions; `publish` holds hints by queue."""

    publish: defaultdict[str, list[Hint]]
    moves: list[JobChange] = field(default_factory=list)
    requests: list[tuple[JobDecision, Request]] = field(default_factory=list)
    extends: list[tuple[JobDecision, Extend]] = field(default_factory=list)
    cancels: list[tuple[tuple[str, int], UnitChange]] = field(default_factory=list)


class Applier:
    """Writes batches of decisions; `name` is the scheduler's name in the journal."""

    def __init__(self, store: Store, bus: Bus, name: str) -> None:
        self._store = store
        self._bus = bus
        self._name = name

    def apply(
        self, batch: Sequence[JobDecision], hints: dict[str, list[Hint]], now: datetime
    ) -> Applied:
        """Writes the batch and publishes it, with further `hints` by queue.

        Raises MessagingUnavailable only if the batch may not have been written.
        """
        plan = _Plan(defaultdict(list, hints))
        for decided in batch:
            self._add(plan, decided)
        applied = Applied()
        durable: list[bool] = []
        try:
            with self._store.batch() as commit:
                commit.after_commit(lambda: durable.append(True))
                self._write(plan, applied, commit, now)
        except MessagingUnavailable as error:
            if not durable:
                raise
            applied.failure = error
            applied.unsent = [
                (queue, hint)
                for queue in plan.publish
                if queue not in applied.sent
                for hint in plan.publish[queue]
            ]
        return applied

    def _add(self, plan: _Plan, decided: JobDecision) -> None:
        match decided.decision:
            case Request() as request:
                plan.requests.append((decided, request))
                plan.moves += self._job_move(decided, _target(request.is_final))
            case Extend() as extend:
                plan.extends.append((decided, extend))
                plan.moves += self._job_move(decided, _target(extend.is_final))
            case Finalise():
                plan.moves += self._job_move(decided, JobMove.FINALISE)
            case Finish() as finish:
                move = _FINISHES[finish.state]
                self._end(plan, decided, move, finish.why, finish.unit, finish.is_derived)
            case Fail(why, unit):
                self._end(plan, decided, JobMove.FAIL, why, unit)
            case Wait():
                pass
            case other:
                assert_never(other)

    def _end(
        self,
        plan: _Plan,
        decided: JobDecision,
        move: JobMove,
        why: str,
        unit: str | None,
        is_derived: bool = False,
    ) -> None:
        """Finishes or fails the job, and cancels its other units."""
        plan.moves += self._job_move(decided, move, why, unit, is_derived=is_derived)
        job = (decided.state.process.name, decided.ordinal)
        units = self._cancels(decided, why or "superseded")
        plan.cancels += [(job, unit) for unit in units]

    def _write(self, plan: _Plan, applied: Applied, commit: Batch, now: datetime) -> None:
        store = self._store
        applied.units = self._create(plan.requests, plan.publish, now)
        self._extend(plan, applied, now)
        moves = merged(plan.moves)
        applied.refused = store.jobs.move(moves, now) if moves else []
        gone = set(applied.refused)
        applied.moved = [move for move in moves if move not in gone]
        void = self._void(plan, applied)
        if void:
            store.units.move(void, now)
        canceled = {move.unit for move in void}
        for queue, some in plan.publish.items():
            valid = [hint for hint in some if hint.unit not in canceled]
            messages = [UnitMessage(hint.unit, hint.attempt) for hint in valid]
            self._bus.publish(
                queue, messages, commit, partial(self._published, applied, queue, valid, now)
            )

    def _published(self, applied: Applied, queue: str, hints: list[Hint], now: datetime) -> None:
        applied.sent.add(queue)
        self._store.units.published(hints, now)

    def _extend(self, plan: _Plan, applied: Applied, now: datetime) -> None:
        for decided, extend in plan.extends:
            unit = extend.unit
            done = self._store.units.extend(unit.id, unit.attempt, extend.end_id, now)
            applied.extended.append((decided.state, decided.ordinal, extend, done))
            behind = any(unit.state is UnitState.IN_PROGRESS for unit in decided.units)
            if done and unit.state is UnitState.REQUESTED and not behind:
                plan.publish[decided.state.process.queue].append(Hint(unit.id, unit.attempt))

    def _void(self, plan: _Plan, applied: Applied) -> list[UnitChange]:
        """Cancellations for the units of jobs that end, and for new units that came too late."""
        left = jobs_of(applied.refused)
        moved = jobs_of([move for move in applied.moved if move.after.is_active])
        late = [
            (at, unit) for state, at, unit in applied.units if (state.process.name, at) not in moved
        ]
        return [unit for job, unit in plan.cancels if job not in left] + self._orphans(late)

    def _create(
        self,
        requests: list[tuple[JobDecision, Request]],
        publish: defaultdict[str, list[Hint]],
        now: datetime,
    ) -> list[tuple[ProcessState, int, UnitOfWork]]:
        stored = create_units(self._store.units, requests, self._name, now)
        for (decided, request), unit in zip(requests, stored, strict=True):
            if unit.state is UnitState.REQUESTED and not request.behind:
                publish[decided.state.process.queue].append(Hint(unit.id, unit.attempt))
        return [
            (decided.state, decided.ordinal, unit)
            for (decided, _), unit in zip(requests, stored, strict=True)
        ]

    def _job_move(
        self,
        decided: JobDecision,
        move: JobMove,
        why: str = "",
        unit: str | None = None,
        *,
        is_derived: bool = False,
    ) -> list[JobChange]:
        """The job's change; none if a further unit of a job in progress does not move it."""
        level, ordinal = decided.state.level, decided.ordinal
        before = level.state(ordinal)
        if move in (JobMove.REQUEST, JobMove.FINALISE) and before in _AT_LEAST[move]:
            return []
        covered = decided.covered if move in (JobMove.SKIP, JobMove.GIVE_UP) else 0
        return [
            move_job(
                decided.state.place,
                ordinal,
                move,
                why,
                self._name,
                unit=unit,
                covered=covered,
                is_derived=is_derived,
            )
        ]

    def _cancels(self, decided: JobDecision, why: str) -> list[UnitChange]:
        return [
            move_unit(unit, UnitMove.CANCEL, why, self._name)
            for unit in decided.units
            if not unit.state.is_finished
        ]

    def _orphans(self, units: list[tuple[int, UnitOfWork]]) -> list[UnitChange]:
        """Cancellations for units, by ordinal, whose job was finished or started over meanwhile.

        Called for units whose job was not moved along with them: further units of a job in
        progress, and units of a job that another process moved. If another scheduler requested
        the same unit, the unit stays.
        """
        if not units:
            return []
        spans = list(self._store.jobs.load(sorted({unit.process for _, unit in units})))
        return [
            move_unit(unit, UnitMove.CANCEL, "its job was changed meanwhile", self._name)
            for ordinal, unit in units
            if not unit.state.is_finished and _is_void(unit, ordinal, spans)
        ]


def _is_void(unit: UnitOfWork, ordinal: int, spans: Sequence[JobSpan]) -> bool:
    """Whether the unit's job, as stored, supersedes it; a job that is not stored is an embryo."""
    for span in spans:
        if span.process == unit.process and 0 <= ordinal - span.first < len(span.states):
            state = JobState(span.states[ordinal - span.first] & STATE_MASK)
            return is_superseded(unit, state, span.generations.get(ordinal, 1))
    return False


def _target(is_final: bool) -> JobMove:
    return JobMove.FINALISE if is_final else JobMove.REQUEST
