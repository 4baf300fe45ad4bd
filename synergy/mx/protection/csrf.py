"""CSRF protection: pages of other sites may link to MX, and nothing else.

Browsers name the origin of a request (`Sec-Fetch-Site`, `Origin`). Other programs send no origin
and are not checked: a site cannot make them send requests. A change with a session also needs the
token of the session, which no other site can read: in a header for the API, which is checked here,
or in a field of a form (`forms`).
"""

from __future__ import annotations

from hmac import compare_digest
from typing import Final

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import Receive, Scope, Send

from synergy.mx.access import person_of
from synergy.mx.middleware import HttpMiddleware
from synergy.mx.problems import Forbidden

SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_PORTS = {"http": "80", "https": "443"}


class CsrfProtection(HttpMiddleware):
    """Refuses requests of other sites, and changes by the API with a session but not its token."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        _check(HTTPConnection(scope))
        await self.app(scope, receive, send)


def _check(request: HTTPConnection) -> None:
    method = request.scope["method"]
    if not _is_same_site(request.headers, method) or (
        method not in SAFE and not _is_own_origin(request)
    ):
        raise Forbidden("cross-site request refused: use a page of MX")
    person = person_of(request)
    if method in SAFE or person is None or not person.csrf:
        return
    if request.url.path.startswith("/api/") and not compare_digest(
        request.headers.get("x-csrf-token", "").encode(), person.csrf.encode()
    ):
        raise Forbidden("X-CSRF-Token does not match the session: reload the page")


def _is_same_site(headers: Headers, method: str) -> bool:
    """Whether fetch metadata allows a request: from this site, or by following a link."""
    if headers.get("sec-fetch-site", "none") in ("none", "same-origin"):
        return True
    return method in SAFE and headers.get("sec-fetch-mode") == "navigate"


def _is_own_origin(request: HTTPConnection) -> bool:
    """Whether the origin is this host and port, or missing.

    The origin may be HTTPS although the request came by HTTP: then a proxy terminates TLS.
    """
    origin = request.headers.get("origin")
    if origin is None:
        return True
    scheme, _, host = origin.partition("://")
    if scheme not in _PORTS or (scheme == "http" and request.url.scheme == "https"):
        return False
    own = request.headers.get("host", "")
    return _without_default_port(host, scheme) == _without_default_port(own, scheme)


def _without_default_port(host: str, scheme: str) -> str:
    return host.lower().removesuffix(f":{_PORTS[scheme]}")
