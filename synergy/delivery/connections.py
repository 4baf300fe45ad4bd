"""Connections to receivers, kept for a moment, so that a burst of requests spares handshakes.

A place is an address that was looked at, with the name that its certificate must show, so what
is kept leads nowhere else than a new connection would. A connection carries one request at a
time, and is given back after a whole answer only: what was cut off or cancelled is never used
again (a pool that requests share loses its places to them).
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

KEPT_FOR = 1.0  # seconds; receivers that wait for another request wait longer
MOST_KEPT = 64

_ONE = httpx.Limits(max_connections=1)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a connection leads. `name` is whom TLS must find there; empty for the address."""

    scheme: str
    address: IpAddress
    port: int
    name: str


@dataclass(slots=True)
class Connection:
    """`is_whole`: the answer has come whole; to be set by who uses it."""

    place: Place
    transport: httpx.AsyncHTTPTransport
    is_whole: bool = False
    since: float = 0.0  # when it was given back, in the loop's time


@cache
def _nobody() -> ssl.SSLContext:
    """Trusts nobody: for places that are spoken to without TLS."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class Connections:
    """To be used in one event loop."""

    def __init__(self, trusted: Callable[[], ssl.SSLContext]) -> None:
        self._trusted = cache(trusted)  # read when TLS is first spoken: it takes a moment
        self._kept: dict[Place, list[Connection]] = {}
        self._number = 0
        self._timer: asyncio.TimerHandle | None = None
        self._endings: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def new(self, place: Place) -> Connection:
        """Without proxies of the environment: they would resolve names again."""
        trusted = self._trusted() if place.scheme == "https" else _nobody()
        transport = httpx.AsyncHTTPTransport(verify=trusted, trust_env=False, limits=_ONE)
        return Connection(place, transport)

    def kept(self, place: Place) -> Connection | None:
        """One that was used before, and which nobody uses now; None without one."""
        kept = self._kept.get(place)
        if not kept:
            return None
        connection = kept.pop()
        connection.is_whole = False
        self._number -= 1
        if not kept:
            del self._kept[place]
        return connection

    @asynccontextmanager
    async def lent(self, connection: Connection) -> AsyncIterator[None]:
        """For one request; afterwards it is kept, or ended."""
        try:
            yield
        finally:
            if connection.is_whole and self._number < MOST_KEPT and not self._is_closed:
                self._keep(connection)
            else:
                await connection.transport.aclose()

    async def close(self) -> None:
        """Ends those that nobody uses; the others end with their requests."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        for connection in self._taken_out(before=float("inf")):
            await connection.transport.aclose()
        if self._endings:
            await asyncio.wait(self._endings)

    def _keep(self, connection: Connection) -> None:
        loop = asyncio.get_running_loop()
        connection.since = loop.time()
        self._kept.setdefault(connection.place, []).append(connection)
        self._number += 1
        if self._timer is None:
            self._timer = loop.call_later(KEPT_FOR, self._sweep)

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        for connection in self._taken_out(before=loop.time() - KEPT_FOR):
            ending = loop.create_task(connection.transport.aclose())
            self._endings.add(ending)
            ending.add_done_callback(self._endings.discard)
        self._timer = loop.call_later(KEPT_FOR, self._sweep) if self._kept else None

    def _taken_out(self, before: float) -> list[Connection]:
        """Those that were given back by then."""
        old: list[Connection] = []
        for place, kept in list(self._kept.items()):
            old += (one for one in kept if one.since <= before)
            kept[:] = [one for one in kept if one.since > before]
            if not kept:
                del self._kept[place]
        self._number -= len(old)
        return old
