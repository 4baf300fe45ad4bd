"""Carries out accepted operations in the background."""

from __future__ import annotations

from datetime import datetime

from synergy.mx.services import Services
from synergy.runtime.service import RetryRule, Service

POLL_SECONDS = 20.0  # between two searches for operations that other processes accepted or left
RULE = RetryRule(waiting="operations.away", failing="operations.failed", longest=POLL_SECONDS)


class OperationRunner(Service):
    """Carries out one operation after the other; several MX processes share them.

    A stop waits for the current step; the next runner continues with the rest.
    """

    stop_timeout_seconds = 30.0  # for the current step

    def __init__(self, services: Services) -> None:
        super().__init__("operations", services.clock, RULE)
        self._services = services
        services.operations.on_accept = self.wake

    def run_once(self, now: datetime) -> float:
        """Carries out operations until none is left."""
        while self._may_continue() and self._services.operations.work(self._may_continue):
            pass
        return POLL_SECONDS

    def _may_continue(self) -> bool:
        return not self._stop.is_set
