"""What the loop of the supervisor waits for: file descriptors, and a wake-up."""

from __future__ import annotations

import selectors
import socket
from contextlib import suppress


class Watch:
    """A set of file descriptors to wait for, and a wake-up that ends the wait."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._bell, self._ear = socket.socketpair()
        self._bell.setblocking(False)
        self._ear.setblocking(False)
        self._selector.register(self._ear, selectors.EVENT_READ)

    def add(self, fd: int) -> None:
        """Waits for `fd` too, until it is dropped."""
        self._selector.register(fd, selectors.EVENT_READ)

    def drop(self, fd: int) -> None:
        """Waits for `fd` no longer; does nothing if it never did."""
        with suppress(KeyError):
            self._selector.unregister(fd)

    def ring(self) -> None:
        """Ends the present or the next wait; from any thread or signal handler."""
        with suppress(OSError):  # full: the wait ends anyway; closed: there is no wait
            self._bell.send(b"1")

    def wait(self, timeout: float) -> None:
        """Waits at most `timeout` seconds."""
        self._selector.select(max(0.0, timeout))
        with suppress(BlockingIOError):
            while self._ear.recv(4096):
                pass

    def readable(self) -> set[int]:
        """The descriptors that can be read now."""
        return {key.fd for key, _ in self._selector.select(0)}

    def close(self) -> None:
        self._selector.close()
        self._bell.close()
        self._ear.close()
