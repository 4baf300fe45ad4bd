"""What isn't well with the deployment, for all pages to say."""

from __future__ import annotations

import threading

from synergy.clock import Clock
from synergy.queries.health.readiness import Health

FRESH = 5.0  # seconds for which an answer is shown again


class VerdictCache:
    """The health of the deployment as it was a moment ago; for several threads.

    So a page costs no look at it, and one that hangs is waited for once and not by each page.
    """

    def __init__(self, health: Health, clock: Clock) -> None:
        self._health = health
        self._clock = clock
        self._lock = threading.Lock()
        self._looked_at: float | None = None
        self._found: tuple[str, ...] = ()

    def lately(self) -> tuple[str, ...]:
        """What is wrong, in words; nothing if all is well."""
        with self._lock:
            if self._looked_at is None or self._clock.monotonic() - self._looked_at >= FRESH:
                checks = self._health.look().checks
                self._found = tuple(f"{one.name}: {one.detail}" for one in checks if not one.ok)
                self._looked_at = self._clock.monotonic()
            return self._found
