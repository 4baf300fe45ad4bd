"""What MX counts of itself: requests, how long they took, and who listens."""

from __future__ import annotations

from collections.abc import Iterator

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from synergy.clock import Clock
from synergy.queries.metrics.exposition import Counter, Durations, gauge

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
GONE = "0"  # the status where the client left before there was an answer


class Traffic:
    """Counts of one process of MX, from its start; may be used by several threads."""

    def __init__(self) -> None:
        self._requests = Counter(
            "mx_requests_total", "Requests that were answered.", "method", "status"
        )
        self._durations = Durations(
            "mx_request_duration_seconds", "From a request to the beginning of its answer.",
            BOUNDS, "method",
        )  # fmt: skip

    def count(self, method: str, status: str, seconds: float) -> None:
        """Adds a request."""
        known = method if method in METHODS else "other"
        self._requests.count(known, status)
        self._durations.observe(seconds, known)

    def lines(self, listeners: int) -> Iterator[str]:
        """All of it, in Prometheus' text form."""
        yield from self._requests.lines()
        yield from self._durations.lines()
        yield from gauge("mx_stream_listeners", "Who follows the stream.", [({}, listeners)])


class Counting:
    """Counts requests when their answers begin."""

    def __init__(self, app: ASGIApp, traffic: Traffic, clock: Clock) -> None:
        self.app = app
        self._traffic = traffic
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun, is_counted = self._clock.monotonic(), False

        def count(status: str) -> None:
            nonlocal is_counted
            if not is_counted:
                is_counted = True
                self._traffic.count(scope["method"], status, self._clock.monotonic() - begun)

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                count(str(message["status"]))
            await send(message)

        try:
            await self.app(scope, receive, counted)
        finally:
            count(GONE)
