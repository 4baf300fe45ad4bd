"""The changes of jobs that a command makes, and the end of their units.

Jobs are moved first and their unfinished units after them, by compare-and-set, so that no job is
seen as failed because its old unit was canceled. Where a batch is not one transaction, a unit that
is not canceled in time counts as concluded just before, or is canceled by the collector. Jobs that
changed between the read and the move are left out of the answer; the journal names the author of
that change. The scheduler follows the journal; it is woken, but need not be running.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from synergy.lifecycle.legal_moves import JobMove, UnitMove
from synergy.lifecycle.state_changes import move_job, move_unit
from synergy.lifecycle.superseded_units import is_superseded
from synergy.messaging.protocol import Bus
from synergy.model.actor import Actor
from synergy.model.job import JobChange, JobState
from synergy.model.unit_of_work import UnitChange
from synergy.names import SCHEDULER_TOPIC
from synergy.storage.protocol import Store
from synergy.timetable.cascade import Node

ATTEMPTS = 10  # how often a change is tried while others change the same rows


@dataclass(frozen=True, slots=True)
class Touched:
    """A job that a command changes, or would change."""

    process: str
    timeperiod: str
    before: JobState
    after: JobState
    generation: int


def start_over_moves(nodes: Iterable[Node], actor: Actor) -> list[JobChange]:
    """The moves that start over these jobs alone, without their cascade."""
    return [move_job(place, at, JobMove.START_OVER, actor.why, actor.who) for place, at in nodes]


def make_moves(
    store: Store, bus: Bus, moves: Sequence[JobChange], actor: Actor, now: datetime
) -> tuple[list[Touched], list[JobChange]]:
    """Makes the moves, then cancels the unfinished units of the jobs that were moved.

    Returns the touched jobs, and the moves that were refused because a job had changed. The end
    of the cascade is moved first: an interruption leaves no finished parent of an unfinished
    child.
    """
    with store.batch() as batch:
        refused = store.jobs.move(moves[::-1], now)
        not_made = set(refused)
        made = [move for move in moves if move not in not_made]
        store.units.move(_cancels(store, made, actor), now)
        batch.after_commit(partial(bus.notify, SCHEDULER_TOPIC))
    return _touched(made), refused


def _cancels(store: Store, moves: Sequence[JobChange], actor: Actor) -> list[UnitChange]:
    """The cancellations of units from before the moves: a scheduler may have requested new ones.

    A retry cancels none: units that a scheduler requested since are of the same generation.
    """
    canceling = [
        move
        for move in moves
        if move.before is not move.after and (move.start_over or move.after.is_finished)
    ]
    jobs = {(touched.process, touched.timeperiod): touched for touched in _touched(canceling)}
    return [
        move_unit(unit, UnitMove.CANCEL, actor.why, actor.who)
        for unit in (store.units.unfinished() if jobs else ())
        for job in [jobs.get((unit.process, unit.timeperiod))]
        if job is not None and is_superseded(unit, job.after, job.generation)
    ]


def _touched(moves: Sequence[JobChange]) -> list[Touched]:
    return [
        Touched(
            move.process,
            move.qualifier.timeperiod(ordinal),
            move.before,
            move.after,
            move.generation + move.start_over,
        )
        for move in moves
        for ordinal in range(move.first, move.last + 1)
    ]
