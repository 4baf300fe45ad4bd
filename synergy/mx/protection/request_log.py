"""The log of requests that change something or fail, one line for each.

A line holds no query, header or body, because these may hold secrets. A sender that floods MX does
not push earlier lines out of the log: its lines about requests that changed nothing are bounded.
"""

from __future__ import annotations

import logging
from typing import Final

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from synergy.clock import Clock
from synergy.mx.access import person_of
from synergy.mx.middleware import HttpMiddleware
from synergy.mx.protection.csrf import SAFE
from synergy.mx.protection.origins import origin_of, user_of
from synergy.mx.protection.rates import Budget, Rate

LONGEST_METHOD = 20  # characters that are logged
LONGEST_PATH = 300
REFUSED: Final = Rate(0.2, 100)  # lines of each user or origin about requests that changed nothing

log = logging.getLogger(__name__)


class RequestLog(HttpMiddleware):
    """Logs requests that change something or fail, when their responses end."""

    def __init__(self, app: ASGIApp, clock: Clock) -> None:
        super().__init__(app)
        self._clock = clock
        self._budget = Budget(REFUSED, clock)
        self._left_out = 0  # lines left out since the last one was written

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
                self._note(HTTPConnection(scope), status, self._clock.monotonic() - begun)

    def _note(self, request: HTTPConnection, status: int, seconds: float) -> None:
        """Logs a request, or counts it as left out; the status is 0 if the client left before."""
        is_change = person_of(request) is not None and 0 < status < 400
        if not is_change and self._budget.wait(user_of(request) or origin_of(request)) > 0:
            self._left_out += 1
            return
        left_out, self._left_out = self._left_out, 0
        _log(request.scope, status, seconds, {"left_out": left_out} if left_out else {})


def _log(scope: Scope, status: int, seconds: float, more: dict[str, int]) -> None:
    person = person_of(HTTPConnection(scope))
    method, path = scope["method"][:LONGEST_METHOD], scope["path"][:LONGEST_PATH]
    log.info(
        "%s %s: %s",
        method,
        path,
        status,
        extra={
            "event": "request.done",
            "method": method,
            "path": path,
            "status": status,
            "ms": round(seconds * 1000),
            "person": None if person is None else person.name or "local",
            "client": (scope.get("client") or ("",))[0],
            **more,
        },
    )
