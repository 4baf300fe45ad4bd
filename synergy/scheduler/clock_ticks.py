"""The time that passes: periods begin and close, triggers and interim runs come due."""

from __future__ import annotations

import heapq
import logging
from datetime import datetime, timedelta

from synergy.clock import Clock
from synergy.schedule.trigger import Every
from synergy.scheduler.known_state import KnownState
from synergy.scheduler.process_state import ProcessState
from synergy.timeperiod import Qualifier

# Seconds between two tries of a failed period whose source grows, where interim runs come with
# the trigger.
BETWEEN_TRIES = 10.0

log = logging.getLogger(__name__)


class ClockTicks:
    """Moves memory on with the clock."""

    def __init__(self, memory: KnownState, clock: Clock) -> None:
        self._memory = memory
        self._clock = clock
        self._turned_at = clock.now()
        self._refreshes: list[tuple[float, str, int]] = []

    def turn(self, now: datetime) -> None:
        """Does what the time has come for."""
        if now < self._turned_at:
            self._set_back(now)
        self._turned_at = now
        if now >= self._memory.time_due:
            self._pass(now)
        self._refresh()

    def idle_for(self, now: datetime) -> float:
        """Seconds until the time has come for something."""
        waits = [(self._memory.time_due - now).total_seconds()]
        if self._refreshes:
            waits.append(self._refreshes[0][0] - self._clock.monotonic())
        return max(0.0, min(waits))

    def refresh_later(self, lane: ProcessState, ordinal: int) -> None:
        """Has the next interim run of a period wait a while."""
        refresh = lane.process.refresh
        due = self._clock.monotonic() + (BETWEEN_TRIES if refresh is None else refresh)
        lane.refresh_at[ordinal] = due
        heapq.heappush(self._refreshes, (due, lane.process.name, ordinal))

    def _set_back(self, now: datetime) -> None:
        """The clock was set back: what was to come at a time comes at that time by the new one.

        What is closed stays closed, so nothing is done twice.
        """
        log.warning("The clock was set back", extra={"event": "scheduler.clock_jump"})
        for lane in self._memory.lanes.values():
            lane.next_tick = lane.trigger.next_after(now)
        self._memory.time_due = now

    def _pass(self, now: datetime) -> None:
        """Begins, closes and ticks what is due, and notes when that is next."""
        self._memory.grow(now)
        dues = [Qualifier.HOURLY.start(Qualifier.HOURLY.at(now) + 1)]
        for lane in self._memory.lanes.values():
            if isinstance(lane.trigger, Every):
                for ordinal in lane.close(now):
                    lane.wake(ordinal)
                dues.append(lane.process.closes_at(lane.closed) + timedelta(milliseconds=1))
            lane.wake_due_retries(now)
            if lane.retries:
                dues.append(lane.retries[0][0])
            if lane.next_tick <= now:
                lane.look(now)
                lane.next_tick = lane.trigger.next_after(now)
            dues.append(lane.next_tick)
        self._memory.time_due = min(dues)

    def _refresh(self) -> None:
        """Wakes the periods whose next interim run is due."""
        monotonic = self._clock.monotonic()
        while self._refreshes and self._refreshes[0][0] <= monotonic:
            due, process, ordinal = heapq.heappop(self._refreshes)
            lane = self._memory.lanes[process]
            if lane.refresh_at.get(ordinal) == due:
                del lane.refresh_at[ordinal]
                lane.wake(ordinal)
