"""Moving the start of the timetable to an earlier hour.

A first period of a process may cover more hours afterwards (the first day begins at midnight, not
at noon); such jobs are started over with everything made from them.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial

from synergy.commands.jobs import ATTEMPTS, make_moves, start_over_moves
from synergy.errors import Refused
from synergy.messaging.protocol import Bus
from synergy.model import journal
from synergy.model.actor import Actor
from synergy.model.job import JobChange
from synergy.model.process import Deployment
from synergy.names import AGENT_TOPIC, SCHEDULER_TOPIC, TIMETABLE_START
from synergy.queries.timetable.load import load_timetable
from synergy.storage.protocol import Store
from synergy.timeperiod import Qualifier
from synergy.timetable.cascade import Node, late_cascade
from synergy.timetable.timetable import Timetable


class TimetableCommands:
    """Changes the range that the timetable covers."""

    def __init__(self, store: Store, bus: Bus, deployment: Deployment) -> None:
        self._store = store
        self._bus = bus
        self._deployment = deployment

    def extend(self, start: str, actor: Actor, now: datetime, *, dry_run: bool = False) -> str:
        """Moves the timetable's first hour to an earlier one; returns the former first hour."""
        Qualifier.HOURLY.parse(start)
        present = self._store.facts.get(TIMETABLE_START)
        if present is None:
            raise Refused("the timetable has no start yet: start the supervisor once")
        if start >= present:
            raise Refused(f"the timetable already starts at {present}; give an earlier hour")
        if not dry_run:
            with self._store.batch() as batch:
                # First the jobs that will cover more: a finished job may not have unfinished
                # children.
                self._start_over(start, actor, now)
                self._store.facts.set(TIMETABLE_START, start)
                entry = journal.timetable_extended(present, start, actor.who, actor.why, now)
                self._store.journal.append([entry])
                batch.after_commit(partial(self._bus.notify, SCHEDULER_TOPIC))
                batch.after_commit(partial(self._bus.notify, AGENT_TOPIC))
        return present

    def _start_over(self, start: str, actor: Actor, now: datetime) -> None:
        """Starts over the jobs that cover more from `start` on; retries those that changed.

        A job that an earlier attempt started over is not moved again.
        """
        done = 0
        for _ in range(ATTEMPTS):
            made, refused = make_moves(
                self._store, self._bus, self._moves(start, actor, now), actor, now
            )
            done += len(made)
            if not refused:
                return
        raise Refused(f"{len(refused)} jobs keep changing; {done} were done: try again")

    def _moves(self, start: str, actor: Actor, now: datetime) -> list[JobChange]:
        timetable = load_timetable(self._store, self._deployment, now)
        was = timetable.start
        timetable.extend(start)
        return start_over_moves(late_cascade(widened(timetable, was)), actor)


def widened(timetable: Timetable, was: str) -> list[Node]:
    """The jobs that cover more now that the first hour is earlier than `was`."""
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
