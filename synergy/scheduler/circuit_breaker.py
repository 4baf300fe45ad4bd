"""A circuit breaker for each part of the work (a tree, or the collector).

A part that fails is paused and tried again. After `MOST_FAILURES` failures within a short time it
is paused for longer, and left to other schedulers. Failures of one part do not affect the others.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from synergy.clock import Clock
from synergy.errors import MessagingUnavailable, StorageUnavailable
from synergy.runtime.shared_parts import part_of_tree

MOST_FAILURES = 3
FIRST_PAUSE_SECONDS = 1.0  # the pause after the first failure; it doubles with the next one
GIVEN_UP_SECONDS = 60.0  # the pause in which a part is left to others; the count begins anew then

log = logging.getLogger(__name__)


class CircuitBreaker:
    """Counts failures by part; `failed` are the parts that failed and were not dropped yet."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._counts: dict[str, int] = {}
        self._open_until: dict[str, float] = {}
        self.failed: set[str] = set()

    @contextmanager
    def of_tree(self, tree: str) -> Iterator[None]:
        """Counts an exception within the block as a failure of the tree."""
        with self.of(part_of_tree(tree)):
            yield

    @contextmanager
    def of(self, part: str) -> Iterator[None]:
        """Counts an exception within the block as a failure of the part, and suppresses it.

        Raises StorageUnavailable and MessagingUnavailable, which are not counted.
        """
        try:
            yield
        except (StorageUnavailable, MessagingUnavailable):
            raise
        except Exception:
            log.exception("%s fails and is paused", part, extra={"event": "scheduler.trouble"})
            self._failed(part)

    def has_failed(self, tree: str) -> bool:
        """Whether the tree failed and was not dropped yet."""
        return part_of_tree(tree) in self.failed

    def is_open(self, part: str) -> bool:
        """Whether the part is paused."""
        return self._clock.monotonic() < self._open_until.get(part, 0.0)

    def leaves_to_others(self, part: str) -> bool:
        """Whether the part is to be left to others."""
        return self._counts.get(part, 0) >= MOST_FAILURES and self.is_open(part)

    def closes_in(self) -> float:
        """Seconds until the first paused part may be tried again; a minute if none is paused."""
        now = self._clock.monotonic()
        return min(
            (at - now for at in self._open_until.values() if at > now), default=GIVEN_UP_SECONDS
        )

    def _failed(self, part: str) -> None:
        if part in self.failed:
            return  # a further failure of the same try
        now = self._clock.monotonic()
        forgiven = now - self._open_until.get(part, now) > GIVEN_UP_SECONDS
        count = 1 if forgiven else self._counts.get(part, 0) % MOST_FAILURES + 1
        self._counts[part] = count
        self._open_until[part] = now + (
            GIVEN_UP_SECONDS if count == MOST_FAILURES else FIRST_PAUSE_SECONDS * 2 ** (count - 1)
        )
        self.failed.add(part)
