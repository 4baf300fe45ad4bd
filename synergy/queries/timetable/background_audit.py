"""The audit, for those who look again and again: made aside, and remembered until the next one.

An audit reads much where there is much. At most one is under way at a time, and none is begun
by itself before `EVERY` has passed, or `PAUSE` times as long as the last one took. What cannot be
accounted for is looked at again `SOON`: data that was just written is often on its way.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from synergy.clock import Clock
from synergy.errors import StorageUnavailable, SynergyError
from synergy.queries.timetable.audit import Audit
from synergy.queries.timetable.last_audit import EVERY, PAUSE, SOON

PATIENCE = 2.0  # seconds that closing waits for the audit under way to notice

Progress = Callable[[int, int], None]
Keep = Callable[[Audit, datetime, float], None]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AuditResult:
    """An audit, when it was done, and how many seconds it took."""

    at: datetime
    took: float
    audit: Audit


@dataclass(frozen=True, slots=True)
class AuditStanding:
    """Whether an audit is under way, `done` of `total` processes, and the newest result.

    `failure` says why the last one came to nothing, "" if it did not.
    """

    is_running: bool
    done: int
    total: int
    failure: str
    result: AuditResult | None


class _Closed(Exception):
    """Nobody wants the result any more."""


class Audits:
    """Audits made by `make`, in a thread of their own; for several threads.

    `keep` is told of each result, when it was there, and how many seconds it took.
    """

    def __init__(
        self,
        make: Callable[[Progress], Audit],
        clock: Clock,
        keep: Keep = lambda _audit, _at, _took: None,
    ) -> None:
        self._make = make
        self._keep = keep
        self._clock = clock
        self._lock = threading.Lock()
        self._standing = AuditStanding(False, 0, 0, "", None)
        self._ended_at: float | None = None
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def standing(self) -> AuditStanding:
        """How it stands; begins a new audit if the newest result is old, or there is none."""
        if self._is_due():
            self.begin()
        return self._standing

    def begin(self) -> AuditStanding:
        """Begins an audit, unless one is under way."""
        with self._lock:
            if not (self._standing.is_running or self._is_closed):
                self._standing = AuditStanding(True, 0, 0, "", self._standing.result)
                self._thread = threading.Thread(target=self.run_once, name="audit", daemon=True)
                self._thread.start()
            return self._standing

    def run_once(self) -> None:
        """Makes an audit and remembers it."""
        began, failure, result = self._clock.monotonic(), "", self._standing.result
        try:
            audit = self._make(self._progress)
            result = AuditResult(self._clock.now(), self._clock.monotonic() - began, audit)
            self._keep(audit, result.at, result.took)
        except _Closed:
            failure = "it was broken off"
        except StorageUnavailable as error:  # which may name a place: that is for the log
            log.warning("%s", error, extra={"event": "audit.failed"})
            failure = "the store does not answer"
        except SynergyError as error:
            failure = str(error)
        except Exception:
            log.exception("The audit failed", extra={"event": "audit.failed"})
            failure = "something went wrong; the log of MX says what"
        self._ended_at = self._clock.monotonic()
        self._standing = AuditStanding(False, 0, 0, failure, result)

    def wait(self, timeout: float) -> bool:
        """Waits for the audit under way, at most so many seconds; whether none is any more."""
        thread = self._thread
        if thread is not None:
            thread.join(timeout)
        return not self._standing.is_running

    def close(self) -> None:
        """Breaks off the audit under way; none is begun any more."""
        with self._lock:
            self._is_closed = True
        self.wait(PATIENCE)

    def _progress(self, done: int, total: int) -> None:
        if self._is_closed:
            raise _Closed
        self._standing = AuditStanding(True, done, total, "", self._standing.result)

    def _is_due(self) -> bool:
        standing, ended_at = self._standing, self._ended_at
        if standing.is_running:
            return False
        if ended_at is None:
            return True
        result = standing.result
        every = SOON if result is not None and not result.audit.is_clean else EVERY
        took = 0.0 if result is None else result.took
        return self._clock.monotonic() - ended_at > max(every, PAUSE * took)
