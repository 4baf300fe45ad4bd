"""What is wrong with the deployment, for the banner of all pages."""

from __future__ import annotations

import threading

from synergy.clock import Clock
from synergy.queries.health.readiness import Health

FRESH_SECONDS = 5.0  # for which an answer is shown again


class VerdictCache:
    """The health of the deployment as of a moment ago; for several threads.

    Pages share one look, so one that hangs delays only the first of them.
    """

    def __init__(self, health: Health, clock: Clock) -> None:
        self._health = health
        self._clock = clock
        self._lock = threading.Lock()
        self._looked_at: float | None = None
        self._found: tuple[str, ...] = ()

    def lately(self) -> tuple[str, ...]:
        """What is wrong, in words; empty if all is well."""
        with self._lock:
            if (
                self._looked_at is None
                or self._clock.monotonic() - self._looked_at >= FRESH_SECONDS
            ):
                checks = self._health.look().checks
                self._found = tuple(f"{one.name}: {one.detail}" for one in checks if not one.ok)
                self._looked_at = self._clock.monotonic()
            return self._found
