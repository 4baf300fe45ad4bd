"""The effects of time alone: periods begin and close, triggers and interim runs come due."""

from __future__ import annotations

import heapq
import logging
from datetime import datetime, timedelta

from synergy.clock import Clock
from synergy.schedule.trigger import Every
from synergy.scheduler.known_state import KnownState
from synergy.scheduler.process_state import ProcessState
from synergy.timeperiod import Qualifier

# The time between two tries of a failed period whose source grows, if `refresh` is None.
RETRY_SECONDS = 10.0

log = logging.getLogger(__name__)


class ClockTicks:
    """Applies the passing of time to the known state."""

    def __init__(self, known_state: KnownState, clock: Clock) -> None:
        self._known = known_state
        self._clock = clock
        self._turned_at = clock.now()
        self._refreshes: list[tuple[float, str, int]] = []

    def turn(self, now: datetime) -> None:
        """Wakes what is due by the clock, and closes periods."""
        if now < self._turned_at:
            self._set_back(now)
        self._turned_at = now
        if now >= self._known.time_due:
            self._pass(now)
        self._refresh()

    def idle_for(self, now: datetime) -> float:
        """Seconds until something is due by the clock."""
        waits = [(self._known.time_due - now).total_seconds()]
        if self._refreshes:
            waits.append(self._refreshes[0][0] - self._clock.monotonic())
        return max(0.0, min(waits))

    def refresh_later(self, state: ProcessState, ordinal: int) -> None:
        """Schedules the next interim run of a period."""
        refresh = state.process.refresh
        due = self._clock.monotonic() + (RETRY_SECONDS if refresh is None else refresh)
        state.refresh_at[ordinal] = due
        heapq.heappush(self._refreshes, (due, state.process.name, ordinal))

    def _set_back(self, now: datetime) -> None:
        """Computes all next ticks again after the clock was set back.

        Closed periods stay closed, so nothing is done twice.
        """
        log.warning("The clock was set back", extra={"event": "scheduler.clock_jump"})
        for state in self._known.processes.values():
            state.next_tick = state.trigger.next_after(now)
        self._known.time_due = now

    def _pass(self, now: datetime) -> None:
        """Begins and closes periods, fires triggers, and computes when something is due next."""
        self._known.grow(now)
        dues = [Qualifier.HOURLY.start(Qualifier.HOURLY.at(now) + 1)]
        for state in self._known.processes.values():
            if isinstance(state.trigger, Every):
                for ordinal in state.close(now):
                    state.wake(ordinal)
                dues.append(state.process.closes_at(state.closed) + timedelta(milliseconds=1))
            state.wake_due_retries(now)
            if state.retries:
                dues.append(state.retries[0][0])
            if state.next_tick <= now:
                if any(state.level.unreadable()):  # malformed rows may have been repaired
                    self._known.reread(state, set())
                state.fire(now)
                state.next_tick = state.trigger.next_after(now)
            dues.append(state.next_tick)
        self._known.time_due = min(dues)

    def _refresh(self) -> None:
        """Wakes the periods whose next interim run is due."""
        monotonic = self._clock.monotonic()
        while self._refreshes and self._refreshes[0][0] <= monotonic:
            due, process, ordinal = heapq.heappop(self._refreshes)
            state = self._known.processes[process]
            if state.refresh_at.get(ordinal) == due:
                del state.refresh_at[ordinal]
                state.wake(ordinal)
