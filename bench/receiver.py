"""A receiver of webhooks in a thread of this process, which records the time of each request."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from synergy.clock import SystemClock

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
_BACKLOG = 1024
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)

_clock = SystemClock()


class Receiver:
    """The receiver; `came` has the instants of requests, in order."""

    def __init__(self) -> None:
        self.came: list[datetime] = []
        self.port = 0
        self.callers: set[asyncio.WriteTransport] = set()

    async def close_all(self) -> None:
        """Closes all connections."""
        for caller in self.callers:
            caller.abort()
        while self.callers:
            await asyncio.sleep(0)


class _Caller(asyncio.Protocol):
    """One connection; it stays open for more requests, as most receivers keep theirs."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._data = b""
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport
        self._receiver.callers.add(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._transport is not None:
            self._receiver.callers.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        self._data += data
        head, end, body = self._data.partition(b"\r\n\r\n")
        length = _LENGTH.search(head + b"\r\n")
        if self._transport is None or not end or len(body) < int(length[1] if length else 0):
            return
        self._receiver.came.append(_clock.now())
        self._data = b""
        self._transport.write(_ANSWER)


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver on a free port of the loopback interface."""
    receiver, ready, loop = Receiver(), threading.Event(), asyncio.new_event_loop()

    async def begin() -> asyncio.Server:
        server = await loop.create_server(
            lambda: _Caller(receiver), "127.0.0.1", 0, backlog=_BACKLOG
        )
        receiver.port = server.sockets[0].getsockname()[1]
        ready.set()
        return server

    def run() -> None:
        server = loop.run_until_complete(begin())
        loop.run_forever()
        server.close()
        loop.run_until_complete(receiver.close_all())
        loop.run_until_complete(server.wait_closed())
        loop.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    ready.wait()
    try:
        yield receiver
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
