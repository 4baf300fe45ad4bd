"""Accepts connections: a share for each origin, and a limit on the time of TLS handshakes.

A connection counts from the moment it is accepted, before it has sent anything. Clients on this
machine, and proxies there, have places of their own, which other machines cannot take. The first
`UNSHARED` of these have no share for each user, because it takes long to find the user of a
connection.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from synergy.errors import SynergyError
from synergy.mx.protection.connection import HttpConnection
from synergy.mx.protection.hosts import is_loopback
from synergy.mx.protection.origins import origin
from synergy.mx.protection.peers import Peer
from synergy.mx.protection.shares import Shares

OF_OTHERS: Final = 200  # connections of other machines
SHARE_OF_ADDRESS: Final = 40  # of these
OF_THIS_MACHINE: Final = 300  # connections of this machine
UNSHARED: Final = 200  # of these, the first ones, which any user may take
SHARE_OF_USER: Final = 50  # of these, once UNSHARED are taken
HANDSHAKE_SECONDS: Final = 10.0  # within which a TLS handshake has to end
PAUSE_SECONDS: Final = 1.0  # after a failure to accept, as when all file descriptors are in use

log = logging.getLogger(__name__)


class Acceptor:
    """Accepts the connections of one MX; `make` creates the protocol of each."""

    def __init__(self, make: Callable[[], HttpConnection], tls: ssl.SSLContext | None) -> None:
        self._make = make
        self._tls = tls
        self._of_this_machine = Shares("connections", OF_THIS_MACHINE, SHARE_OF_USER)
        self._of_others = Shares("connections", OF_OTHERS, SHARE_OF_ADDRESS)
        self._served: set[asyncio.Task[None]] = set()

    async def run(self, listening: socket.socket) -> None:
        """Accepts connections until it is cancelled."""
        listening.setblocking(False)
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, address = await loop.sock_accept(listening)
            except ConnectionAbortedError:  # the client has left already
                continue
            except OSError as error:
                log.warning(
                    "No connection can be accepted: %s", error, extra={"event": "mx.unavailable"}
                )
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            self._begin(accepted, address)
            await asyncio.sleep(0)  # without which many new connections would hold up all others

    def _begin(self, accepted: socket.socket, address: tuple[str, int]) -> None:
        """Serves a connection in the background; closes it if its origin has its share."""
        places = self._of_this_machine if is_loopback(address[0]) else self._of_others
        holders: tuple[str, ...] = ()
        if places is self._of_others or places.taken >= UNSHARED:
            peer = Peer(address[:2], accepted.getsockname()[:2], accepted)
            holders = (origin(address[0], peer),)
        try:
            places.take(*holders)
        except SynergyError:
            accepted.close()
            return
        task = asyncio.get_running_loop().create_task(self._serve(accepted))
        self._served.add(task)
        task.add_done_callback(self._served.discard)
        task.add_done_callback(lambda _: places.give_back(*holders))

    async def _serve(self, accepted: socket.socket) -> None:
        connection = self._make()
        seconds = None if self._tls is None else HANDSHAKE_SECONDS
        with suppress(OSError):  # of the handshake
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: connection, accepted, ssl=self._tls, ssl_handshake_timeout=seconds
            )
            await connection.lost.wait()
