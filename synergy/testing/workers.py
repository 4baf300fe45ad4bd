"""The workers of a deployment, each in the calling thread."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import cast

from synergy.config import classes
from synergy.messaging.protocol import Consumer
from synergy.model.process import BuiltIn, Process, WorkingProcess
from synergy.runtime.workplace import Workplace
from synergy.worker.attempt import Work
from synergy.worker.base import EventConsumer, Worker
from synergy.worker.command import CommandWorker
from synergy.worker.event_loop import handle_some
from synergy.worker.outcome import Outcome
from synergy.worker.task import Task
from synergy.worker.unit_runner import UnitRunner

Step = Callable[[Consumer], bool]


class SteppedWorkers:
    """One worker for each process that has work, made when its first work comes."""

    def __init__(
        self,
        workplace: Callable[[str, str], Workplace],
        classes_: Mapping[str, type[Worker]],
    ) -> None:
        """`workplace` makes the one of a process for an owner; `classes_` replaces classes."""
        self._workplace = workplace
        self._classes = classes_
        self._runners: dict[str, UnitRunner] = {}
        self._steps: dict[str, Step] = {}
        self.errors: list[BaseException] = []  # what work has raised, oldest first

    def carry_out(self) -> bool:
        """Has every process carry out what waits for it; returns whether anything did."""
        place = self._workplace("", "workers")
        waiting = place.bus.depths()
        done = False
        with _info_logged():
            for process in place.deployment.processes.values():
                if waiting.get(process.queue) and process.classname not in list(BuiltIn):
                    with closing(place.bus.consumer(process.queue)) as consumer:
                        done = self._step(process)(consumer) or done
        return done

    def close(self) -> None:
        """Ends the workers; new ones do the next work."""
        for runner in self._runners.values():
            runner.close()
        self._runners.clear()
        self._steps.clear()

    def _step(self, process: Process) -> Step:
        if process.name not in self._steps:
            self._steps[process.name] = self._new_step(process)
        return self._steps[process.name]

    def _new_step(self, process: Process) -> Step:
        workplace = self._workplace(process.name, f"worker-{process.name}")
        found = self._class(process)(workplace)
        if isinstance(found, EventConsumer):
            return lambda consumer: handle_some(workplace, consumer, found.handle) > 0
        assert isinstance(found, Worker)
        runner = UnitRunner(workplace, self._observed(found.work), found.unique_by, end=_abandoned)
        self._runners[process.name] = runner
        return runner.round

    def _observed(self, work: Work) -> Work:
        """The same work, whose errors are kept."""

        def observed(task: Task) -> Outcome:
            try:
                return work(task)
            except BaseException as error:
                self.errors.append(error)
                raise

        return observed

    def _class(self, process: Process) -> type[Worker] | type[EventConsumer]:
        if process.name in self._classes:
            return self._classes[process.name]
        if isinstance(process, WorkingProcess) and process.command is not None:
            return CommandWorker
        return cast("type[Worker]", classes.resolve(process.classname or "")[0])


@contextmanager
def _info_logged() -> Iterator[None]:
    """Has the lines of level INFO logged, as in a worker's process, so that units keep them."""
    root = logging.getLogger()
    before = root.level
    root.setLevel(min(before, logging.INFO))
    try:
        yield
    finally:
        root.setLevel(before)


def _abandoned(_code: int) -> None:
    """Takes the place of the end of a worker's process, which would end the tests."""
