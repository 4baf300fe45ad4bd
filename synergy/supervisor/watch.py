"""What the loop sleeps on: file descriptors, a bell, and notices on the bus."""

from __future__ import annotations

import selectors
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from synergy.errors import MessagingUnavailable
from synergy.messaging.protocol import Bus
from synergy.names import SUPERVISOR_TOPIC
from synergy.runtime.stop import Stop

_LISTEN = 60.0
_RETRY = 5.0


class Watch:
    """A set of file descriptors to wait on, and a bell that ends the wait."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._bell, self._ear = socket.socketpair()
        self._bell.setblocking(False)
        self._ear.setblocking(False)
        self._selector.register(self._ear, selectors.EVENT_READ)

    def add(self, fd: int) -> None:
        """Waits on `fd` too, until it is dropped."""
        self._selector.register(fd, selectors.EVENT_READ)

    def drop(self, fd: int) -> None:
        """Does not wait on `fd` any longer; nothing happens if it never did."""
        with suppress(KeyError):
            self._selector.unregister(fd)

    def ring(self) -> None:
        """Ends the present or the next wait; from any thread or signal handler."""
        with suppress(OSError):  # full: the wait ends anyway; closed: nobody waits any more
            self._bell.send(b"1")

    def wait(self, timeout: float) -> None:
        """Waits at most `timeout` seconds."""
        self._selector.select(max(0.0, timeout))
        with suppress(BlockingIOError):
            while self._ear.recv(4096):
                pass

    def readable(self) -> set[int]:
        """Those that can be read now."""
        return {key.fd for key, _ in self._selector.select(0)}

    def close(self) -> None:
        self._selector.close()
        self._bell.close()
        self._ear.close()


def listen(bus: Bus, stop: Stop, noticed: Callable[[], None]) -> threading.Thread:
    """Calls `noticed` from a thread whenever the box configuration was changed, until `stop`."""
    thread = threading.Thread(target=_listen, args=(bus, stop, noticed), daemon=True)
    thread.start()
    return thread


def _listen(bus: Bus, stop: Stop, noticed: Callable[[], None]) -> None:
    while not stop.is_set:
        try:
            _hear(bus, stop, noticed)
        except MessagingUnavailable:
            stop.wait(_RETRY)


def _hear(bus: Bus, stop: Stop, noticed: Callable[[], None]) -> None:
    waiter = bus.listener(SUPERVISOR_TOPIC)
    stop.interrupts(waiter.interrupt)
    try:
        while not stop.is_set:
            if waiter.wait(_LISTEN):
                noticed()
    finally:
        waiter.close()
