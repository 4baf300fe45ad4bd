"""Limits on the size, speed and type of a single request.

Connections are limited in `acceptor`, rates of requests in `rates`, threads in `turns`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import anyio
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from synergy.errors import SynergyError
from synergy.mx.middleware import HttpMiddleware
from synergy.mx.problems import STATUS
from synergy.mx.protection.origins import holders_of
from synergy.mx.protection.shares import Shares

MIB = 1024 * 1024
LARGEST: Final = 17 * MIB  # the largest body; the payload of a schedule may have 16,777,215 bytes
HEADER_BYTES: Final = 16 * 1024  # of all headers
TARGET_BYTES: Final = 8 * 1024  # of path and query
LENGTH_DIGITS: Final = 19  # of a Content-Length; Python does not parse numbers of any length
CHUNK_SECONDS: Final = 30.0  # until the next chunk of a body has to arrive
SLOWEST_BYTES: Final = 4096  # bytes per second of a whole body, after the first CHUNK_SECONDS
ONCE: Final = (  # headers that may be sent once only: they decide about a request
    "authorization",
    "content-type",
    "idempotency-key",
    "origin",
    "sec-fetch-mode",
    "sec-fetch-site",
    "x-csrf-token",
)
FORM = "application/x-www-form-urlencoded"
JSON = "application/json"


def body_limit(method: str, path: str) -> int:
    """The number of bytes that the body of a request may have."""
    if not path.startswith("/api/"):
        return 16 * 1024
    if method in ("POST", "PUT") and f"{path}/".startswith("/api/v1/schedules/"):
        return LARGEST
    return MIB


class HeaderLimit(HttpMiddleware):
    """Refuses requests whose address or headers are too long, or which are ambiguous.

    A request with two kinds of length also ends its connection: a proxy may have found another end
    of it, so what follows could be a request of another client, or one that the proxy never saw.
    """

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        # First, because the other refusals leave the connection open.
        if "transfer-encoding" in headers and "content-length" in headers:
            why = "send Content-Length or Transfer-Encoding, not both"
            raise HTTPException(400, why, {"Connection": "close"})
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > TARGET_BYTES:
            raise HTTPException(414, f"path and query are limited to {TARGET_BYTES:,} bytes")
        if sum(len(name) + len(value) for name, value in scope["headers"]) > HEADER_BYTES:
            raise HTTPException(431, f"headers are limited to {HEADER_BYTES:,} bytes in total")
        if twice := next((name for name in ONCE if len(headers.getlist(name)) > 1), None):
            raise HTTPException(400, f"the header {twice} was sent twice")
        await self.app(scope, receive, send)


class BodyLimit(HttpMiddleware):
    """Refuses bodies that are too large, too slow, or of an unsupported type.

    It also refuses them while the bodies of running requests have too many bytes: all together, or
    those of one user or origin.
    """

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(app)
        self._held = Shares("bytes in bodies of requests", most=8 * LARGEST, share=2 * LARGEST)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        limit = body_limit(scope["method"], scope["path"])
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit() and len(length) <= LENGTH_DIGITS):
            raise HTTPException(400, "Content-Length is not a number")
        if int(length) > limit:
            raise _too_large(limit)
        if int(length) or "transfer-encoding" in headers:
            _check_type(headers, JSON if scope["path"].startswith("/api/") else FORM)
        holders = holders_of(HTTPConnection(scope))
        body = _LimitedBody(receive, limit, lambda size: self._hold(holders, size))
        try:
            await self.app(scope, body, send)
        finally:
            self._held.give_back(*holders, amount=body.held)

    def _hold(self, holders: tuple[str, ...], size: int) -> None:
        try:
            self._held.take(*holders, amount=size)
        except SynergyError as error:  # FastAPI would respond 400
            raise HTTPException(STATUS[type(error)], str(error)) from error


class _LimitedBody:
    """A `receive` that raises HTTPException for a body that is too large or too slow.

    It calls `hold` with the size of each chunk, which may raise; `held` is the sum of the sizes.
    """

    def __init__(self, receive: Receive, limit: int, hold: Callable[[int], None]) -> None:
        self.held = 0
        self._receive = receive
        self._limit = limit
        self._hold = hold
        self._is_over = False
        self._begun: float | None = None  # when the first chunk was awaited

    async def __call__(self) -> Message:
        if self._is_over:
            return await self._receive()
        try:
            with anyio.fail_after(self._timeout()):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(408, "the body arrived too slowly") from None
        self._is_over = not message.get("more_body", False)
        size = len(message.get("body", b""))
        if self.held + size > self._limit:
            raise _too_large(self._limit)
        self._hold(size)
        self.held += size
        return message

    def _timeout(self) -> float:
        """Seconds in which the next chunk has to arrive.

        They also depend on the speed of the body so far: sent byte by byte, it could take days.
        """
        now = anyio.current_time()
        if self._begun is None:
            self._begun = now
        return min(CHUNK_SECONDS, self._begun + CHUNK_SECONDS + self.held / SLOWEST_BYTES - now)


def _check_type(headers: Headers, expected: str) -> None:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != expected or "content-encoding" in headers:
        raise HTTPException(415, f"expected a body of type {expected}, without Content-Encoding")


def _too_large(limit: int) -> HTTPException:
    return HTTPException(413, f"the body is limited to {limit:,} bytes")
