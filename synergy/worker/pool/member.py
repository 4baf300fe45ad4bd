"""One member of the pool: it takes turns among the processes that have something to do.

A process with requested units is ready; which ones are, the store says in one query for all. The
member works for one process at a time, and only if it gets one of the process's places, so that
others are left for other processes.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable

from synergy.model.pool import in_turn, most_members
from synergy.model.switches import running_on
from synergy.names import POOL_TOPIC
from synergy.runtime.process_memory import own_memory
from synergy.runtime.workplace import Workplace
from synergy.worker.heartbeat import End
from synergy.worker.pool.places import Place, Places
from synergy.worker.pool.runners import Runner, Runners, WorkerOf

LOOK_SECONDS = 0.1  # the time between two looks of a busy member at what is ready
SWEEP_SECONDS = 600.0  # the time between two looks for messages whose units are no longer requested
GROWTH = 256 << 20  # bytes beyond the memory of its start, after which a member is replaced


class PoolMember:
    """Carries out units of all pooled processes of its box, in groups."""

    def __init__(
        self,
        workplace: Workplace,
        worker_of: WorkerOf,
        *,
        end: End = os._exit,
        memory: Callable[[], int] = own_memory,
    ) -> None:
        """`end` ends the process with an exit code; `memory` returns its resident bytes."""
        self._workplace = workplace
        self._size = workplace.process.instances
        self._pooled = workplace.deployment.pooled()
        self._places = Places(workplace.home)
        self._runners = Runners(workplace, worker_of, end)
        self._memory = memory
        self._largest = memory() + GROWTH
        self._served: frozenset[str] = frozenset()
        self._ready: set[str] = set()
        self._looked, self._swept = -math.inf, workplace.clock.monotonic()
        self._last = ""
        self._at_work: tuple[Runner, Place] | None = None

    @property
    def has_grown(self) -> bool:
        """Whether it is to be replaced; not while it holds units."""
        return self._at_work is None and self._memory() > self._largest

    def close(self) -> None:
        self._runners.close()

    def refresh(self) -> bool:
        """Reads which processes are to run here; returns whether that changed. From any thread.

        What is being done for a process that was switched off is given up as if its own worker
        was asked to end.
        """
        store, place = self._workplace.store, self._workplace
        assignments = store.boxes.assignments(place.box)
        names = running_on(place.deployment, place.box, assignments, store.controls.all())
        served = self._pooled.keys() & set(names)
        is_changed = served != self._served
        self._served = frozenset(served)
        for name in self._runners.names():
            if name not in served:
                self._runners.stop(name)
        return is_changed

    def round(self) -> bool:
        """Carries out a group of units; returns False if there is none that it may take.

        What is left of the last group, because the store failed, comes first.
        """
        if self._at_work is not None:
            return self._work()
        self._look()
        for name in in_turn(self._ready & self._served, self._last):
            place = self._places.take(name, most_members(self._pooled[name], self._size))
            if place is None:
                continue
            self._begin(name, place)
            if self._work():
                return True
            self._ready.discard(name)
        self._ready.clear()
        return False

    def _look(self) -> None:
        """Reads which processes are ready; if some were found last time, not at every turn."""
        at = self._workplace.clock.monotonic()
        if self._ready and at - self._looked < LOOK_SECONDS:
            return
        self._looked = at
        self._ready = self._workplace.store.units.requested()
        if at - self._swept >= SWEEP_SECONDS:
            self._swept = at
            self._ready |= self._workplace.bus.depths(
                [p.queue for p in self._pooled.values()]
            ).keys()

    def _begin(self, name: str, place: Place) -> None:
        """Turns to a process; if it leaves another one for that, it tells the idle members."""
        runner = self._runners.of(self._pooled[name])
        if name not in self._served:  # switched off meanwhile
            self._runners.stop(name)
        if self._last != name and self._last in self._ready:
            self._workplace.bus.notify(POOL_TOPIC)
        self._last, self._at_work = name, (runner, place)

    def _work(self) -> bool:
        assert self._at_work is not None
        runner, place = self._at_work
        found = runner.round()
        if runner.units.is_idle:
            self._at_work = None
            place.release()
        return found
