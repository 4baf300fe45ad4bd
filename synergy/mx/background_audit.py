"""The audit that MX makes in the background, and remembers until the next one.

An audit reads much where there is much. At most one is under way at a time. A new one begins
when the result is asked for and is older than `EVERY`, and than `PAUSE` times as long as the last
one took. A result with unexplained periods is replaced after `SOON`: data that was just written
is often on its way.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import datetime

from synergy.clock import Clock
from synergy.errors import StorageUnavailable, SynergyError
from synergy.queries.timetable.audit import Audit
from synergy.queries.timetable.audit_standing import AuditResult, AuditStanding
from synergy.queries.timetable.last_audit import EVERY, PAUSE, SOON
from synergy.runtime.service import RetryRule, Service

FAILED = "audit.failed"
BROKEN_OFF = "it was broken off"
RULE = RetryRule(waiting=FAILED, failing=FAILED)

Progress = Callable[[int, int], None]
Keep = Callable[[Audit, datetime, float], None]

log = logging.getLogger(__name__)


class _Stopped(Exception):
    """Ends an audit whose result is not wanted any more."""


class BackgroundAudit(Service):
    """Audits made by `make`, one at a time; for several threads.

    `keep` is given each result, its time, and how many seconds it took.
    """

    stop_timeout_seconds = 2.0  # until the audit under way notices

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
        """The present standing; begins a new audit if the newest result is old, or missing."""
        if self._is_due():
            self.begin()
        return self._standing

    def begin(self) -> AuditStanding:
        """Begins an audit, unless one is under way or the service was stopped."""
        with self._lock:
            if not (self._standing.is_running or self._stop.is_set):
                self._standing = AuditStanding(True, 0, 0, "", self._standing.result)
                self._ended.clear()
                self.start()
            return self._standing

    def run_once(self, now: datetime) -> None:
        """Makes an audit and remembers it."""
        began, failure, result = self._clock.monotonic(), "", self._standing.result
        try:
            audit = self._make(self._progress)
            result = AuditResult(self._clock.now(), self._clock.monotonic() - began, audit)
            self._keep(audit, result.at, result.took)
        except _Stopped:
            failure = BROKEN_OFF
        except StorageUnavailable as error:  # which may name a place: that is for the log
            log.warning("%s", error, extra={"event": FAILED})
            failure = "the store does not answer"
        except SynergyError as error:
            failure = str(error)
        except Exception:
            log.exception("The audit failed", extra={"event": FAILED})
            failure = "something went wrong; the log of MX says what"
        self._ended_at = self._clock.monotonic()
        self._standing = AuditStanding(False, 0, 0, failure, result)
        self._ended.set()

    def stop(self, timeout: float | None = None) -> bool:
        """Breaks off the audit under way; none is begun any more."""
        has_ended = super().stop(timeout)
        with self._lock:
            if has_ended and self._standing.is_running:  # it was asked for, and never began
                self._standing = AuditStanding(False, 0, 0, BROKEN_OFF, self._standing.result)
        return has_ended

    def wait_for_result(self, seconds: float) -> bool:
        """Waits for the audit under way; whether none is any more."""
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
