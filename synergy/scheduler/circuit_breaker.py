"""What goes wrong with one part of the work, a tree or the collector, and harms no other.

A part that fails rests for a while and is tried again. After `TRIES` failures within a short
time it is given up, so that another scheduler may try, and left alone for longer.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from synergy.clock import Clock
from synergy.errors import MessagingUnavailable, StorageUnavailable
from synergy.runtime.leaders import part_of_tree

TRIES = 3
REST = 1.0  # seconds before the second try; doubling
AVOIDED = 60.0  # seconds for which a part that was given up is left to others, and then forgiven

log = logging.getLogger(__name__)


class CircuitBreaker:
    """Counts failures by part; `failed` are the parts that did and were not laid down yet."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._counts: dict[str, int] = {}
        self._rests_until: dict[str, float] = {}
        self.failed: set[str] = set()

    @contextmanager
    def of_tree(self, tree: str) -> Iterator[None]:
        """Whatever goes wrong within the block is this tree's trouble alone."""
        with self.of(part_of_tree(tree)):
            yield

    @contextmanager
    def of(self, part: str) -> Iterator[None]:
        """The same by part; what store and bus cannot do is nobody's."""
        try:
            yield
        except (StorageUnavailable, MessagingUnavailable):
            raise
        except Exception:
            log.exception("%s cannot be worked on", part, extra={"event": "scheduler.trouble"})
            self._failed(part)

    def is_in_trouble(self, tree: str) -> bool:
        """Whether something went wrong with the tree, and it was not laid down yet."""
        return part_of_tree(tree) in self.failed

    def rests(self, part: str) -> bool:
        """Whether the part is not to be worked on yet."""
        return self._clock.monotonic() < self._rests_until.get(part, 0.0)

    def is_given_up(self, part: str) -> bool:
        """Whether the part is to be left to others."""
        return self._counts.get(part, 0) >= TRIES and self.rests(part)

    def rest_ends_in(self) -> float:
        """Seconds until the next part may be tried again."""
        now = self._clock.monotonic()
        return min((at - now for at in self._rests_until.values() if at > now), default=AVOIDED)

    def _failed(self, part: str) -> None:
        if part in self.failed:
            return  # several things went wrong in the same try
        now = self._clock.monotonic()
        forgiven = now - self._rests_until.get(part, now) > AVOIDED
        count = 1 if forgiven else self._counts.get(part, 0) % TRIES + 1
        self._counts[part] = count
        self._rests_until[part] = now + (AVOIDED if count == TRIES else REST * 2 ** (count - 1))
        self.failed.add(part)
