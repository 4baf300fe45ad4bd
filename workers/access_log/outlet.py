"""Sends the events of logs to the session workers, no faster than these process them."""

from __future__ import annotations

from collections.abc import Sequence

from synergy.errors import Unreachable
from synergy.messaging.message import EventsMessage
from synergy.messaging.protocol import Bus
from synergy.program import PROGRAM
from synergy.runtime.stop import Stop
from synergy.storage.protocol import Store
from workers.access_log.sessions import Event

EVENTS_PER_MESSAGE = 250
QUEUE_LIMIT = 400
"""Waiting messages above which the reader waits for the session workers."""

FULL_QUEUE_TIMEOUT = 30.0
"""Seconds in which no message is processed, after which the reader gives up."""

_POLL = 0.05  # seconds


class Outlet:
    """Sends events to a queue, and waits while the queue is full."""

    def __init__(self, store: Store, bus: Bus, queue: str, stop: Stop) -> None:
        self._store = store
        self._bus = bus
        self._queue = queue
        self._stop = stop

    def send(self, events: Sequence[Event]) -> None:
        """Publishes the events in one batch.

        Raises Unreachable if the queue stays full because no messages are processed.
        """
        if not events:
            return
        waiting = self.drain(QUEUE_LIMIT, FULL_QUEUE_TIMEOUT)
        if waiting > QUEUE_LIMIT:
            raise Unreachable(
                f"{waiting} messages wait for {self._queue}, and none is processed; start it "
                f"({PROGRAM} supervisor start) and ingest again: nothing is counted twice"
            )
        messages = [
            EventsMessage(events[first : first + EVENTS_PER_MESSAGE])
            for first in range(0, len(events), EVENTS_PER_MESSAGE)
        ]
        with self._store.batch() as batch:
            self._bus.publish(self._queue, messages, batch)

    def drain(self, limit: int, timeout: float | None) -> int:
        """Waits until at most `limit` messages are left in the queue; returns their number.

        Ends earlier when none was processed for `timeout` seconds (None: no limit), or on a stop.
        """
        waiting, idle = self._depth(), 0.0
        while waiting > limit and not self._stop.wait(_POLL):
            before, waiting = waiting, self._depth()
            idle = 0.0 if waiting < before else idle + _POLL
            if timeout is not None and idle >= timeout:
                break
        return waiting

    def await_earlier(self, timeout: float | None) -> None:
        """Waits until the events of earlier logs are stored; raises Unreachable if they are not."""
        if waiting := self.drain(0, timeout):
            raise Unreachable(
                f"{waiting} messages of earlier logs wait for {self._queue}, so it is not known "
                f"which visits continue here; start it ({PROGRAM} supervisor start), wait until "
                "they are processed, and ingest again"
            )

    def _depth(self) -> int:
        return self._bus.depths([self._queue]).get(self._queue, 0)
