"""Who may begin: so many in all, and so many for one destination.

Each destination has a lane of its own, and lanes take turns, so a destination that hangs, or has
a thousand requests waiting, delays itself only. Nothing here costs more with more lanes.

A lane whose requests end may have some more wait in it, so that who brings them brings many at a
time, and a place that becomes free is taken at once. One that hangs gets none to wait.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Generic, TypeVar

STANDS = 1.0  # seconds without an end after which a lane is said to hang

T = TypeVar("T")


class FairQueue(Generic[T]):
    """`each`: the most under way in one lane; `most`: in all. Not for several threads at once.

    `ahead`: how many more may wait in one lane; in all lanes `most`. `now` is monotonic.
    """

    def __init__(self, each: int, most: int, ahead: int = 0) -> None:
        self._each = each
        self._most = most
        self._ahead = ahead
        self._waiting: dict[str, deque[T]] = {}
        self._busy: Counter[str] = Counter()
        self._moved: dict[str, float] = {}  # when one began in an empty lane, or ended
        self._under_way = 0
        self._queued = 0
        self._next = 0  # of those, how many have a place in their lane
        self._turns: deque[str] = deque()  # lanes with somebody who may begin, each once

    def put(self, lane: str, item: T) -> None:
        """Lets it wait."""
        waiting = self._waiting.setdefault(lane, deque())
        waiting.append(item)
        self._queued += 1
        if self._busy[lane] + len(waiting) <= self._each:
            self._next += 1
        if len(waiting) == 1 and self._busy[lane] < self._each:
            self._turns.append(lane)

    def take(self, few: int, now: float) -> list[tuple[str, T]]:
        """Those that begin now, a `few` at most; each is to be released at its end."""
        taken: list[tuple[str, T]] = []
        while self._turns and self._under_way < self._most and len(taken) < few:
            lane = self._turns.popleft()
            waiting = self._waiting[lane]
            taken.append((lane, waiting.popleft()))
            self._busy[lane] += 1
            self._moved.setdefault(lane, now)
            self._under_way += 1
            self._queued -= 1
            self._next -= 1
            if not waiting:
                del self._waiting[lane]
            elif self._busy[lane] < self._each:
                self._turns.append(lane)
        return taken

    def release(self, lane: str, now: float) -> None:
        """One of this lane has ended."""
        busy, waiting = self._busy[lane], len(self._waiting.get(lane, ()))
        self._busy[lane] -= 1
        self._under_way -= 1
        self._moved[lane] = now
        if busy + waiting > self._each:
            self._next += 1
        if busy == self._each and waiting:
            self._turns.append(lane)
        if busy == 1:
            del self._busy[lane], self._moved[lane]

    def room(self, lane: str, now: float) -> int:
        """How many more of this lane would begin at once, or are welcome to wait."""
        own = self._each - self._busy.get(lane, 0) - len(self._waiting.get(lane, ()))
        places = self._most - self._under_way - self._next
        if places <= max(0, own) or now - self._moved.get(lane, now) >= STANDS:
            return max(0, min(own, places))
        left = max(0, self._most - (self._queued - self._next))
        return max(0, min(own + self._ahead, max(0, own) + left))

    def drain(self) -> list[T]:
        """Takes away all that wait."""
        left = [item for waiting in self._waiting.values() for item in waiting]
        self._waiting.clear()
        self._turns.clear()
        self._queued = self._next = 0
        return left
