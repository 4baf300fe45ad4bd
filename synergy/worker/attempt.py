"""One attempt at a unit: what the work is given, and what its outcome means.

Nothing is claimed or written here, so that a worker of the deployment, a test and a developer at a
terminal carry out the same work in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from synergy.lifecycle.legal_moves import UnitMove
from synergy.model.process import ManagedProcess, WorkingProcess
from synergy.model.schedule import Run
from synergy.model.unit_of_work import SinkWrite, UnitOfWork
from synergy.storage.protocol import ReadableDocuments
from synergy.worker.outcome import Nothing, Outcome, Processed, checked
from synergy.worker.task import Sink, Source, Task

Work = Callable[[Task], Outcome]


@dataclass(frozen=True, slots=True)
class Result:
    """The result of an attempt that did not fail: its move, its counts, and the rows to write."""

    move: UnitMove
    counts: Mapping[str, int]
    writes: tuple[SinkWrite, ...]


class Attempt:
    """A unit of a process, with the task that its work is given.

    `documents` holds the source. `run` is the run that the unit carries out; None for a job's.
    """

    def __init__(
        self,
        process: WorkingProcess,
        unit: UnitOfWork,
        documents: ReadableDocuments,
        unique_by: tuple[str, ...],
        checkpoint: Callable[[], None],
        run: Run | None = None,
    ) -> None:
        self._unit = unit
        self._sink: Sink | None = None
        source = None
        if isinstance(process, ManagedProcess):
            if process.stored_source is not None:
                source = Source(documents, process.stored_source, unit)
            if process.sink is not None:
                self._sink = Sink(process.sink, unit, unique_by)
        self._task = Task(process, unit, source, self._sink, checkpoint, run)

    def carry_out(self, work: Work) -> Result:
        """Does the work; raises what the work raises, and TypeError for an invalid outcome."""
        move, counts = _move_of(work(self._task))
        if self._sink is None:
            return Result(move, counts, ())
        if move is UnitMove.PASS:
            self._sink.replace(self._unit.timeperiod, ())  # removes rows of an earlier generation
        return Result(move, counts, self._sink.writes())


def _move_of(outcome: object) -> tuple[UnitMove, Mapping[str, int]]:
    """The move and the counts of an outcome; raises TypeError for any other value."""
    match outcome:
        case Nothing():
            return UnitMove.PASS, {}
        case Processed(counts):
            return UnitMove.PROCESS, checked(counts)
        case _:
            raise TypeError(f"work returned {type(outcome).__name__}, not Processed or Nothing")
