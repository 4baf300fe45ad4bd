"""The base classes of workers and event consumers.

A deployment names a class in `context.py` as `package.module.Class.start`. An instance is created
with a `Workplace`, and its `start` runs until the process is asked to stop.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from synergy.runtime.workplace import Daemon, Workplace
from synergy.storage.protocol import Documents
from synergy.worker.outcome import Outcome

if TYPE_CHECKING:
    from synergy.worker.task import Task


class EventConsumer(Daemon):
    """A daemon that consumes events from its queue. Several instances share the queue."""

    @abstractmethod
    def handle(self, events: Sequence[Mapping[str, object]], documents: Documents) -> None:
        """Writes the effect of the events to the store.

        Runs inside a batch that also takes the events from the queue, so it must be quick, and
        must give the same result when an event comes again. It raises BadMessage for events that
        it does not accept; they go into quarantine.
        """

    def start(self) -> None:
        from synergy.worker.event_loop import consume

        consume(self.workplace, self.handle)


class Worker(ABC):
    """Carries out the units of work of one managed or free-run process.

    `unique_by` names the fields by which the rows of one timeperiod differ. Without any, a
    timeperiod has at most one row.
    """

    unique_by: tuple[str, ...] = ()

    def __init__(self, workplace: Workplace) -> None:
        self.workplace = workplace

    @abstractmethod
    def work(self, task: Task) -> Outcome:
        """Carries out one unit; returns `Processed(counts)`, or `Nothing()` if there was no work.

        An exception makes the attempt invalid, and its text the reason.
        """

    def start(self) -> None:
        """Carries out units from the queue until the process is asked to stop."""
        from synergy.worker.unit_runner import run_units

        run_units(self.workplace, self.work, self.unique_by)
