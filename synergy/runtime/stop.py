"""Two signals to wait for: a stop request, and a wake-up.

Both are file descriptors and not locks, because a signal handler may set them while its own thread
holds any lock.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

FINISH = signal.SIGUSR1
"""The signal that asks a process to finish the work that it has begun, and then to stop."""


class Stop:
    """A request to stop a process or a service: made once, never withdrawn.

    It may let the work that was begun be finished (`finish`), and become urgent later (`set`).

    An object with a blocking wait of its own registers how that wait is interrupted.
    """

    def __init__(self) -> None:
        self._is_set = False
        self._is_urgent = False
        self._fd = _eventfd()
        self._interrupts: list[Callable[[], None]] = []

    @property
    def is_set(self) -> bool:
        return self._is_set

    @property
    def is_urgent(self) -> bool:
        """Whether work that was begun is to be given up, too."""
        return self._is_urgent

    def set(self) -> None:
        """Makes the request; any thread or signal handler may call it, more than once."""
        self._is_urgent = True
        self.finish()

    def finish(self) -> None:
        """Makes the request, but lets the work that was begun be finished."""
        if not self._is_set:
            self._is_set = True
            os.eventfd_write(self._fd, 1)  # never read, so that later waits end too
        for interrupt in tuple(self._interrupts):
            interrupt()

    def wait(self, timeout: float) -> bool:
        """Waits for the request, at most `timeout` seconds; True if it was made."""
        if not self._is_set:
            _is_readable(self._fd, timeout)
        return self._is_set

    def __del__(self) -> None:
        os.close(self._fd)

    def interrupts(self, interrupt: Callable[[], None]) -> None:
        """Calls `interrupt` when the request is made; at once if it was made already."""
        self._interrupts.append(interrupt)
        if self.is_set:
            interrupt()

    def on_signals(self, *signals: signal.Signals) -> None:
        """Makes the request on these signals; main thread only.

        Default: SIGTERM and SIGINT, and FINISH, which lets work be finished.
        """
        for number in signals or (signal.SIGTERM, signal.SIGINT, FINISH):
            signal.signal(number, self._handle)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if number == FINISH:
            self.finish()
        else:
            self.set()


class WakeUp:
    """A wait of one thread that any other thread, or a signal handler, ends.

    A wake-up that comes before the wait ends the next wait at once, so none is lost.
    """

    def __init__(self) -> None:
        self._fd = _eventfd()

    def fileno(self) -> int:
        """The descriptor that is readable after a wake-up, for selectors."""
        return self._fd

    def wait(self, timeout: float) -> bool:
        """Waits at most `timeout` seconds; True if it was woken."""
        if not _is_readable(self._fd, timeout):
            return False
        with suppress(BlockingIOError):
            os.eventfd_read(self._fd)
        return True

    def interrupt(self) -> None:
        """Ends the present wait, or the next one."""
        os.eventfd_write(self._fd, 1)

    def __del__(self) -> None:
        os.close(self._fd)


def _eventfd() -> int:
    return os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)


def _is_readable(fd: int, timeout: float) -> bool:
    """Whether `fd` is readable within `timeout` seconds; by poll, which takes any descriptor."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(max(timeout, 0.0) * 1000))
