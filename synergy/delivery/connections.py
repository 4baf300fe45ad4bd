"""Connections to receivers, kept for a moment, so that a burst of requests saves handshakes.

An endpoint is a checked address with the name that its certificate must show, so a kept
connection leads to the same receiver as a new one. A connection carries one request at a time, and
is kept only after a whole answer: one that was cut off or cancelled is never used again (a shared
pool would lose its slots to those).
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache

import httpx

from synergy.delivery.addresses import IpAddress

KEEP_SECONDS = 1.0  # shorter than receivers keep idle connections
MOST_KEPT = 64

_ONE = httpx.Limits(max_connections=1)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The other end of a connection. `name` must be in its certificate; empty for the address."""

    scheme: str
    address: IpAddress
    port: int
    name: str


@dataclass(slots=True)
class Connection:
    """A connection; its user sets `is_whole` once the whole answer was read."""

    endpoint: Endpoint
    transport: httpx.AsyncHTTPTransport
    is_whole: bool = False
    since: float = 0.0  # when it was given back, in the loop's time


@cache
def _no_trust() -> ssl.SSLContext:
    """A context that trusts no certificate, for endpoints without TLS."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class Connections:
    """New and kept connections; for one event loop."""

    def __init__(self, trusted: Callable[[], ssl.SSLContext]) -> None:
        self._trusted = cache(trusted)  # read at the first use of TLS, because it is slow
        self._kept: dict[Endpoint, list[Connection]] = {}
        self._number = 0
        self._timer: asyncio.TimerHandle | None = None
        self._closings: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def new(self, endpoint: Endpoint) -> Connection:
        """A new connection, without the environment's proxies, which would resolve names again."""
        trusted = self._trusted() if endpoint.scheme == "https" else _no_trust()
        transport = httpx.AsyncHTTPTransport(verify=trusted, trust_env=False, limits=_ONE)
        return Connection(endpoint, transport)

    def kept(self, endpoint: Endpoint) -> Connection | None:
        """An idle connection to the endpoint; None without one."""
        kept = self._kept.get(endpoint)
        if not kept:
            return None
        connection = kept.pop()
        connection.is_whole = False
        self._number -= 1
        if not kept:
            del self._kept[endpoint]
        return connection

    @asynccontextmanager
    async def lent(self, connection: Connection) -> AsyncIterator[None]:
        """Lends a connection for one request; afterwards it is kept or closed."""
        try:
            yield
        finally:
            if connection.is_whole and self._number < MOST_KEPT and not self._is_closed:
                self._keep(connection)
            else:
                await connection.transport.aclose()

    async def close(self) -> None:
        """Closes idle connections; the others are closed after their requests."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        for connection in self._remove_idle(before=float("inf")):
            await connection.transport.aclose()
        if self._closings:
            await asyncio.wait(self._closings)

    def _keep(self, connection: Connection) -> None:
        loop = asyncio.get_running_loop()
        connection.since = loop.time()
        self._kept.setdefault(connection.endpoint, []).append(connection)
        self._number += 1
        if self._timer is None:
            self._timer = loop.call_later(KEEP_SECONDS, self._sweep)

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        for connection in self._remove_idle(before=loop.time() - KEEP_SECONDS):
            closing = loop.create_task(connection.transport.aclose())
            self._closings.add(closing)
            closing.add_done_callback(self._closings.discard)
        self._timer = loop.call_later(KEEP_SECONDS, self._sweep) if self._kept else None

    def _remove_idle(self, before: float) -> list[Connection]:
        """Removes and returns the connections that were idle by then."""
        old: list[Connection] = []
        for endpoint, kept in list(self._kept.items()):
            old += (one for one in kept if one.since <= before)
            kept[:] = [one for one in kept if one.since > before]
            if not kept:
                del self._kept[endpoint]
        self._number -= len(old)
        return old
