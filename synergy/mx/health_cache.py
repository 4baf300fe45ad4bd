"""Failed health checks, cached for the notice on all pages."""

from __future__ import annotations

import threading

from synergy.clock import Clock
from synergy.queries.health.readiness import Health

FRESH_SECONDS = 5.0


class HealthCache:
    """The health of the deployment a moment ago; may be used by several threads.

    Most pages cost no check. Pages that are requested during a check wait for its result.
    """

    def __init__(self, health: Health, clock: Clock) -> None:
        self._health = health
        self._clock = clock
        self._lock = threading.Lock()
        self._checked_at: float | None = None
        self._found: tuple[str, ...] = ()

    def problems(self) -> tuple[str, ...]:
        """Name and detail of each check that failed."""
        with self._lock:
            now = self._clock.monotonic()
            if self._checked_at is None or now - self._checked_at >= FRESH_SECONDS:
                checks = self._health.look().checks
                self._found = tuple(f"{one.name}: {one.detail}" for one in checks if not one.ok)
                self._checked_at = self._clock.monotonic()
            return self._found
