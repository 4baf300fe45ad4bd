"""A queue with a limit of running items in all, and for each key (a destination).

Keys take turns, so a destination that hangs, or has a thousand requests waiting, delays only
itself. The cost of an operation does not depend on the number of keys.

A key whose items end may have some more items waiting, so that they can be added in groups and a
free place is taken at once. A key that hangs gets none to wait.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Generic, TypeVar

HANGS_AFTER_SECONDS = 1.0  # a key counts as hanging if none of its items ends for so long

T = TypeVar("T")


class FairQueue(Generic[T]):
    """Items by key; not for several threads at once.

    At most `each` items of a key run, and `most` in all. `ahead` more may wait for one key, and
    `most` for all. `now` is monotonic.
    """

    def __init__(self, each: int, most: int, ahead: int = 0) -> None:
        self._each = each
        self._most = most
        self._ahead = ahead
        self._waiting: dict[str, deque[T]] = {}
        self._busy: Counter[str] = Counter()
        self._changed_at: dict[str, float] = {}  # when the first item of a key began, or one ended
        self._running = 0
        self._queued = 0
        self._next = 0  # how many of those are within the limit of their key
        self._turns: deque[str] = deque()  # keys with an item that may begin, each once

    def put(self, key: str, item: T) -> None:
        """Adds an item."""
        waiting = self._waiting.setdefault(key, deque())
        waiting.append(item)
        self._queued += 1
        if self._busy[key] + len(waiting) <= self._each:
            self._next += 1
        if len(waiting) == 1 and self._busy[key] < self._each:
            self._turns.append(key)

    def take(self, limit: int, now: float) -> list[tuple[str, T]]:
        """Removes and returns items to begin, at most `limit`; each is released at its end."""
        taken: list[tuple[str, T]] = []
        while self._turns and self._running < self._most and len(taken) < limit:
            key = self._turns.popleft()
            waiting = self._waiting[key]
            taken.append((key, waiting.popleft()))
            self._busy[key] += 1
            self._changed_at.setdefault(key, now)
            self._running += 1
            self._queued -= 1
            self._next -= 1
            if not waiting:
                del self._waiting[key]
            elif self._busy[key] < self._each:
                self._turns.append(key)
        return taken

    def release(self, key: str, now: float) -> None:
        """Notes that an item of this key has ended."""
        busy, waiting = self._busy[key], len(self._waiting.get(key, ()))
        self._busy[key] -= 1
        self._running -= 1
        self._changed_at[key] = now
        if busy + waiting > self._each:
            self._next += 1
        if busy == self._each and waiting:
            self._turns.append(key)
        if busy == 1:
            del self._busy[key], self._changed_at[key]

    def room(self, key: str, now: float) -> int:
        """How many more items of this key may be added: they begin at once, or wait."""
        own = self._each - self._busy.get(key, 0) - len(self._waiting.get(key, ()))
        places = self._most - self._running - self._next
        if places <= max(0, own) or now - self._changed_at.get(key, now) >= HANGS_AFTER_SECONDS:
            return max(0, min(own, places))
        left = max(0, self._most - (self._queued - self._next))
        return max(0, min(own + self._ahead, max(0, own) + left))

    def drain(self) -> list[T]:
        """Removes and returns all waiting items."""
        left = [item for waiting in self._waiting.values() for item in waiting]
        self._waiting.clear()
        self._turns.clear()
        self._queued = self._next = 0
        return left
