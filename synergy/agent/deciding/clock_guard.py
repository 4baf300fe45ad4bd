"""Whether the wall clock can be trusted.

Due times are instants of the wall clock, which people and time servers set. A clock that is set
back fires nothing twice, because decisions are stored. One that is set forward would fire too
early, so nothing is fired for two ticks after any jump. After a jump forward by more than an hour
nothing is fired until the clock of another box agrees within five minutes; its supervisor reports
to the store by its own clock. Without another running box the clock is trusted after a while, and
each schedule's catch-up limits what is then due. Restarting the agent makes it trust its clock.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta

from synergy.clock import Clock
from synergy.model import journal
from synergy.model.journal_event import JournalEvent
from synergy.runtime.leadership import RENEW_SECONDS
from synergy.storage.protocol import Store

JUMP = timedelta(seconds=5)  # a larger difference from the monotonic clock is a jump
LARGE = timedelta(hours=1)
AGREES = timedelta(minutes=5)
HOLD_SECONDS = 2 * RENEW_SECONDS
ALONE_SECONDS = 180.0  # how long the guard waits for the report of another box
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

log = logging.getLogger(__name__)


class ClockGuard:
    """Watches the clock of one agent; call `observe` in each turn."""

    def __init__(self, store: Store, clock: Clock, box: str, name: str) -> None:
        """`name` is the name of the agent in the journal."""
        self._store = store
        self._clock = clock
        self._box = box
        self._name = name
        self._offset = self._now_offset()
        self._until = 0.0  # monotonic; nothing is fired before it
        self._doubted_since: float | None = None
        self._reports: dict[str, datetime | None] = {}

    def observe(self) -> bool:
        """Whether due times may be fired now."""
        offset = self._now_offset()
        jump = offset - self._offset
        if abs(jump) > JUMP:
            self._jumped(jump)
        self._offset = offset
        monotonic = self._clock.monotonic()
        if self._doubted_since is not None and self._is_settled(monotonic):
            self._doubted_since = None
        return self._doubted_since is None and monotonic >= self._until

    def opens_in(self) -> float:
        """Seconds until `observe` may change its answer; 0 if nothing is held back."""
        left = max(0.0, self._until - self._clock.monotonic())
        return left if self._doubted_since is None else max(left, RENEW_SECONDS)

    def _now_offset(self) -> timedelta:
        """The wall clock's distance from the monotonic one; it moves when the clock is set."""
        return self._clock.now() - _EPOCH - timedelta(seconds=self._clock.monotonic())

    def _jumped(self, jump: timedelta) -> None:
        seconds = jump.total_seconds()
        why = f"the clock of {self._box or 'this box'} moved by {seconds:+.0f} s"
        log.warning(
            "Nothing is fired for a while: %s", why, extra={"event": JournalEvent.CLOCK_JUMPED}
        )
        self._store.journal.append([journal.clock_jumped(why, self._name, self._clock.now())])
        self._until = self._clock.monotonic() + HOLD_SECONDS
        if jump > LARGE:
            self._doubted_since = self._clock.monotonic()
            self._reports = self._other_boxes()

    def _is_settled(self, monotonic: float) -> bool:
        """Whether another box agrees, or no other box has reported for long enough."""
        now = self._clock.now()
        fresh = [
            seen
            for box, seen in self._other_boxes().items()
            if seen is not None and seen != self._reports.get(box)
        ]
        if any(abs(now - seen) <= AGREES for seen in fresh):
            return True
        assert self._doubted_since is not None
        return not fresh and monotonic - self._doubted_since >= ALONE_SECONDS

    def _other_boxes(self) -> dict[str, datetime | None]:
        """When each other box last reported, by its own clock."""
        return {box.id: box.seen_at for box in self._store.boxes.all() if box.id != self._box}
