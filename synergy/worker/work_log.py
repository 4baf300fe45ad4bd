"""Stores what a worker logs during a unit of work, together with the unit.

Every line of level INFO and above that the working thread logs, by any logger, is kept, up to a
limit for each attempt. The reason of a failure is kept even beyond the limit.
"""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from synergy.clock import Clock
from synergy.model.unit_of_work import UnitOfWork
from synergy.runtime.masking import mask
from synergy.storage.protocol import LogLine, UnitLogs
from synergy.worker.outcome import CommandFailed

MOST_LINES = 5000  # the most lines of one attempt, with a last line about those left out
LONGEST_LINE = 8192  # the most characters of one line; the last ones are kept


class WorkLog(logging.Handler):
    """A log handler that records lines for the unit that is being carried out."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(logging.INFO)
        self._clock = clock
        self._thread = threading.get_ident()
        self._unit: UnitOfWork | None = None
        self._count = 0
        self._lines: dict[str, list[LogLine]] = {}
        logging.getLogger().addHandler(self)

    def close(self) -> None:
        logging.getLogger().removeHandler(self)
        super().close()

    @contextmanager
    def of(self, unit: UnitOfWork) -> Iterator[None]:
        """Records the lines that are logged within the block for `unit`."""
        self._unit, self._count = unit, 0
        try:
            yield
        finally:
            self._unit = None

    def emit(self, record: logging.LogRecord) -> None:
        unit = self._unit
        if unit is None or threading.get_ident() != self._thread:
            return
        try:
            self._keep(unit, record.levelname, record.getMessage())
        except Exception:  # noqa: BLE001 - a line that cannot be formatted must not fail the work
            self.handleError(record)

    def failure(self, unit: UnitOfWork, error: BaseException) -> None:
        """Records why an attempt failed: the traceback, or how the failed program ended."""
        if isinstance(error, CommandFailed):  # its output is already recorded
            self._add(unit, "ERROR", error.how)
        else:
            self._add(unit, "ERROR", "".join(traceback.format_exception(error)))

    def stuck(self, unit: UnitOfWork) -> None:
        """Records the stack of the working thread."""
        frame = sys._current_frames().get(self._thread)
        stack = "".join(traceback.format_stack(frame)) if frame is not None else "it has ended"
        self._add(unit, "WARNING", f"Stack of the working thread:\n{stack}")

    def lines(self, unit: UnitOfWork) -> list[LogLine]:
        """The recorded lines of a unit that are not written yet."""
        return list(self._lines.get(unit.id, ()))

    def flush(self, logs: UnitLogs | None = None) -> None:
        """Writes the recorded lines to `logs`; without it, as `logging` calls it, does nothing."""
        if logs is None or not self._lines:
            return
        with self.lock or threading.Lock():
            recorded, self._lines = self._lines, {}
        for unit, lines in recorded.items():
            logs.append(unit, lines)

    def _keep(self, unit: UnitOfWork, level: str, text: str) -> None:
        self._count += 1
        if self._count > MOST_LINES:
            return
        if self._count == MOST_LINES:
            text = f"{MOST_LINES - 1} lines are kept: others are only in the log file"
        self._add(unit, level, text)

    def _add(self, unit: UnitOfWork, level: str, text: str) -> None:
        with self.lock or threading.Lock():
            kept = storable(mask(text)[-LONGEST_LINE:])
            line = LogLine(self._clock.now(), unit.attempt, level, kept)
            self._lines.setdefault(unit.id, []).append(line)


def storable(text: str) -> str:
    """The text with `?` for NUL and for lone surrogates, which not every store accepts."""
    return text.replace("\0", "?").encode(errors="replace").decode()
