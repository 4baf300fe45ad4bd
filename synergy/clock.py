"""The only reader of the system clock.

Pure functions and store methods take `now`; services hold a `Clock`. Wall time names
nominal instants (when a period ends, when a row was written); durations are measured on
the monotonic clock. How long the holder of a lease may still act is measured on the boot-time
clock, which counts suspended time as well.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """Where a service gets the time from."""

    def now(self) -> datetime:
        """The present instant, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back and stands still during suspend."""
        ...

    def boottime(self) -> float:
        """Seconds on a clock that never goes back and counts suspend."""
        ...


class SystemClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    def boottime(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)


class SteppedClock:
    """A clock that moves only when told to: for tests and simulation."""

    def __init__(self, start: datetime) -> None:
        self._start = start
        self._elapsed = 0.0

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        return self._elapsed

    def boottime(self) -> float:
        return self._elapsed

    def advance(self, seconds: float) -> None:
        """Moves all three readings forward together."""
        self._elapsed += seconds

    def set_wall(self, instant: datetime) -> None:
        """Sets the wall clock only, as an operator or a time server would."""
        self._start = instant - timedelta(seconds=self._elapsed)


def from_setting(text: str) -> Clock:
    """The clock for `SYNERGY_CLOCK`: the system's if it is empty, else one that stands still.

    Raises ValueError for a text that is no instant in ISO format.
    """
    if not text:
        return SystemClock()
    instant = datetime.fromisoformat(text)
    return SteppedClock(instant.replace(tzinfo=instant.tzinfo or UTC).astimezone(UTC))
