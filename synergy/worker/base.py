"""What a worker author inherits from.

A deployment names a class in `context.py` as `package.module.Class.start`. The class is made
with a `Workplace` and its `start` runs until the process is asked to stop.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from synergy.clock import Clock
from synergy.messaging.protocol import Bus
from synergy.model.process import Deployment, Process
from synergy.runtime.stop import Stop
from synergy.storage.protocol import Documents, Store
from synergy.worker.outcome import Outcome

if TYPE_CHECKING:
    from synergy.worker.task import Task


@dataclass(frozen=True, slots=True)
class Workplace:
    """All that a process of the deployment works with.

    `owner` is the incarnation of this operating system process: unique, and telling enough
    to find out later whether it is still alive. `stop` is set when the process shall end.

    `deployment` is everything that `context.py` declares, for those few processes that look
    after others. `home` is the folder for logs and other files, `box` the box id, and
    `start_timeperiod` the first hour of the timetable, None where the store is to remember
    the one of the first start.
    """

    process: Process
    store: Store
    bus: Bus
    clock: Clock
    owner: str
    stop: Stop
    instance: int = 1
    deployment: Deployment = field(default_factory=lambda: Deployment({}, {}))
    home: Path = Path()
    box: str = ""
    start_timeperiod: str | None = None


class Daemon(ABC):
    """A process that always runs."""

    def __init__(self, workplace: Workplace) -> None:
        self.workplace = workplace

    @abstractmethod
    def start(self) -> None:
        """Runs until `self.workplace.stop` is set."""


class EventConsumer(Daemon):
    """A daemon that takes events from its queue. Several instances share the queue."""

    @abstractmethod
    def handle(self, events: Sequence[Mapping[str, object]], documents: Documents) -> None:
        """Brings the events into the store.

        Runs inside a batch that also takes the events from the queue, so it must be quick,
        and must give the same result when the same event comes again. It raises BadMessage
        for events that are not what it expects; they go into quarantine.
        """

    def start(self) -> None:
        from synergy.worker.consuming import consume

        consume(self.workplace, self.handle)


class Worker(ABC):
    """Carries out the units of work of one managed process.

    `unique_by` names the fields that, together with the timeperiod, make a row of the sink
    unique.
    """

    unique_by: tuple[str, ...] = ("domain",)

    def __init__(self, workplace: Workplace) -> None:
        self.workplace = workplace

    @abstractmethod
    def work(self, task: Task) -> Outcome:
        """Carries out one unit; an exception makes the attempt invalid, with its text kept."""

    def start(self) -> None:
        """Takes units from the queue until the process shall stop."""
        from synergy.worker.execution import run_units

        run_units(self.workplace, self.work, self.unique_by)
