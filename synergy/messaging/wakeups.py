"""Wakes waiting threads, within a process or across the processes of a box.

A bell is a datagram socket. Ringing sends a byte to each bell of a topic and never blocks. A
ring before the wait stays in the socket, so none is lost between a look and the wait after it; a
bell whose socket is full was rung already. A ring carries nothing and may get lost, so waiting
parts also look without being woken.

Across processes, bells are socket files in one directory. They are reached through the
directory's descriptor, because the path of a socket must be short and that of a home need not be.
The socket file of a killed process is removed by the next process that rings it in vain.

There is no thread here: waiting and ringing take place in the threads of the callers.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import select
import socket
import threading
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from synergy.errors import MessagingUnavailable
from synergy.messaging.protocol import Waiter

_LONGEST = 64  # characters of a topic in a file name: a socket's path has at most 107
_RING = b"!"


class Wakeups(Protocol):
    """The bells that a process can wait for and ring."""

    def bell(self, topic: str) -> Waiter:
        """A new bell of the topic, for one waiter."""
        ...

    def ring(self, topic: str) -> None:
        """Rings all bells of the topic; never blocks, never raises."""
        ...

    def close(self) -> None: ...


class Wakeup:
    """One waiter's end. `ring` rings this bell; `discard` takes it away from its topic."""

    def __init__(
        self, ear: socket.socket, ring: Callable[[], None], discard: Callable[[], None]
    ) -> None:
        self._ear = ear
        self._ring = ring
        self._discard = discard
        self._poll = select.poll()
        self._poll.register(ear, select.POLLIN)

    def wait(self, timeout: float) -> bool:
        if not self._poll.poll(timeout * 1000):
            return False
        with suppress(BlockingIOError):
            while True:
                self._ear.recv(1)
        return True

    def interrupt(self) -> None:
        """Rings this bell; a signal handler may do so as well."""
        with suppress(OSError):
            self._ring()

    def close(self) -> None:
        self._discard()
        self._ear.close()


class LocalWakeups:
    """Bells within one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bells: defaultdict[str, set[socket.socket]] = defaultdict(set)

    def bell(self, topic: str) -> Waiter:
        ear, button = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        ear.setblocking(False)
        button.setblocking(False)
        with self._lock:
            self._bells[topic].add(button)

        def discard() -> None:
            with self._lock:
                self._bells[topic].discard(button)
            button.close()

        return Wakeup(ear, lambda: _press(button), discard)

    def ring(self, topic: str) -> None:
        with self._lock:
            buttons = list(self._bells.get(topic, ()))
        for button in buttons:
            with suppress(OSError):
                _press(button)

    def close(self) -> None:
        """Does nothing: each waiter closes its own bell."""


class SocketWakeups:
    """Bells of all processes that use the same directory."""

    def __init__(self, directory: Path) -> None:
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._directory = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise MessagingUnavailable(f"{directory}: {error.strerror}") from error
        self._name = directory
        self._sender = _socket()

    def bell(self, topic: str) -> Waiter:
        name = f"{_escaped(topic)}.{os.getpid()}.{secrets.token_hex(4)}"
        ear = _socket()
        try:
            ear.bind(self._path(name))
        except OSError as error:
            ear.close()
            raise MessagingUnavailable(f"{self._name / name}: {error.strerror}") from error
        return Wakeup(ear, lambda: self._send(name), lambda: self._remove(name))

    def ring(self, topic: str) -> None:
        prefix = f"{_escaped(topic)}."
        with suppress(OSError):
            for name in os.listdir(self._directory):
                if name.startswith(prefix):
                    self._send(name)

    def close(self) -> None:
        self._sender.close()
        if self._directory >= 0:
            os.close(self._directory)
            self._directory = -1

    def _send(self, name: str) -> None:
        try:
            self._sender.sendto(_RING, self._path(name))
        except ConnectionRefusedError:
            self._remove(name)  # its process has ended
        except OSError:
            pass  # full: rung already; gone: its waiter was closed

    def _remove(self, name: str) -> None:
        with suppress(OSError):
            os.unlink(name, dir_fd=self._directory)

    def _path(self, name: str) -> str:
        return f"/proc/self/fd/{self._directory}/{name}"


def _press(button: socket.socket) -> None:
    with suppress(BlockingIOError):
        button.send(_RING)


def _socket() -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    made.setblocking(False)
    return made


def _escaped(topic: str) -> str:
    """The topic as part of a file name, without a dot; a digest of it if it is long."""
    name = quote(topic, safe="").replace(".", "%2E")
    if len(name) <= _LONGEST:
        return name
    return "#" + hashlib.blake2b(topic.encode(), digest_size=16).hexdigest()
