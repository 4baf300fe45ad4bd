"""Launched runs that this agent knows of and cannot send just now.

What comes for a destination that is busy is handed on to the other agents once, and kept back
here when it comes again, up to a number. What failed is to be sent again after a pause, which is
measured on our own clock. All of it is memory for convenience: what is forgotten here the deciding
agent tells of again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush

from synergy.clock import Clock
from synergy.model.schedule import Run

HANDED_ON = 0.5  # seconds that other agents have for taking what was handed on
KEPT_BACK = 1000  # runs of one destination that are remembered while it is busy
REMEMBERED = 10_000  # runs that are remembered for another attempt, or as handed on


class DeferredRuns:
    """Of one agent; for one thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept_back: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self._again: list[tuple[float, str]] = []  # monotonic
        self._handed_on: dict[str, None] = {}
        self._takes_at = 0.0  # monotonic; messages are left to others until then

    @property
    def may_take(self) -> bool:
        """Whether messages are to be taken, and not left to others for a moment."""
        return self._clock.monotonic() >= self._takes_at

    def due_in(self) -> list[float]:
        """Seconds until something is to be done, for each thing that there is."""
        now = self._clock.monotonic()
        waits = [max(0.0, at - now) for at, _ in self._again[:1]]
        return waits if self.may_take else [*waits, self._takes_at - now]

    def hand_on(self, crowded: Sequence[Run]) -> list[Run]:
        """Those that are to be handed on, because they were not yet."""
        new = [run for run in crowded if run.id not in self._handed_on]
        if new:
            self._takes_at = self._clock.monotonic() + HANDED_ON
            if len(self._handed_on) > REMEMBERED:
                self._handed_on.clear()
            self._handed_on.update(dict.fromkeys(run.id for run in new))
        return new

    def keep_back(self, crowded: Iterable[Run]) -> None:
        """Remembers runs until there is room for them."""
        for run in crowded:
            kept = self._kept_back[run.program]
            if len(kept) < KEPT_BACK:
                kept[run.id] = None

    def with_room(self, room: Callable[[str], int]) -> list[str]:
        """Of what was kept back, as much as there is room for now; it is forgotten here."""
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
        """Remembers a run for another attempt."""
        if len(self._again) < REMEMBERED:
            heappush(self._again, (self._clock.monotonic() + seconds, run))

    def due(self) -> list[str]:
        """Those whose next attempt is due; they are forgotten here."""
        now = self._clock.monotonic()
        found = []
        while self._again and self._again[0][0] <= now:
            found.append(heappop(self._again)[1])
        return found
