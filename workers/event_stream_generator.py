"""A stream of imagined visits, so that a first start shows a timetable that fills up.

The last 48 hours come at once, as far as the timetable reaches back; then events are sent when
their time has come. A mark in the store says up to when they were sent, so that a restart goes
on from there, after a longer stop with what was missed of the last 48 hours. The mark is
written together with the events; where that is not one step, the events come first.
"""

from __future__ import annotations

import logging

from synergy.names import TIMETABLE_START
from synergy.timeperiod import Qualifier
from synergy.worker import Daemon, EventsMessage, MessagingUnavailable, StorageUnavailable
from workers.demo_visits import events_between

MARK = "event_stream.sent_until"
HISTORY = 48 * 3600  # seconds
STRETCH = 1800  # seconds of the stream that are sent in one step
PULSE = 1.0  # seconds between looks whether something is due
CROWDED = 0.05  # seconds until the next look when enough messages wait
TROUBLE = 5.0  # seconds until the next look when the store or the bus does not answer
EVENTS_PER_MESSAGE = 250
ENOUGH = 100  # messages that may wait before the stream does

log = logging.getLogger(__name__)


class EventStreamGenerator(Daemon):
    """Sends imagined events to the queue that the argument `queue` of the process names."""

    def start(self) -> None:
        stop = self.workplace.stop
        while not stop.is_set:
            try:
                pause = self.run_once()
            except (StorageUnavailable, MessagingUnavailable) as error:
                log.warning("Cannot send events: %s", error, extra={"event": "worker.waits"})
                stop.wait(TROUBLE)
            else:
                stop.wait(pause)

    def run_once(self) -> float:
        """Sends what is due, at most one stretch of it; the seconds until there is more to do."""
        workplace = self.workplace
        now = int(workplace.clock.now().timestamp())
        start = self._sent_until(now)
        end = min(start + STRETCH, now)
        if end <= start:
            return PULSE
        if workplace.bus.depths([self._queue]).get(self._queue, 0) > ENOUGH:
            return CROWDED
        self._send(start, end)
        return 0.0 if end < now else PULSE

    @property
    def _queue(self) -> str:
        return str(self.workplace.process.arguments["queue"])

    def _sent_until(self, now: int) -> int:
        """From when on events are to be sent, in epoch seconds."""
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
