"""The measures of load constraints, read every few seconds at most, and only if a run waits."""

from __future__ import annotations

import os
from collections.abc import Callable

from synergy.clock import Clock
from synergy.messaging.protocol import Bus

READ_EVERY_SECONDS = 5.0


def box_load() -> float:
    """The one-minute load average of this box, per core."""
    return os.getloadavg()[0] / (os.cpu_count() or 1)


class Gauges:
    """The load of the box and the depths of queues, as of the last reading."""

    def __init__(self, bus: Bus, clock: Clock, load: Callable[[], float] = box_load) -> None:
        self._bus = bus
        self._clock = clock
        self._load = load
        self._read_at = -READ_EVERY_SECONDS
        self._box = 0.0
        self._depths: dict[str, int] = {}

    def due_in(self) -> float:
        """Seconds until the next reading is due."""
        return max(0.0, self._read_at + READ_EVERY_SECONDS - self._clock.monotonic())

    def load(self) -> float:
        """The load of the box, per core."""
        self._read_if_due()
        return self._box

    def depth(self, queue: str) -> int:
        """How many messages wait in the queue."""
        self._read_if_due()
        if queue not in self._depths:
            self._depths[queue] = self._bus.depths([queue]).get(queue, 0)
        return self._depths[queue]

    def _read_if_due(self) -> None:
        if self.due_in() > 0:
            return
        self._read_at = self._clock.monotonic()
        self._box = self._load()
        self._depths.clear()
