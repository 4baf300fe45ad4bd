"""Launched runs that this agent knows of and cannot send at the moment.

Runs for a busy destination are forwarded to the other agents once; those that come back are kept
here, up to a number. Failed attempts are repeated after a pause, measured by the monotonic clock.
All of it may be lost: the deciding agent announces again what is forgotten here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush

from synergy.clock import Clock
from synergy.model.schedule import Run

FORWARDED_SECONDS = 0.5  # how long messages are left to the other agents after forwarding
KEPT_BACK = 1000  # runs that are kept for one busy destination
REMEMBERED = 10_000  # runs that are kept for another attempt, or as forwarded


class DeferredRuns:
    """The deferred runs of one agent; for one thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept_back: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self._again: list[tuple[float, str]] = []  # monotonic
        self._forwarded: dict[str, None] = {}
        self._takes_at = 0.0  # monotonic; messages are left to others until then

    @property
    def may_take(self) -> bool:
        """Whether messages are to be taken now, and not left to other agents."""
        return self._clock.monotonic() >= self._takes_at

    def due_in(self) -> list[float]:
        """Seconds until the next attempt, and until messages are taken again, if either is due."""
        now = self._clock.monotonic()
        waits = [max(0.0, at - now) for at, _ in self._again[:1]]
        return waits if self.may_take else [*waits, self._takes_at - now]

    def forward(self, crowded: Sequence[Run]) -> list[Run]:
        """Those of these runs that were not forwarded yet; notes them as forwarded."""
        new = [run for run in crowded if run.id not in self._forwarded]
        if new:
            self._takes_at = self._clock.monotonic() + FORWARDED_SECONDS
            if len(self._forwarded) > REMEMBERED:
                self._forwarded.clear()
            self._forwarded.update(dict.fromkeys(run.id for run in new))
        return new

    def keep_back(self, crowded: Iterable[Run]) -> None:
        """Keeps runs until their destination has room."""
        for run in crowded:
            kept = self._kept_back[run.program]
            if len(kept) < KEPT_BACK:
                kept[run.id] = None

    def with_room(self, room: Callable[[str], int]) -> list[str]:
        """Removes and returns as many of the kept runs as their destinations have room for."""
        found: list[str] = []
        for destination in list(self._kept_back):
            kept = self._kept_back[destination]
            for run in list(kept)[: room(destination)]:
                del kept[run]
                found.append(run)
            if not kept:
                del self._kept_back[destination]
        return found

    def try_again_in(self, run: str, seconds: float) -> None:
        """Keeps a run for another attempt."""
        if len(self._again) < REMEMBERED:
            heappush(self._again, (self._clock.monotonic() + seconds, run))

    def due(self) -> list[str]:
        """Removes and returns the runs whose next attempt is due."""
        now = self._clock.monotonic()
        found = []
        while self._again and self._again[0][0] <= now:
            found.append(heappop(self._again)[1])
        return found
