"""A proxy between a client and a server that can cut connections or stop forwarding."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from urllib.parse import urlsplit, urlunsplit

Filter = Callable[[bytes], bytes]
"""Changes the bytes that the server sends."""


def unchanged(some: bytes) -> bytes:
    """Returns the bytes as they are."""
    return some


class Wire:
    """Listens on `address` and forwards bytes to `server` and back.

    Each connection has a new filter for the bytes from the server.
    """

    def __init__(
        self, server: tuple[str, int], filtering: Callable[[], Filter] = lambda: unchanged
    ) -> None:
        self._server = server
        self._filtering = filtering
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._alive = threading.Event()
        self._alive.set()
        self._ends: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        host, port = self._listener.getsockname()
        return f"{host}:{port}"

    def go_dead(self) -> None:
        """Stops forwarding; connections stay open, and new ones are accepted."""
        self._alive.clear()

    def revive(self) -> None:
        self._alive.set()

    def cut(self) -> None:
        """Breaks all connections; new ones work."""
        ends, self._ends = self._ends, []
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.close()
        self.revive()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                try:
                    server = socket.create_connection(self._server)
                except OSError:  # the server is down: its clients try again
                    client.close()
                    continue
                self._ends += [client, server]
                ways = ((client, server, unchanged), (server, client, self._filtering()))
                for way in ways:
                    threading.Thread(target=self._carry, args=way, daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket, through: Filter) -> None:
        with suppress(OSError), closing(target):
            while some := source.recv(65_536):
                self._alive.wait()
                target.sendall(through(some))


@contextmanager
def wire(
    url: str, filtering: Callable[[], Filter] = lambda: unchanged
) -> Iterator[tuple[Wire, str]]:
    """Yields a wire to the server of a URL, and the URL through the wire."""
    parts = urlsplit(url)
    assert parts.hostname
    with closing(Wire((parts.hostname, parts.port or 27017), filtering)) as line:
        user, at, _ = parts.netloc.rpartition("@")
        yield line, urlunsplit(parts._replace(netloc=f"{user}{at}{line.address}"))
