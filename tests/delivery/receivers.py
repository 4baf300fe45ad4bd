"""Receivers of webhooks on this machine that answer or fail as the test says."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

LIMIT = 180.0  # seconds; a bound: no passing test waits that long


@dataclass(frozen=True)
class Call:
    """A received request; header names are in lower case."""

    line: str
    headers: dict[str, str]
    body: bytes


class Receiver:
    """Serves each connection in a thread, which reads one request and then calls `behave`.

    Behaviours can wait for `gate`, which is set when the receiver closes.
    """

    def __init__(
        self,
        behave: Callable[[socket.socket, Receiver], None],
        host: str = "127.0.0.1",
        tls: ssl.SSLContext | None = None,
        *,
        reads: bool = True,
    ) -> None:
        self._behave = behave
        self._tls = tls
        self._reads = reads
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, 0), family=family, backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self.calls: list[Call] = []
        self.connections = 0
        self._ended = 0  # connections that were closed
        self.gate = threading.Event()
        self._came = threading.Condition()
        self._ends: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def wait_for(self, calls: int) -> None:
        """Returns once that many requests have been received."""
        with self._came:
            assert self._came.wait_for(lambda: len(self.calls) >= calls, LIMIT)

    def wait_for_ends(self, connections: int) -> None:
        """Returns once that many connections have been closed here."""
        with self._came:
            assert self._came.wait_for(lambda: self._ended >= connections, LIMIT)

    def close(self) -> None:
        self.gate.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # or a waiting `accept` would keep it open
        self._listener.close()
        for end in self._ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                end, _ = self._listener.accept()
                self.connections += 1
                self._ends.append(end)
                threading.Thread(target=self._serve, args=(end,), daemon=True).start()

    def _serve(self, end: socket.socket) -> None:
        with suppress(OSError), end:
            wire = self._tls.wrap_socket(end, server_side=True) if self._tls else end
            with wire:
                if self._reads:
                    self.read(wire)
                self._behave(wire, self)
        with self._came:
            self._ended += 1
            self._came.notify_all()

    def read(self, wire: socket.socket) -> None:
        """Reads a request and records it."""
        call = _read(wire)
        with self._came:
            self.calls.append(call)
            self._came.notify_all()


def _read(wire: socket.socket) -> Call:
    data = b""
    while b"\r\n\r\n" not in data:
        some = wire.recv(65_536)
        if not some:
            raise OSError("gone")
        data += some
    head, _, body = data.partition(b"\r\n\r\n")
    line, *lines = head.decode("latin-1").split("\r\n")
    pairs = [one.partition(":") for one in lines]
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    while len(body) < int(headers.get("content-length", "0")):
        body += wire.recv(65_536)
    return Call(line, headers, body)


@contextmanager
def receiving(
    behave: Callable[[socket.socket, Receiver], None],
    host: str = "127.0.0.1",
    tls: ssl.SSLContext | None = None,
    *,
    reads: bool = True,
) -> Iterator[Receiver]:
    receiver = Receiver(behave, host, tls, reads=reads)
    try:
        yield receiver
    finally:
        receiver.close()


def answers(
    status: str = "200 OK", body: bytes = b"", *headers: str
) -> Callable[[socket.socket, Receiver], None]:
    """Sends a complete answer, which says that the connection is closed, and closes it.

    Without that word, the next request may be sent over it just as it ends, and fail.
    """
    always = f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close"
    lines = [*always, *headers, "", ""]

    def behave(wire: socket.socket, _: Receiver) -> None:
        wire.sendall("\r\n".join(lines).encode() + body)

    return behave


def keeps(*replies: bytes) -> Callable[[socket.socket, Receiver], None]:
    """Answers one request after the other over one connection, then closes it."""

    def behave(wire: socket.socket, receiver: Receiver) -> None:
        for number, reply in enumerate(replies):
            if number:
                receiver.read(wire)
            wire.sendall(reply)

    return behave


def says(data: bytes) -> Callable[[socket.socket, Receiver], None]:
    """Sends exactly these bytes and closes the connection."""

    def behave(wire: socket.socket, _: Receiver) -> None:
        wire.sendall(data)

    return behave


def hangs(wire: socket.socket, receiver: Receiver) -> None:
    """Sends nothing until the gate is set."""
    receiver.gate.wait(LIMIT)
    answers()(wire, receiver)


def dribbles(before: bytes, piece: bytes) -> Callable[[socket.socket, Receiver], None]:
    """Sends a piece repeatedly, with pauses, until the gate is set."""

    def behave(wire: socket.socket, receiver: Receiver) -> None:
        wire.sendall(before)
        while not receiver.gate.wait(0.02):
            wire.sendall(piece)

    return behave
