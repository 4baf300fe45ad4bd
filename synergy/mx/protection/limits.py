"""How much a request may be, before anybody looks at it."""

from __future__ import annotations

from typing import Final

import anyio
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MIB = 1024 * 1024
HEAD: Final = 16 * 1024  # bytes of all headers
TARGET: Final = 8 * 1024  # bytes of path and query
DIGITS: Final = 19  # of a length; Python reads no number of any length
PATIENCE: Final = 30.0  # seconds until the next piece of a body has to be there
SLOWEST: Final = 4096  # bytes a second that a body has to come with, once PATIENCE is over
FORM = "application/x-www-form-urlencoded"
JSON = "application/json"


def most(method: str, path: str) -> int:
    """Bytes that the body of a request may have.

    What a schedule sends may have 16,777,215 bytes, and there is more in a schedule.
    """
    if not path.startswith("/api/"):
        return 16 * 1024
    if method in ("POST", "PUT") and f"{path}/".startswith("/api/v1/schedules/"):
        return 17 * MIB
    return MIB


class HeaderLimit:
    """Refuses heads that are too long."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > TARGET:
                raise HTTPException(414, f"path and query may have {TARGET:,} bytes")
            if sum(len(name) + len(value) for name, value in scope["headers"]) > HEAD:
                raise HTTPException(431, f"all headers together may have {HEAD:,} bytes")
        await self.app(scope, receive, send)


class BodyLimit:
    """Refuses bodies that are too big, too slow, or not of the type that is understood."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        limit = most(scope["method"], scope["path"])
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit() and len(length) <= DIGITS):
            raise HTTPException(400, "Content-Length is not a number")
        if "transfer-encoding" in headers and "content-length" in headers:
            raise HTTPException(400, "a body has a length or comes in pieces, not both")
        if int(length) > limit:
            raise _too_large(limit)
        if int(length) or "transfer-encoding" in headers:
            _check_type(headers, JSON if scope["path"].startswith("/api/") else FORM)
        await self.app(scope, _Bounded(receive, limit), send)


class _Bounded:
    """What a client sends, as far as it is not too much, and not too slow."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive = receive
        self._limit = limit
        self._size = 0
        self._is_over = False
        self._begun: float | None = None  # when it was first waited for

    async def __call__(self) -> Message:
        if self._is_over:
            return await self._receive()
        try:
            with anyio.fail_after(self._patience()):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(408, "the body came too slowly") from None
        self._is_over = not message.get("more_body", False)
        self._size += len(message.get("body", b""))
        if self._size > self._limit:
            raise _too_large(self._limit)
        return message

    def _patience(self) -> float:
        """Seconds for the next piece: a byte now and then would hold a connection for days."""
        now = anyio.current_time()
        if self._begun is None:
            self._begun = now
        return min(PATIENCE, self._begun + PATIENCE + self._size / SLOWEST - now)


def _check_type(headers: Headers, expected: str) -> None:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != expected or "content-encoding" in headers:
        raise HTTPException(415, f"expected a body of the type {expected}, without encoding")


def _too_large(limit: int) -> HTTPException:
    return HTTPException(413, f"the body may have {limit:,} bytes")
