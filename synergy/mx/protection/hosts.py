"""Host names of MX: protection against DNS rebinding.

A name that an attacker owns may resolve to this machine; a browser would then let pages of that
name read the responses. So the `Host` of a request must be a host name of MX, a loopback address,
or the address of the connection.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from synergy.mx.middleware import HttpMiddleware

_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9_.-]+))(?::([0-9]{1,5}))?", re.ASCII)


def own_names(more: Iterable[str] = ()) -> frozenset[str]:
    """The names of this machine and `more`, in lower case."""
    host = socket.gethostname()
    return frozenset(name.lower().rstrip(".") for name in ("localhost", host, *more) if name)


def split_host(host: str) -> tuple[str, str] | None:
    """Name and port ("" for none) of a `Host` header; None if it is malformed."""
    found = _HOST.fullmatch(host)
    if found is None:
        return None
    return (found[1] or found[2]).lower().rstrip("."), found[3] or ""


def is_loopback(address: str) -> bool:
    """Whether this is a loopback address; False for names."""
    try:
        return _address(address).is_loopback
    except ValueError:
        return False


def is_local(request: HTTPConnection) -> bool:
    """Whether a request comes from this machine, by loopback."""
    return request.client is not None and is_loopback(request.client.host)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    found = ipaddress.ip_address(text.partition("%")[0])
    return getattr(found, "ipv4_mapped", None) or found


class HostCheck(HttpMiddleware):
    """Refuses requests whose `Host` is neither a name nor an address of MX."""

    def __init__(self, app: ASGIApp, names: frozenset[str]) -> None:
        super().__init__(app)
        self._names = names

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._is_own(scope):
            raise HTTPException(400, "not a host name of MX: add it to the setting mx_names")
        await self.app(scope, receive, send)

    def _is_own(self, scope: Scope) -> bool:
        hosts = Headers(scope=scope).getlist("host")
        found = split_host(hosts[0]) if len(hosts) == 1 else None
        if found is None:
            return False
        name = found[0]
        return name in self._names or is_loopback(name) or _is_same(name, scope.get("server"))


def _is_same(name: str, server: tuple[str, int] | None) -> bool:
    try:
        return server is not None and _address(name) == _address(server[0])
    except ValueError:
        return False
