"""Limits on the number of requests, by origin and by user."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from synergy.clock import Clock
from synergy.mx.middleware import HttpMiddleware

MOST: Final = 10_000  # senders that are counted; those that were silent longest are dropped


@dataclass(frozen=True, slots=True)
class Rate:
    """`per_second` requests, and `burst` at once after a pause."""

    per_second: float
    burst: int


OF_ORIGIN: Final = Rate(200.0, 2000)  # several users may share an address
OF_USER: Final = Rate(100.0, 1000)


class Budget:
    """The requests that each sender has left (token buckets), in bounded memory."""

    def __init__(self, rate: Rate, clock: Clock) -> None:
        self._rate = rate
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # requests left, and when

    def wait(self, sender: str) -> float:
        """Seconds until a sender may send a request; if it may now, counts one and returns 0."""
        now = self._clock.monotonic()
        left, since = self._left.get(sender, (float(self._rate.burst), now))
        left = min(left + (now - since) * self._rate.per_second, self._rate.burst)
        is_allowed = left >= 1.0
        self._left[sender] = (left - is_allowed, now)
        self._left.move_to_end(sender)
        if len(self._left) > MOST:
            self._left.popitem(last=False)
        return 0.0 if is_allowed else (1.0 - left) / self._rate.per_second


class RateLimit(HttpMiddleware):
    """Refuses requests of senders that send too many.

    `sender_of` returns None for a request that is not limited.
    """

    def __init__(
        self,
        app: ASGIApp,
        rate: Rate,
        sender_of: Callable[[HTTPConnection], str | None],
        clock: Clock,
    ) -> None:
        super().__init__(app)
        self._sender_of = sender_of
        self._budget = Budget(rate, clock)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        sender = self._sender_of(HTTPConnection(scope))
        wait = 0.0 if sender is None else self._budget.wait(sender)
        if wait > 0:
            retry = {"Retry-After": str(math.ceil(wait))}
            raise HTTPException(429, "too many requests: send them more slowly", retry)
        await self.app(scope, receive, send)
