"""The argument of work: the period, its source, its sink, a log, a checkpoint."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from synergy.model.unit_of_work import Document, SinkWrite, UnitOfWork
from synergy.storage.collection_rows import Nan
from synergy.worker.rows import as_documents

if TYPE_CHECKING:
    from synergy.model.process import WorkingProcess
    from synergy.model.schedule import Run
    from synergy.storage.protocol import ReadableDocuments


class Source:
    """The documents of the unit's source."""

    def __init__(self, documents: ReadableDocuments, collection: str, unit: UnitOfWork) -> None:
        self._documents = documents
        self._collection = collection
        self._unit = unit

    def __iter__(self) -> Iterator[dict[str, object]]:
        """The documents of the unit's own range, `[start_timeperiod, end_timeperiod)`."""
        return self.between(self._unit.start_timeperiod, self._unit.end_timeperiod)

    def between(self, start: str, end: str) -> Iterator[dict[str, object]]:
        """The documents of another range, `[start, end)`, for comparisons."""
        return self._documents.read(self._collection, start, end)


class Sink:
    """The rows that the unit produces. They become visible when the unit is processed.

    They are rejected if the worker no longer holds the unit, for example because a newer attempt
    was handed out: a paused worker that continues late changes nothing.
    """

    def __init__(self, collection: str, unit: UnitOfWork, unique_by: tuple[str, ...]) -> None:
        self._collection = collection
        self._unit = unit
        self._unique_by = unique_by
        self._documents: list[Document] | None = None

    def replace(
        self, timeperiod: str, documents: Iterable[Mapping[str, object]], *, nan: Nan = "refuse"
    ) -> int:
        """Makes the unit's rows exactly `documents`, filed under `timeperiod`; returns how many.

        Other rows of the unit are removed. Each row gets `timeperiod` as a field. A later call
        replaces the earlier one. `nan="null"` stores NaN and infinities as null. Raises
        InvalidValue for the first row that cannot be stored as it is, or has the key of an earlier
        row. The message says which row, which field, and what to do.
        """
        self._documents = as_documents(timeperiod, documents, self._unique_by, nan)
        return len(self._documents)

    def writes(self) -> tuple[SinkWrite, ...]:
        """The write that belongs to the conclusion; none if `replace` was never called."""
        if self._documents is None:
            return ()
        unit = self._unit
        return (
            SinkWrite(
                self._collection,
                unit.start_timeperiod,
                unit.end_timeperiod,
                tuple(self._documents),
            ),
        )


class Task:
    """A unit of work as its worker sees it: of a job, or of a run of a free-run process.

    `run` is the run that the unit carries out; None for a job's.
    """

    def __init__(
        self,
        process: WorkingProcess,
        unit: UnitOfWork,
        source: Source | None,
        sink: Sink | None,
        checkpoint: Callable[[], None],
        run: Run | None = None,
    ) -> None:
        self.process = process
        self.unit = unit
        self.run = run
        self._source = source
        self._sink = sink
        self._checkpoint = checkpoint
        self.log = logging.getLogger("synergy.unit")

    @property
    def timeperiod(self) -> str:
        """The timeperiod of the job; of a run, its due time as `YYYYMMDDHHmmSS`."""
        return self.unit.timeperiod

    @property
    def arguments(self) -> Mapping[str, object]:
        """The arguments of the process in `context.py`, overridden by those of the run."""
        given = None if self.run is None else self.run.request.get("arguments")
        if not isinstance(given, Mapping):
            return self.process.arguments
        return {**self.process.arguments, **given}

    @property
    def source(self) -> Source:
        """The source; raises ValueError if the process has none in the store."""
        if self._source is None:
            raise ValueError(f"{self.process.name} has no source in the store")
        return self._source

    @property
    def sink(self) -> Sink:
        """The sink; raises ValueError if the process has none."""
        if self._sink is None:
            raise ValueError(f"{self.process.name} has no sink")
        return self._sink

    def checkpoint(self) -> None:
        """Raises LostAttempt if the unit was canceled, timed out, started over or handed out again.

        It does so, too, when the process is asked to stop at once. Long work calls it between its
        steps, so that it ends when its result would be rejected.
        """
        self._checkpoint()
