"""The wish that a process end, and everybody who waits for something else meanwhile."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType


class Stop:
    """Set once, by a signal or by another thread; never taken back.

    Whoever blocks in a wait of its own registers how to be interrupted.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self._interrupts: list[Callable[[], None]] = []

    @property
    def is_set(self) -> bool:
        return self._event.is_set()

    def set(self) -> None:
        """May be called twice, and from a signal handler."""
        self._event.set()
        for interrupt in tuple(self._interrupts):
            interrupt()

    def wait(self, timeout: float) -> bool:
        """Waits for the wish, at most `timeout` seconds; True if it was made."""
        return self._event.wait(timeout)

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
