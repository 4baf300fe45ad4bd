"""The wish that a process end, and everybody who waits for something else meanwhile."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable
from types import FrameType


class Stop:
    """Set once, by a signal or by another thread; never taken back.

    Whoever blocks in a wait of its own registers how to be interrupted. A pipe is what waiters
    sleep on, not a lock, because a signal handler may run while its own thread holds the lock.
    """

    def __init__(self) -> None:
        self._is_set = False
        self._reader, self._writer = os.pipe()
        self._interrupts: list[Callable[[], None]] = []

    @property
    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        """May be called twice, and from a signal handler."""
        if not self._is_set:
            self._is_set = True
            os.write(self._writer, b"1")  # never read: whoever waits later sees it too
        for interrupt in tuple(self._interrupts):
            interrupt()

    def wait(self, timeout: float) -> bool:
        """Waits for the wish, at most `timeout` seconds; True if it was made."""
        if not self._is_set:
            select.select([self._reader], [], [], max(timeout, 0.0))
        return self._is_set

    def __del__(self) -> None:
        os.close(self._reader)
        os.close(self._writer)

    def interrupts(self, interrupt: Callable[[], None]) -> None:
        """Calls `interrupt` when the wish is made; at once if it was made already."""
        self._interrupts.append(interrupt)
        if self.is_set:
            interrupt()

    def on_signals(self, *signals: signal.Signals) -> None:
        """Makes these signals (default SIGTERM and SIGINT) the wish; main thread only."""
        for number in signals or (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._handle)

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        self.set()
