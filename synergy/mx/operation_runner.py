"""Carries out the operations that take long."""

from __future__ import annotations

from datetime import datetime

from synergy.mx.services import Services
from synergy.runtime.service import RetryRule, Service

LOOK = 20.0  # seconds between two looks for operations that other processes accepted or left
RULE = RetryRule(waiting="operations.away", failing="operations.failed", longest=LOOK)


class OperationRunner(Service):
    """Carries out one operation after the other. Several MX processes share them.

    A stop ends after the step under way; the next runner continues with the rest.
    """

    stop_timeout_seconds = 30.0  # for the step under way

    def __init__(self, services: Services) -> None:
        super().__init__("operations", services.clock, RULE)
        self._services = services
        services.operations.on_accept = self.wake

    def run_once(self, now: datetime) -> float:
        """Carries out operations until none is free."""
        while self._is_going() and self._services.operations.work(self._is_going):
            pass
        return LOOK

    def _is_going(self) -> bool:
        return not self._stop.is_set
