"""A stream of generated visits, which fills the timetable from the first start on.

At first the last 48 hours are sent, or what the timetable holds of them; after that, each event is
sent when it is due. A mark in the store says up to when events were sent, so a restart continues
there. The mark is written in one batch with the events; on an engine that splits the batch, the
events come first, and are sent again after a crash.
"""

from __future__ import annotations

import logging

from synergy.names import TIMETABLE_START
from synergy.timeperiod import Qualifier
from synergy.worker import Daemon, EventsMessage, MessagingUnavailable, StorageUnavailable
from workers.demo_visits import events_between

MARK = "event_stream.sent_until"
HISTORY = 48 * 3600  # seconds
LONGEST_STEP = 1800  # seconds of the stream that are sent at a time
PAUSE = 1.0  # seconds, when everything is sent
PAUSE_WHILE_FULL = 0.05  # seconds, when too many messages wait
PAUSE_AFTER_ERROR = 5.0  # seconds, when the store or the bus is unavailable
EVENTS_PER_MESSAGE = 250
QUEUE_LIMIT = 100  # waiting messages above which nothing is sent

log = logging.getLogger(__name__)


class EventStreamGenerator(Daemon):
    """Sends generated events to the queue named by the process argument `queue`."""

    def start(self) -> None:
        stop = self.workplace.stop
        while not stop.is_set:
            try:
                pause = self.run_once()
            except (StorageUnavailable, MessagingUnavailable) as error:
                log.warning("Cannot send events: %s", error, extra={"event": "worker.waits"})
                stop.wait(PAUSE_AFTER_ERROR)
            else:
                stop.wait(pause)

    def run_once(self) -> float:
        """Sends events that are due; returns the seconds until the next call."""
        workplace = self.workplace
        now = int(workplace.clock.now().timestamp())
        start = self._sent_until(now)
        end = min(start + LONGEST_STEP, now)
        if end <= start:
            return PAUSE
        if workplace.bus.depths([self._queue]).get(self._queue, 0) > QUEUE_LIMIT:
            return PAUSE_WHILE_FULL
        self._send(start, end)
        return 0.0 if end < now else PAUSE

    @property
    def _queue(self) -> str:
        return str(self.workplace.process.arguments["queue"])

    def _sent_until(self, now: int) -> int:
        """The epoch second up to which events were sent, or need not be sent."""
        facts = self.workplace.store.facts
        marked = int(facts.get(MARK) or 0)
        first = facts.get(TIMETABLE_START)
        begin = Qualifier.HOURLY.parse(first) * 3600 if first else now
        return max(marked, now - HISTORY, begin)

    def _send(self, start: int, end: int) -> None:
        events = events_between(start, end)
        messages = [
            EventsMessage(events[first : first + EVENTS_PER_MESSAGE])
            for first in range(0, len(events), EVENTS_PER_MESSAGE)
        ]
        store = self.workplace.store
        with store.batch() as batch:
            if messages:
                self.workplace.bus.publish(self._queue, messages, batch)
            store.facts.set(MARK, str(end))
