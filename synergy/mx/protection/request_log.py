"""The log of requests: those that change something, and those that fail, a line each.

It holds no query, header or body: what is secret is in those.
"""

from __future__ import annotations

import logging

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from synergy.clock import Clock
from synergy.mx.access import person_of
from synergy.mx.protection.csrf import SAFE

PATH = 300  # characters of a path

log = logging.getLogger(__name__)


class RequestLog:
    """Logs requests when they are answered."""

    def __init__(self, app: ASGIApp, clock: Clock) -> None:
        self.app = app
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = self._clock.monotonic()
        status = 0

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, watched)
        finally:
            if scope["method"] not in SAFE or status >= 400 or not status:
                _tell(scope, status, self._clock.monotonic() - begun)


def _tell(scope: Scope, status: int, seconds: float) -> None:
    """A line; the status is 0 where the client left before there was an answer."""
    person = person_of(HTTPConnection(scope))
    path = scope["path"][:PATH]
    log.info(
        "%s %s: %s",
        scope["method"],
        path,
        status,
        extra={
            "event": "request.done",
            "method": scope["method"],
            "path": path,
            "status": status,
            "ms": round(seconds * 1000),
            "person": None if person is None else person.name or "local",
            "client": (scope.get("client") or ("",))[0],
        },
    )
