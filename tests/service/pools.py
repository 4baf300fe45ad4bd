"""A deployment whose free-run processes are served by a pool, and members of it run by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from synergy.model.process import (
    POOLED,
    BuiltIn,
    DaemonProcess,
    Deployment,
    FreerunProcess,
    WorkingProcess,
)
from synergy.model.schedule import Run
from synergy.model.unit_of_work import UnitState
from synergy.names import POOL
from synergy.runtime.workplace import Workplace
from synergy.worker.base import Worker
from synergy.worker.outcome import Outcome, Processed
from synergy.worker.pool.member import PoolMember
from synergy.worker.task import Task
from tests.service.free_runs import NOW, a_free_process, a_run, launch, unit
from tests.service.scheduler_harness import SchedulerHarness

BOX = "box"  # of the harness


def pooled(name: str, **fields: Any) -> FreerunProcess:
    """A free-run process that the pool serves."""
    return a_free_process(name, **{"instances": POOLED, **fields})


def a_pool(size: int) -> DaemonProcess:
    return DaemonProcess(
        name=POOL,
        classname=BuiltIn.POOL.value,
        token="pool",
        present_on_boxes=(".*",),
        instances=size,
    )


def a_pooled_system(*processes: WorkingProcess, size: int = 3) -> SchedulerHarness:
    """A system whose box is assigned these processes, and a pool of this size."""
    declared = {process.name: process for process in (*processes, a_pool(size))}
    system = SchedulerHarness(Deployment(declared, {}), now=NOW)
    system.store.boxes.assign(BOX, list(declared))
    return system


class Recorder(Worker):
    """A worker that records what it did as (process, unit), and then acts."""

    done: list[tuple[str, str]]
    act: Callable[[Task], object]

    def work(self, task: Task) -> Outcome:
        self.done.append((task.process.name, task.unit.id))
        self.act(task)
        return Processed()


class Members:
    """Makes members, and the workers of their processes."""

    def __init__(
        self, system: SchedulerHarness, act: Callable[[Task], object] = lambda _: None
    ) -> None:
        self.system = system
        self.act = act
        self.done: list[tuple[str, str]] = []
        self.made: list[str] = []  # the processes whose workers were made
        self.memory = 0

    @contextmanager
    def member(self, owner: str = "member-1") -> Iterator[PoolMember]:
        """A member that has read which processes are to run."""
        place = self.system.workplace(POOL, owner)
        made = PoolMember(
            place, self._worker, end=self.system.ended.append, memory=lambda: self.memory
        )
        with closing(made):
            made.refresh()
            yield made

    @property
    def order(self) -> list[str]:
        """The processes of the units in the order in which they were carried out."""
        return [name for name, _ in self.done]

    def _worker(self, place: Workplace) -> Worker:
        self.made.append(place.process.name)
        worker = Recorder(place)
        worker.done, worker.act = self.done, self.act
        return worker


def launched(system: SchedulerHarness, process: str, count: int = 1) -> list[Run]:
    """Runs of a process, launched in their order."""
    runs = [a_run(f"{process}:{number}", process) for number in range(count)]
    launch(system, *runs)
    return runs


def states(system: SchedulerHarness, *runs: Run) -> list[UnitState]:
    return [unit(system, run).state for run in runs]
