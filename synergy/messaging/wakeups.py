"""Wakes waiting threads, within a process or across the processes of a box.

A waiter is a datagram socket. A wake-up sends a byte to each waiter of a topic and never blocks. A
byte that is sent before the wait stays in the socket, so none is lost between a check and the wait
after it; a waiter whose socket is full was woken already. Wake-ups carry nothing and may be lost,
so waiting code also checks at intervals.

Across processes, waiters are socket files in one directory. They are reached through the
directory's descriptor, because the path of a socket must be short and that of a home need not be.
The socket file of a killed process is removed by the next process that fails to wake it.

Waiting and waking happen in the threads of the callers.
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

from synergy import private_files
from synergy.errors import MessagingUnavailable
from synergy.messaging.protocol import Waiter

_LONGEST = 64  # characters of a topic in a file name: a socket's path has at most 107
_BYTE = b"!"


class Wakeups(Protocol):
    """The wake-ups that a process can wait for and send."""

    def waiter(self, topic: str) -> Waiter:
        """A new waiter of the topic, for one thread."""
        ...

    def wake(self, topic: str) -> None:
        """Wakes all waiters of the topic; never blocks, never raises."""
        ...

    def close(self) -> None: ...


class Wakeup:
    """One waiter. `wake` wakes it; `discard` removes it from its topic."""

    def __init__(
        self, receiver: socket.socket, wake: Callable[[], None], discard: Callable[[], None]
    ) -> None:
        self._receiver = receiver
        self._wake = wake
        self._discard = discard
        self._poll = select.poll()
        self._poll.register(receiver, select.POLLIN)

    def wait(self, timeout: float) -> bool:
        if not self._poll.poll(timeout * 1000):
            return False
        with suppress(BlockingIOError):
            while True:
                self._receiver.recv(1)
        return True

    def interrupt(self) -> None:
        """Ends the wait; a signal handler may call it."""
        with suppress(OSError):
            self._wake()

    def close(self) -> None:
        self._discard()
        self._receiver.close()


class LocalWakeups:
    """Wake-ups within one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._senders: defaultdict[str, set[socket.socket]] = defaultdict(set)

    def waiter(self, topic: str) -> Waiter:
        receiver, sender = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        receiver.setblocking(False)
        sender.setblocking(False)
        with self._lock:
            self._senders[topic].add(sender)

        def discard() -> None:
            with self._lock:
                self._senders[topic].discard(sender)
            sender.close()

        return Wakeup(receiver, lambda: _send_byte(sender), discard)

    def wake(self, topic: str) -> None:
        with self._lock:
            senders = list(self._senders.get(topic, ()))
        for sender in senders:
            with suppress(OSError):
                _send_byte(sender)

    def close(self) -> None:
        """Does nothing: each waiter closes its own sockets."""


class SocketWakeups:
    """Wake-ups among all processes that use the same directory."""

    def __init__(self, directory: Path) -> None:
        try:
            private_files.make_home_folder(directory)
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            self._directory = os.open(directory, flags)
        except OSError as error:
            raise MessagingUnavailable(f"{directory}: {error.strerror}") from error
        self._name = directory
        self._sender = _socket()

    def waiter(self, topic: str) -> Waiter:
        name = f"{_escaped(topic)}.{os.getpid()}.{secrets.token_hex(4)}"
        receiver = _socket()
        try:
            receiver.bind(self._path(name))
        except OSError as error:
            receiver.close()
            raise MessagingUnavailable(f"{self._name / name}: {error.strerror}") from error
        return Wakeup(receiver, lambda: self._send(name), lambda: self._remove(name))

    def wake(self, topic: str) -> None:
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
            self._sender.sendto(_BYTE, self._path(name))
        except ConnectionRefusedError:
            self._remove(name)  # its process has ended
        except OSError:
            pass  # full: it was woken already; gone: it was closed

    def _remove(self, name: str) -> None:
        with suppress(OSError):
            os.unlink(name, dir_fd=self._directory)

    def _path(self, name: str) -> str:
        return f"/proc/self/fd/{self._directory}/{name}"


def _send_byte(sender: socket.socket) -> None:
    with suppress(BlockingIOError):
        sender.send(_BYTE)


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
