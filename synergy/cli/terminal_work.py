"""The work of one unit in this terminal: its log and its output are printed as they come."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, redirect_stdout
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from synergy.cli import output
from synergy.cli.services import Services
from synergy.commands.period_by_hand import DoneByHand
from synergy.config import classes
from synergy.errors import InvalidValue
from synergy.model.process import WorkingProcess
from synergy.model.schedule import Run
from synergy.model.unit_of_work import UnitOfWork
from synergy.runtime import identity
from synergy.runtime.masking import mask
from synergy.runtime.stop import Stop
from synergy.runtime.workplace import Workplace
from synergy.storage.protocol import LogLine, ReadableDocuments
from synergy.worker.attempt import Attempt, Result
from synergy.worker.base import Worker
from synergy.worker.command import CommandWorker
from synergy.worker.outcome import CommandFailed
from synergy.worker.work_log import WorkLog


@dataclass(frozen=True, slots=True)
class Done:
    """What the work came to: its result, or why it failed; and the lines that it logged."""

    unit: UnitOfWork
    result: Result | None
    reason: str
    lines: Sequence[LogLine]

    @property
    def as_by_hand(self) -> DoneByHand:
        """The result, for the conclusion of a period."""
        assert self.result is not None
        result = self.result
        return DoneByHand(result.move, result.counts, result.writes, self.lines)


class Work:
    """The work of one unit. Nothing is claimed; `timeout` of the process does not apply."""

    def __init__(
        self, at: Services, process: WorkingProcess, unit: UnitOfWork, *, is_json: bool
    ) -> None:
        self.unit = unit
        self.owner = str(identity.incarnation())
        self._at = at
        self._process = process
        self._is_json = is_json

    def carry_out(self, documents: ReadableDocuments, run: Run | None = None) -> Done:
        """Does the work, with the source in `documents`; a failure is printed with its traceback.

        Standard output is left to the result if that is JSON.
        """
        worker = self._worker()
        attempt = Attempt(self._process, self.unit, documents, worker.unique_by, lambda: None, run)
        with (
            _logged(is_shown=self._process.command is None),
            closing(WorkLog(self._at.project.settings.clock)) as records,
            redirect_stdout(sys.stderr if self._is_json else sys.stdout),
        ):
            with records.of(self.unit), _Ending() as ending:
                ending.result = attempt.carry_out(worker.work)
            if ending.error is not None:
                records.failure(self.unit, ending.error)
            return Done(self.unit, ending.result, ending.reason, records.lines(self.unit))

    def _worker(self) -> Worker:
        settings = self._at.project.settings
        place = Workplace(
            self._process,
            self._at.store,
            self._at.bus,
            settings.clock,
            self.owner,
            Stop(),
            deployment=self._at.project.deployment,
            home=settings.home,
            box=settings.box_id,
            start_timeperiod=settings.start_timeperiod,
        )
        if self._process.command is not None:
            return CommandWorker(place, self._hear)
        found, _ = classes.resolve(self._process.classname or "")
        if not issubclass(found, Worker):
            raise InvalidValue(f"{self._process.classname} is no synergy.worker.Worker")
        return found(place)

    def _hear(self, line: str, is_error: bool) -> None:
        """Prints a line of a program's output."""
        (output.note if is_error or self._is_json else output.say)(line)


class _Ending:
    """Takes the result of the work, or its error, whose traceback it prints."""

    def __init__(self) -> None:
        self.result: Result | None = None
        self.error: BaseException | None = None
        self.reason = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> bool:
        if not isinstance(error, Exception | SystemExit):
            return False  # Ctrl-C, or the end of a debugger
        self.error = error
        self.reason = mask(f"{type(error).__name__}: {error}")
        if not isinstance(error, CommandFailed):  # its output is printed already
            output.note(mask("".join(traceback.format_exception(error))).rstrip())
        return True


class _Terminal(logging.Handler):
    """Prints what the work logs."""

    def emit(self, record: logging.LogRecord) -> None:
        output.note(mask(f"{record.levelname.lower()}: {record.getMessage()}"))


@contextmanager
def _logged(*, is_shown: bool) -> Iterator[None]:
    """Has the lines of level INFO logged; shows them, unless they were printed as they came."""
    root = logging.getLogger()
    handler, before = _Terminal(), root.level
    if is_shown:
        root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
