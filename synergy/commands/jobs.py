"""Asking for something: every change that an operator (or a rule in his stead) makes.

Each action knows first what it would touch, which is what `dry_run` returns, and then does
exactly that by compare-and-set: jobs first, their unfinished units after them, so that no
job is ever seen as failed because its old unit was canceled. Where a batch is not one step,
a unit that is not canceled in time counts as concluded just before, or is canceled by the
collector. What somebody else changed
between the look and the move is left out of the answer, and the journal says who it was.
The scheduler follows the journal; it is woken, but need not be running.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from synergy.commands.sources import source_bounds
from synergy.errors import NotFound, Refused
from synergy.lifecycle.moves import move_job, move_unit
from synergy.lifecycle.standing import is_superseded
from synergy.lifecycle.transitions import JOB_MOVES, Move, UnitMoveName
from synergy.messaging.message import UnitMessage
from synergy.messaging.protocol import Bus
from synergy.model import journal
from synergy.model.job import JobMove, JobState
from synergy.model.journal import JournalEntry
from synergy.model.process import Deployment, WorkingProcess
from synergy.model.unit_of_work import Hint, UnitMove, UnitOfWork, UnitState
from synergy.names import AGENT_TOPIC, SCHEDULER_TOPIC, TIMETABLE_START
from synergy.queries.timetable.load import load_timetable
from synergy.schedule.trigger import parse
from synergy.storage.protocol import Store
from synergy.timeperiod import Qualifier
from synergy.timetable.cascade import Node, late_cascade, reprocess_cascade, skip_cascade
from synergy.timetable.timetable import Timetable

TRIES = 10


@dataclass(frozen=True, slots=True)
class Touched:
    """A job that an action changes, or would change."""

    process: str
    timeperiod: str
    before: JobState
    after: JobState
    generation: int


@dataclass(frozen=True, slots=True)
class Actor:
    """Who asks, and why; both go into the journal."""

    who: str
    why: str


class JobCommands:
    """What may be asked of a deployment, besides what concerns many jobs (`Bulk`)."""

    def __init__(self, store: Store, bus: Bus, deployment: Deployment) -> None:
        self._store = store
        self._bus = bus
        self._deployment = deployment

    def extend(self, start: str, actor: Actor, now: datetime, *, dry_run: bool = False) -> str:
        """Moves the timetable's first hour to an earlier one; returns the present first hour."""
        Qualifier.HOURLY.parse(start)
        present = self._store.facts.get(TIMETABLE_START)
        if present is None:
            raise Refused("the timetable has no start yet: start the supervisor once")
        if start >= present:
            raise Refused(f"the timetable already starts at {present}; give an earlier hour")
        if not dry_run:
            with self._store.batch() as batch:
                # First what will cover more: a finished job must not get unfinished children.
                self._repeat(lambda table: self._widening(table, start, actor), actor, now)
                self._store.facts.set(TIMETABLE_START, start)
                entry = journal.timetable_extended(present, start, actor.who, actor.why, now)
                self._store.journal.append([entry])
                batch.after_commit(self._wake)
        return present

    def _repeat(
        self, moves_in: Callable[[Timetable], list[JobMove]], actor: Actor, now: datetime
    ) -> list[Touched]:
        """Makes the moves of a cascade, again while others change the jobs meanwhile.

        The second time round what was moved the first time is passed through, so only what
        was refused is moved; an operator's word wins.
        """
        touched: list[Touched] = []
        for _ in range(TRIES):
            moves = moves_in(load_timetable(self._store, self._deployment, now))
            made, refused = make_moves(self._store, self._bus, moves, actor, now)
            touched += made
            if not refused:
                return touched
        raise Refused(f"{len(refused)} jobs keep changing; {len(touched)} were done: try again")

    def _widening(self, timetable: Timetable, start: str, actor: Actor) -> list[JobMove]:
        was = timetable.start
        timetable.extend(start)
        return start_over_moves(late_cascade(widened(timetable, was)), actor)

    def cancel_unit(
        self, unit: UnitOfWork, actor: Actor, now: datetime, *, dry_run: bool = False
    ) -> None:
        """Cancels a unit that is not finished; its job will be failed, its run canceled."""
        self._move_unit(unit, UnitMoveName.CANCEL, actor, now, dry_run=dry_run)

    def retry_unit(
        self, unit: UnitOfWork, actor: Actor, now: datetime, *, dry_run: bool = False
    ) -> None:
        """Hands an invalid unit out again at once, with its failures forgiven.

        Raises Refused for that of a run, which is retried as a whole.
        """
        if unit.is_of_run:
            raise Refused(
                f"unit {unit.id} carries out a run: launch.py schedule retry {unit.id} runs it "
                "again; launch.py schedule runs shows how runs ended"
            )
        if unit.state is UnitState.CANCELED:
            raise Refused(
                f"unit {unit.id} was canceled, and stays so: launch.py timetable retry "
                f"{unit.process} {unit.timeperiod} tries its period again, if that is failed; "
                "timetable reprocess starts a finished one over"
            )
        if unit.state is UnitState.IN_PROGRESS:
            raise Refused(f"unit {unit.id} is in progress: cancel it, or reprocess its job")
        self._move_unit(unit, UnitMoveName.HAND_OUT_AGAIN, actor, now, dry_run=dry_run)

    def _move_unit(
        self, unit: UnitOfWork, name: UnitMoveName, actor: Actor, now: datetime, *, dry_run: bool
    ) -> None:
        again = name is UnitMoveName.HAND_OUT_AGAIN
        move = move_unit(unit, name, actor.why, actor.who, forgive=again)
        if dry_run:
            return
        with self._store.batch() as batch:
            if self._store.units.move([move], now):
                raise Refused(f"unit {unit.id} was changed meanwhile; look again")
            if again:
                hint = Hint(unit.id, unit.attempt + 1)
                process = self._deployment.processes.get(unit.process)
                queue = process.queue if process is not None else unit.process
                message = UnitMessage(hint.unit, hint.attempt)
                published = partial(self._store.units.published, [hint], now)
                self._bus.publish(queue, [message], batch, published)
            batch.after_commit(self._wake)

    def switch_process(self, process: str, is_on: bool, actor: Actor, now: datetime) -> None:
        """Switches the jobs, or runs, of a process on or off; what runs, runs to its end."""
        self._working(process)
        with self._store.batch() as batch:
            self._store.controls.set_on(process, is_on, actor.who, actor.why, now)
            batch.after_commit(self._wake)

    def set_trigger(self, process: str, trigger: str, actor: Actor, now: datetime) -> str:
        """Changes when a managed process looks by itself; returns the canonical form."""
        self._managed(process)
        canonical = str(parse(trigger))
        with self._store.batch() as batch:
            self._store.controls.set_trigger(process, canonical, actor.who, actor.why, now)
            batch.after_commit(self._wake)
        return canonical

    def trigger(self, process: str, actor: Actor, now: datetime) -> None:
        """Has a managed process look now, as if its trigger were due."""
        self._managed(process)
        self._note(journal.look_requested(process, actor.who, actor.why, now))

    def request_collection(self, process: str, flush: bool, actor: Actor, now: datetime) -> int:
        """Has the scheduler run the collector; returns the journal number to wait after.

        `flush` ignores waiting times; `process` limits it to one process, empty for all.
        """
        if process:
            self._working(process)
        seq = self._store.journal.last_seq()
        self._note(journal.collection_requested(process, flush, actor.who, actor.why, now))
        return seq

    def _note(self, entry: JournalEntry) -> None:
        """Writes the entry, and wakes those who act on it."""
        with self._store.batch() as batch:
            self._store.journal.append([entry])
            batch.after_commit(self._wake)

    def _managed(self, process: str) -> None:
        managed = self._deployment.managed()
        if process not in managed:
            raise NotFound("managed process", process, f"there are: {', '.join(managed)}")

    def _working(self, process: str) -> None:
        declared = self._deployment.processes
        if not isinstance(declared.get(process), WorkingProcess):
            known = ", ".join(n for n, p in declared.items() if isinstance(p, WorkingProcess))
            raise NotFound("managed or free-run process", process, f"there are: {known}")

    def _wake(self) -> None:
        self._bus.notify(SCHEDULER_TOPIC)
        self._bus.notify(AGENT_TOPIC)


def widened(timetable: Timetable, was: str) -> list[Node]:
    """The jobs that cover more now that the first hour is no longer `was`."""
    found = []
    for place in timetable.places.values():
        level, qualifier = place.level, place.process.qualifier
        first = qualifier.cast(was)
        job = level.checkpoint(first)
        if not level.holds(job):
            continue
        begin = qualifier.start((level.covered(job) or (job, job))[0])
        if begin < Qualifier.HOURLY.start(Qualifier.HOURLY.cast(was)) and (
            place.child is not None or level.covered(job) != (job, job + 1)
        ):
            found.append((place, job))
    return found


def start_over_moves(nodes: Iterable[Node], actor: Actor) -> list[JobMove]:
    """The moves that start these jobs over, and no others."""
    return [move_job(place, at, Move.START_OVER, actor.why, actor.who) for place, at in nodes]


def cascade_moves(store: Store, nodes: Iterable[Node], move: Move, actor: Actor) -> list[JobMove]:
    """The moves for these jobs and, of START_OVER and SKIP, their cascade.

    RETRY and ACKNOWLEDGE concern those of the jobs alone that are failed, or given up.
    """
    match move:
        case Move.START_OVER:
            return start_over_moves(reprocess_cascade(nodes), actor)
        case Move.RETRY | Move.ACKNOWLEDGE:
            allowed, _ = JOB_MOVES[move]
            return [
                move_job(place, at, move, actor.why, actor.who)
                for place, at in nodes
                if place.level.state(at) in allowed
            ]
    return [
        move_job(
            place, at, move, actor.why, actor.who, covered=bounds.high if bounds is not None else 0
        )
        for place, at in skip_cascade(nodes)
        for bounds in [source_bounds(store, place.level, at)]
    ]


def make_moves(
    store: Store, bus: Bus, moves: Sequence[JobMove], actor: Actor, now: datetime
) -> tuple[list[Touched], list[JobMove]]:
    """Makes the moves, then cancels the unfinished units of the jobs that were moved.

    What the cascade reached last comes first: who stops in between leaves no finished parent of
    an unfinished child. Returns what was touched, and the moves that were refused because a job
    had changed.
    """
    with store.batch() as batch:
        refused = store.jobs.move(moves[::-1], now)
        gone = set(refused)
        made = [move for move in moves if move not in gone]
        store.units.move(_cancels(store, made, actor), now)
        batch.after_commit(lambda: bus.notify(SCHEDULER_TOPIC))
    return _touched(made), refused


def _cancels(store: Store, moves: Sequence[JobMove], actor: Actor) -> list[UnitMove]:
    """Those of units that were there before the moves: a scheduler may have requested others.

    A retry cancels none: what a scheduler has requested by now is of the same generation.
    """
    jobs = {
        (move.process, move.qualifier.timeperiod(ordinal)): (
            move.after, move.generation + move.start_over,
        )
        for move in moves
        if move.before is not move.after and (move.start_over or move.after.is_finished)
        for ordinal in range(move.first, move.last + 1)
    }  # fmt: skip
    return [
        move_unit(unit, UnitMoveName.CANCEL, actor.why, actor.who)
        for unit in (store.units.unfinished() if jobs else ())
        for job in [jobs.get((unit.process, unit.timeperiod))]
        if job is not None and is_superseded(unit, *job)
    ]


def _touched(moves: Sequence[JobMove]) -> list[Touched]:
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
