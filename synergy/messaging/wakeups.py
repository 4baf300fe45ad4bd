"""Wakes waiting threads, within a process or across the processes of a box.

A waiter is a datagram socket. A wake-up sends a byte to each waiter of a topic and never blocks. A
byte that is sent before the wait stays in the socket, so none is lost between a check and the wait
after it; a waiter whose socket is full was woken already. Wake-ups carry nothing and may be lost,
so waiting code also checks at intervals.

Across processes, waiters are socket files in one directory. They are reached through the
directory's descriptor, because the path of a socket must be short and that of a home need not be.
The socket file of a killed process is removed by the next process that fails to wake it. A waiter
whose file was deleted makes it again within `LOOK_SECONDS`, also if the directory was deleted.

Waiting and waking happen in the threads of the callers.
"""

from __future__ import annotations

import hashlib
import logging
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

LOOK_SECONDS = 5.0  # waiting time after which a waiter looks whether its socket file exists
_LONGEST = 64  # characters of a topic in a file name: a socket's path has at most 107
_BYTE = b"!"

log = logging.getLogger(__name__)


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
        self._wake = wake
        self._discard = discard
        self._listen(receiver)

    def _listen(self, receiver: socket.socket) -> None:
        self._receiver = receiver
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
        self._name = directory
        try:
            private_files.make_home_folder(directory)
            self._directory = self._opened()
        except OSError as error:
            raise MessagingUnavailable(f"{directory}: {error.strerror}") from error
        self._sender = _socket()

    def waiter(self, topic: str) -> Waiter:
        name = f"{_escaped(topic)}.{os.getpid()}.{secrets.token_hex(4)}"
        try:
            return _FileWakeup(self, name, self.bound(name))
        except OSError as error:
            raise MessagingUnavailable(f"{self._name / name}: {error.strerror}") from error

    def wake(self, topic: str) -> None:
        prefix = f"{_escaped(topic)}."
        with suppress(OSError):
            names = os.listdir(self._directory)
            if not names:
                self._find_directory()
                names = os.listdir(self._directory)
            for name in names:
                if name.startswith(prefix):
                    self.send(name)

    def close(self) -> None:
        self._sender.close()
        if self._directory >= 0:
            os.close(self._directory)
            self._directory = -1

    def send(self, name: str) -> None:
        """Wakes the waiter of this name."""
        try:
            self._sender.sendto(_BYTE, self._path(name))
        except ConnectionRefusedError:
            self.remove(name)  # its process has ended
        except OSError:
            pass  # full: it was woken already; gone: it was closed

    def remove(self, name: str) -> None:
        """Deletes the socket file of this name."""
        with suppress(OSError):
            os.unlink(name, dir_fd=self._directory)

    def bound(self, name: str) -> socket.socket:
        """A socket with a new file of this name; raises OSError."""
        receiver = _socket()
        try:
            receiver.bind(self._path(name))
        except OSError:
            receiver.close()
            raise
        return receiver

    def restored(self, name: str) -> socket.socket | None:
        """A new socket of this name if its file was deleted; raises OSError if that fails."""
        self._find_directory()
        with suppress(FileNotFoundError):
            os.stat(name, dir_fd=self._directory, follow_symlinks=False)
            return None
        return self.bound(name)

    def _find_directory(self) -> None:
        """Makes the directory again if it was deleted; a home that is missing is not made."""
        with suppress(FileNotFoundError):
            if os.path.samestat(self._name.stat(), os.fstat(self._directory)):
                return
        private_files.make_home_folder(self._name, with_home=False)
        found = self._opened()
        os.dup2(found, self._directory, inheritable=False)
        os.close(found)

    def _opened(self) -> int:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(self._name, flags)

    def _path(self, name: str) -> str:
        return f"/proc/self/fd/{self._directory}/{name}"


class _FileWakeup(Wakeup):
    """A waiter with a socket file, which it makes again if somebody deleted it."""

    def __init__(self, wakeups: SocketWakeups, name: str, receiver: socket.socket) -> None:
        super().__init__(receiver, lambda: wakeups.send(name), lambda: wakeups.remove(name))
        self._wakeups = wakeups
        self._name = name
        self._unseen = 0.0  # seconds of waiting since the file was known to exist
        self._has_failed = False

    def wait(self, timeout: float) -> bool:
        while True:
            step = min(timeout, max(LOOK_SECONDS - self._unseen, 0.0))
            if super().wait(step):
                self._unseen = 0.0
                return True
            timeout -= step
            self._unseen += step
            if self._unseen >= LOOK_SECONDS and self._restore():
                return True  # what came while the file was missing is looked for at once
            if timeout <= 0.0:
                return False

    def _restore(self) -> bool:
        self._unseen = 0.0
        try:
            found = self._wakeups.restored(self._name)
        except OSError as error:
            if not self._has_failed:
                log.warning("No wake-ups: %s", error, extra={"event": "wakeups.unavailable"})
            self._has_failed = True
            return False
        self._has_failed = False
        if found is None:
            return False
        log.warning(
            "The wake-up socket %s was deleted and is made again",
            self._name,
            extra={"event": "wakeups.restored"},
        )
        self._receiver.close()
        self._listen(found)
        return True


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
