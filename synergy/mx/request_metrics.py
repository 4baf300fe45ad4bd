"""Metrics of MX itself: requests, their durations, and clients of the stream."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from synergy.clock import Clock
from synergy.mx.middleware import HttpMiddleware
from synergy.queries.metrics.families import NAMESPACE

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
BOUNDS_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
DISCONNECTED = "0"  # the status without a response: the client left, or MX stopped


class Traffic:
    """Counts of one process of MX, from its start; may be used by several threads."""

    def __init__(self, registry: CollectorRegistry, listeners: Callable[[], int]) -> None:
        self._requests = Counter(
            "mx_requests_total", "Requests by the status of their response.",
            ["method", "status"], NAMESPACE, registry=registry,
        )  # fmt: skip
        self._durations = Histogram(
            "mx_request_duration_seconds", "Time from a request to the start of its response.",
            ["method"], NAMESPACE, buckets=BOUNDS_SECONDS, registry=registry,
        )  # fmt: skip
        self._listeners = Gauge(
            "mx_stream_listeners",
            "Clients that are connected to the event stream.",
            (),
            NAMESPACE,
            registry=registry,
        )
        self._listeners.set_function(listeners)

    def count(self, method: str, status: str, seconds: float) -> None:
        """Adds a request."""
        known = method if method in METHODS else "other"
        self._requests.labels(known, status).inc()
        self._durations.labels(known).observe(seconds)


class RequestMetrics(HttpMiddleware):
    """Counts requests when their responses begin, or end without one."""

    def __init__(self, app: ASGIApp, traffic: Traffic, clock: Clock) -> None:
        super().__init__(app)
        self._traffic = traffic
        self._clock = clock

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
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
            count(DISCONNECTED)
