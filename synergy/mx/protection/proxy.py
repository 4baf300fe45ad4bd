"""Whose `X-Forwarded-For` counts: that of a reverse proxy on this machine.

The server accepts the header from every client on this machine. But any user of the machine may
send it, with a new address each time: failed logins and requests would be counted for addresses
that do not exist, and the audit log would name them. So what the header says counts only if the
client is the proxy: a process of root, of the user that MX runs as, or of `MX_PROXY_USER`.
"""

from __future__ import annotations

import logging
import os
from typing import cast

from starlette.requests import HTTPConnection

from synergy.mx.protection.hosts import is_loopback
from synergy.mx.protection.peers import Peer

log = logging.getLogger(__name__)


class Proxy:
    """The users of this machine that may say for which address they send a request."""

    def __init__(self, user: int | None = None) -> None:
        """`user` is the id of the user that a proxy runs as, besides root and that of MX."""
        self._users = {0, os.geteuid(), *(() if user is None else (user,))}
        self._refused: set[int | None] = set()

    def is_trusted(self, peer: Peer) -> bool:
        """Whether the peer is a proxy; the first refusal of each user is logged."""
        if peer.user in self._users:
            return True
        if peer.user not in self._refused:
            self._refused.add(peer.user)
            log.warning(
                "X-Forwarded-For of user %s does not count: if a proxy runs as this user, set "
                "SYNERGY_MX_PROXY_USER",
                "unknown" if peer.user is None else peer.user,
                extra={"event": "mx.proxy_unknown"},
            )
        return False


def peer_of(request: HTTPConnection) -> Peer | None:
    """The other end of the connection, which may be a proxy."""
    return cast("Peer | None", getattr(request.state, "peer", None))


def address_of(request: HTTPConnection) -> str:
    """The address of the client, which a proxy may have named; "" if it is unknown."""
    return request.client.host if request.client else ""


def is_claimed(request: HTTPConnection) -> bool:
    """Whether the address is a mere claim of a user of this machine that is not the proxy."""
    peer = peer_of(request)
    if peer is None or not is_loopback(peer.address) or peer.address == address_of(request):
        return False
    proxy: Proxy = request.app.state.proxy
    return not proxy.is_trusted(peer)


def source_of(request: HTTPConnection) -> str:
    """The address of the client, for records; a claimed one with the user that claims it."""
    peer, address = peer_of(request), address_of(request)
    if peer is None or not is_claimed(request):
        return address
    user = "an unknown user" if peer.user is None else f"user {peer.user}"
    return f"{user} of this machine, for {address}"
