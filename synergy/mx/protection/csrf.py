"""What pages of other sites may do with MX: follow a link to it, and nothing else.

Browsers say where a request comes from (`Sec-Fetch-Site`, `Origin`). Programs do not, and need
not: nobody makes them send what a person's browser would. Who has a session has to send its
token as well, which no other site can read.
"""

from __future__ import annotations

from hmac import compare_digest
from typing import Final

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from synergy.mx.access import person_of
from synergy.mx.problems import Forbidden

SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_PORTS = {"http": "80", "https": "443"}


class CsrfProtection:
    """Refuses what another site asks for, and changes by a session without its token."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            _check(HTTPConnection(scope))
        await self.app(scope, receive, send)


def _check(request: HTTPConnection) -> None:
    method = request.scope["method"]
    if not _comes_from_here(request.headers, method) or (
        method not in SAFE and not _is_own_origin(request)
    ):
        raise Forbidden("this came from another site: ask on a page of MX")
    person = person_of(request)
    if method in SAFE or person is None or not person.csrf:
        return
    if request.url.path.startswith("/api/") and not compare_digest(
        request.headers.get("x-csrf-token", "").encode(), person.csrf.encode()
    ):
        raise Forbidden("X-CSRF-Token is not that of the session: load the page again")


def _comes_from_here(headers: Headers, method: str) -> bool:
    """What the browser says of where a request comes from; links from elsewhere are fine."""
    if headers.get("sec-fetch-site", "none") in ("none", "same-origin"):
        return True
    return method in SAFE and headers.get("sec-fetch-mode") == "navigate"


def _is_own_origin(request: HTTPConnection) -> bool:
    """Whether the page is of this host and port, where the browser names its origin.

    A page by HTTPS is ours although the request came by HTTP: there is a proxy between.
    """
    origin = request.headers.get("origin")
    if origin is None:
        return True
    scheme, _, host = origin.partition("://")
    if scheme not in _PORTS or (scheme == "http" and request.url.scheme == "https"):
        return False
    own = request.headers.get("host", "")
    return _whole(host, scheme) == _whole(own, scheme)


def _whole(host: str, scheme: str) -> str:
    """With the port, which those of a scheme leave out that have its usual one."""
    return host.lower().removesuffix(f":{_PORTS[scheme]}")
