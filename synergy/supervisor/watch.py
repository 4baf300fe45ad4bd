"""The file descriptors that the loop of the supervisor waits for, and a wake-up."""

from __future__ import annotations

import selectors
from contextlib import suppress

from synergy.runtime.stop import WakeUp


class Watch:
    """A set of file descriptors to wait for, and a wake-up that ends the wait."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._wake_up = WakeUp()
        self._selector.register(self._wake_up, selectors.EVENT_READ)

    def add(self, fd: int) -> None:
        """Waits for `fd` too, until it is dropped."""
        self._selector.register(fd, selectors.EVENT_READ)

    def drop(self, fd: int) -> None:
        """Stops waiting for `fd`, if it was added."""
        with suppress(KeyError):
            self._selector.unregister(fd)

    def wake(self) -> None:
        """Ends the present or the next wait; from any thread or signal handler."""
        self._wake_up.interrupt()

    def wait(self, timeout: float) -> None:
        """Waits at most `timeout` seconds."""
        self._selector.select(max(0.0, timeout))
        self._wake_up.wait(0.0)

    def readable(self) -> set[int]:
        """The descriptors that can be read now."""
        return {key.fd for key, _ in self._selector.select(0)}

    def close(self) -> None:
        self._selector.close()
