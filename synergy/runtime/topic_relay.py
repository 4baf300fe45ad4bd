"""A service that forwards the notices of a topic."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from datetime import datetime

from synergy.clock import Clock
from synergy.messaging.protocol import Bus, Waiter
from synergy.runtime.service import RetryRule, Service

LONGEST_WAIT_SECONDS = 600.0


class TopicRelay(Service):
    """Calls `noticed` for the notices of a topic, and once when it begins to listen.

    Notices within `pause` seconds after a call share the next call. With `longest`, it is also
    called after so many seconds without a notice, in case one was lost.
    """

    def __init__(
        self,
        bus: Bus,
        clock: Clock,
        topic: str,
        noticed: Callable[[], object],
        pause: float = 0.0,
        longest: float | None = None,
    ) -> None:
        super().__init__(f"{topic} notices", clock, RetryRule("relay.waits", "relay.failed"))
        self._bus = bus
        self._topic = topic
        self._noticed = noticed
        self._pause = pause
        self._longest = longest
        self._listener: Waiter | None = None
        self._is_due = True

    def run_once(self, now: datetime) -> float:
        """Forwards a notice, if there was one."""
        if self._listener is None:
            self._listener = self._opened.enter_context(closing(self._bus.listener(self._topic)))
            self._stop.interrupts(self._listener.interrupt)
        if self._is_due:
            self._noticed()
            self._stop.wait(self._pause)
        return self._longest or LONGEST_WAIT_SECONDS

    def wait(self, seconds: float) -> None:
        assert self._listener is not None  # run_once opened it
        self._is_due = self._listener.wait(seconds) or self._longest is not None
