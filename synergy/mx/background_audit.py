"""Audits that MX makes in the background; the newest result is kept.

An audit of a large timetable takes long, so at most one runs at a time. A request for the result
starts a new one if the last ended more than `EVERY` seconds ago, and more than `PAUSE` times its
own duration. After a result that is not clean (with unexplained, failed or given-up periods) `SOON`
replaces `EVERY`: data that was just written is often still being processed.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import datetime

from synergy.clock import Clock
from synergy.errors import StorageUnavailable, SynergyError
from synergy.queries.timetable.audit import Audit
from synergy.queries.timetable.audit_progress import AuditResult, AuditStanding
from synergy.queries.timetable.last_audit import EVERY, PAUSE, SOON
from synergy.runtime.service import RetryRule, Service

FAILED = "audit.failed"
INTERRUPTED = "it was interrupted"
SHORT_SECONDS = 1.0  # how long a response waits for a running audit
RULE = RetryRule(waiting=FAILED, failing=FAILED)

Progress = Callable[[int, int], None]
Keep = Callable[[Audit, datetime, float], None]

log = logging.getLogger(__name__)


class _Stopped(Exception):
    """Ends an audit when the service stops."""


class BackgroundAudit(Service):
    """Runs audits with `make`, one at a time; may be used by several threads.

    `keep` receives each result, its time, and its duration in seconds.
    """

    stop_timeout_seconds = 2.0  # until a running audit ends

    def __init__(
        self,
        make: Callable[[Progress], Audit],
        clock: Clock,
        keep: Keep = lambda _audit, _at, _took: None,
    ) -> None:
        super().__init__("audit", clock, RULE)
        self._make = make
        self._keep = keep
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._standing = AuditStanding(False, 0, 0, "", None)
        self._ended_at: float | None = None

    def standing(self) -> AuditStanding:
        """The current standing; starts a new audit if the newest result is old or missing."""
        if self._is_due():
            self.begin()
        return self._standing

    def begin(self) -> AuditStanding:
        """Starts an audit, unless one is running or the service was stopped."""
        with self._lock:
            if not (self._standing.is_running or self._stop.is_set):
                self._standing = AuditStanding(True, 0, 0, "", self._standing.result)
                self._ended.clear()
                self.start()
            return self._standing

    def run_once(self, now: datetime) -> None:
        """Makes an audit and keeps its result."""
        began, failure, result = self._clock.monotonic(), "", self._standing.result
        try:
            audit = self._make(self._progress)
            result = AuditResult(self._clock.now(), self._clock.monotonic() - began, audit)
            self._keep(audit, result.at, result.took)
        except _Stopped:
            failure = INTERRUPTED
        except StorageUnavailable as error:  # its text may name a path: only for the log
            log.warning("%s", error, extra={"event": FAILED})
            failure = "the store does not answer"
        except SynergyError as error:
            failure = str(error)
        except Exception:
            log.exception("The audit failed", extra={"event": FAILED})
            failure = "unexpected error; see the MX log"
        self._ended_at = self._clock.monotonic()
        self._standing = AuditStanding(False, 0, 0, failure, result)
        self._ended.set()

    def stop(self, timeout: float | None = None) -> bool:
        """Interrupts the running audit; no other starts afterwards."""
        has_ended = super().stop(timeout)
        with self._lock:
            if has_ended and self._standing.is_running:  # it was requested and never began
                self._standing = AuditStanding(False, 0, 0, INTERRUPTED, self._standing.result)
        return has_ended

    def newest(self, *, fresh: bool) -> AuditStanding:
        """The current standing. With `fresh`, starts an audit unless one is running.

        Waits up to `SHORT_SECONDS` for a running audit with `fresh`, or if there is no result yet.
        """
        standing = self.begin() if fresh else self.standing()
        if standing.is_running and (fresh or standing.result is None):
            self.wait_for_result(SHORT_SECONDS)
        return self._standing

    def wait_for_result(self, seconds: float) -> bool:
        """Waits for the running audit; returns whether none is running."""
        if self._standing.is_running:
            self._ended.wait(seconds)
        return not self._standing.is_running

    def _progress(self, done: int, total: int) -> None:
        if self._stop.is_set:
            raise _Stopped
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
