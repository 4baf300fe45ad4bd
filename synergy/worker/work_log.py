"""Stores the lines that work logs with its unit, for operators.

Every line of level INFO and above that the working thread logs, by any logger, is kept, up to a
limit for each attempt.
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

MOST_LINES = 5000  # lines of one attempt
LONGEST_LINE = 8192  # characters of one line


class WorkLog(logging.Handler):
    """A log handler that files lines under the unit that is being carried out."""

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
        """Files the lines logged within the block under `unit`."""
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
        except Exception:  # noqa: BLE001 - a line that cannot be formatted fails no work
            self.handleError(record)

    def failure(self, unit: UnitOfWork, error: BaseException) -> None:
        """Files the cause of a failed attempt: the traceback, or how the failed program ended."""
        if isinstance(error, CommandFailed):  # its output is already filed
            self._keep(unit, "ERROR", error.how)
        else:
            self._keep(unit, "ERROR", "".join(traceback.format_exception(error)))

    def stuck(self, unit: UnitOfWork) -> None:
        """Files the stack of the work."""
        frame = sys._current_frames().get(self._thread)
        stack = "".join(traceback.format_stack(frame)) if frame is not None else "nowhere"
        self._keep(unit, "WARNING", f"The work is at\n{stack}")

    def flush(self, logs: UnitLogs | None = None) -> None:
        """Writes the filed lines to the store; without one, as called by logging, does nothing."""
        if logs is None or not self._lines:
            return
        with self.lock or threading.Lock():
            filed, self._lines = self._lines, {}
        for unit, lines in filed.items():
            logs.append(unit, lines)

    def _keep(self, unit: UnitOfWork, level: str, text: str) -> None:
        self._count += 1
        if self._count > MOST_LINES:
            return
        if self._count == MOST_LINES:
            text = f"more than {MOST_LINES} lines: the rest is only in the log file"
        with self.lock or threading.Lock():
            kept = storable(mask(text)[-LONGEST_LINE:])
            line = LogLine(self._clock.now(), unit.attempt, level, kept)
            self._lines.setdefault(unit.id, []).append(line)


def storable(text: str) -> str:
    """The text with `?` for NUL and for lone surrogates, which not every store accepts."""
    return text.replace("\0", "?").encode(errors="replace").decode()
