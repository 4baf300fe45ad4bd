"""What a member of the pool keeps of each process that it has worked for."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from synergy.messaging.protocol import Puller
from synergy.model.process import WorkingProcess
from synergy.runtime.stop import Stop
from synergy.runtime.workplace import Workplace
from synergy.worker.base import Worker
from synergy.worker.heartbeat import End
from synergy.worker.outcome import Outcome
from synergy.worker.pool.surroundings import Surroundings
from synergy.worker.task import Task
from synergy.worker.unit_runner import UnitRunner

KEPT = 64  # processes; what is kept of others is made again when they have work

log = logging.getLogger(__name__)

WorkerOf = Callable[[Workplace], Worker]
"""Makes the worker of a process; raises if its class cannot be used."""


@dataclass(frozen=True, slots=True)
class Runner:
    """The runner of one process. `stop` ends only its work; `is_sound` says it has a worker."""

    units: UnitRunner
    puller: Puller
    stop: Stop
    surroundings: Surroundings
    is_sound: bool

    def round(self) -> bool:
        """Carries out a group of units; returns False if there was none."""
        with self.surroundings:
            return self.units.round(self.puller)


class Runners:
    """The runners of the processes that were served last."""

    def __init__(self, workplace: Workplace, worker_of: WorkerOf, end: End) -> None:
        self._workplace = workplace
        self._worker_of = worker_of
        self._end = end
        self._kept: OrderedDict[str, Runner] = OrderedDict()
        workplace.stop.interrupts(self._stop_all)

    def of(self, process: WorkingProcess) -> Runner:
        """The runner of a process, whose worker is imported and made at most once."""
        kept = self._kept.get(process.name)
        if kept is not None and kept.is_sound and not kept.stop.is_set:
            self._kept.move_to_end(process.name)
            return kept
        self._drop(process.name)
        while len(self._kept) >= KEPT:
            self._drop(next(iter(self._kept)))
        made = self._kept[process.name] = self._made(process)
        if self._workplace.stop.is_set:  # the request may have come meanwhile
            self._stop_all()
        return made

    def stop(self, process: str) -> None:
        """Ends the work for a process that was switched off; from any thread."""
        if (kept := self._kept.get(process)) is not None:
            kept.stop.set()

    def names(self) -> list[str]:
        """The processes that have a runner; from any thread."""
        return list(self._kept)

    def close(self) -> None:
        for name in self.names():
            self._drop(name)

    def _made(self, process: WorkingProcess) -> Runner:
        place = replace(self._workplace, process=process, stop=Stop())
        puller = place.bus.puller(process.queue)
        around = Surroundings()
        try:
            with around:
                worker = self._worker_of(place)
        except Exception as error:  # it fails the units of this process, and no others
            log.exception(
                "The worker of %s cannot be made",
                process.name,
                extra={"event": "pool.no_worker", "process_name": process.name},
            )
            units = UnitRunner(place, _failing(error), (), self._end)
            return Runner(units, puller, place.stop, around, is_sound=False)
        units = UnitRunner(place, worker.work, worker.unique_by, self._end)
        return Runner(units, puller, place.stop, around, is_sound=True)

    def _drop(self, process: str) -> None:
        if (kept := self._kept.pop(process, None)) is not None:
            kept.units.close()

    def _stop_all(self) -> None:
        """Passes a request to stop on, as urgent as it is; also from a signal handler."""
        is_urgent = self._workplace.stop.is_urgent
        with suppress(RuntimeError):  # a runner is added or dropped just now
            for kept in tuple(self._kept.values()):
                kept.stop.set() if is_urgent else kept.stop.finish()


def _failing(error: Exception) -> Callable[[Task], Outcome]:
    def fail(_task: Task) -> Outcome:
        raise error

    return fail
