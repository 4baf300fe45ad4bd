"""The log of requests that change something or fail, one line for each.

A line holds no query, header or body, because these may hold secrets.
"""

from __future__ import annotations

import logging

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from synergy.clock import Clock
from synergy.mx.access import person_of
from synergy.mx.middleware import HttpMiddleware
from synergy.mx.protection.csrf import SAFE

LONGEST_PATH = 300  # characters

log = logging.getLogger(__name__)


class RequestLog(HttpMiddleware):
    """Logs requests when their responses end."""

    def __init__(self, app: ASGIApp, clock: Clock) -> None:
        super().__init__(app)
        self._clock = clock

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
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
                _log(scope, status, self._clock.monotonic() - begun)


def _log(scope: Scope, status: int, seconds: float) -> None:
    """Logs a request; the status is 0 if the client left before the response."""
    person = person_of(HTTPConnection(scope))
    path = scope["path"][:LONGEST_PATH]
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
