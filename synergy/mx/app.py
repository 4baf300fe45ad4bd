"""The web application: routes, middleware, and the services that run beside them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache

import anyio.to_thread
from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import HTTPConnection
from starlette.routing import BaseRoute, Mount

from synergy.mx import error_responses, openapi
from synergy.mx.accounts.authenticator import Authenticator
from synergy.mx.api import ROUTERS as API
from synergy.mx.api import health, metrics
from synergy.mx.assets import Assets
from synergy.mx.health_cache import HealthCache
from synergy.mx.idempotency import Idempotency
from synergy.mx.operation_runner import OperationRunner
from synergy.mx.pages import router as pages
from synergy.mx.problems import errors
from synergy.mx.protection.auth_middleware import AuthMiddleware
from synergy.mx.protection.csrf import CsrfProtection
from synergy.mx.protection.head_method import HeadMethod
from synergy.mx.protection.headers import SecurityHeaders
from synergy.mx.protection.hosts import HostCheck
from synergy.mx.protection.limits import BodyLimit, HeaderLimit
from synergy.mx.protection.origins import origin_of, user_of
from synergy.mx.protection.proxy import Proxy
from synergy.mx.protection.rates import OF_ORIGIN, OF_USER, RateLimit
from synergy.mx.protection.request_log import RequestLog
from synergy.mx.protection.stream_shutdown import ShutdownSignal, StreamShutdown
from synergy.mx.protection.turns import Turns
from synergy.mx.recording import ActResults, Acts
from synergy.mx.request_metrics import RequestMetrics
from synergy.mx.routing import Router, StrictRoute
from synergy.mx.services import Services

PREFIX = "/api/v1"
COMMON_ERRORS = (400, 401, 403, 414, 422, 429, 431, 503)  # of any request to the API
THREADS = 16  # for handlers; each opens a connection of its own to an embedded store
COMPRESSED = 1024  # bytes of the shortest response that is compressed


def create_app(
    services: Services, authenticator: Authenticator, proxy: Proxy | None = None
) -> FastAPI:
    """The application, behind a `proxy` that may run as another user."""
    shutdown = ShutdownSignal()
    acts = Acts(services.audit_log, services.clock)
    app = FastAPI(
        title="Synergy",
        summary="A timetable for time-partitioned data processing",
        version="1",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        routes=_routes(),
        lifespan=_lifespan,
        middleware=_middleware(services, authenticator, shutdown, acts),
    )
    app.router.route_class = StrictRoute
    app.state.services = services
    app.state.health = HealthCache(services.health, services.clock)
    app.state.authenticator = authenticator
    app.state.shutdown = shutdown
    app.state.acts = acts
    app.state.proxy = proxy or Proxy()
    error_responses.install(app)
    openapi.install(app)
    return app


@cache
def _routes() -> list[BaseRoute]:
    """All routes.

    FastAPI analyses a route at its first request, which takes a hundred times as long as most
    responses. All applications of a process share the result.
    """
    router = Router()
    for each in API:
        router.include_router(each, prefix=PREFIX, responses=errors(*COMMON_ERRORS))
    for each in (openapi.router, health.router, metrics.router, pages):
        router.include_router(each, include_in_schema=False)
    return [*router.routes, Mount("/static", Assets(), name="static")]


def _middleware(
    services: Services, authenticator: Authenticator, shutdown: ShutdownSignal, acts: Acts
) -> list[Middleware]:
    """The middleware, outermost first."""

    def _origin(request: HTTPConnection) -> str | None:
        """The origin of a request; None for the owner of the home, who is not limited."""
        return None if authenticator.is_owner(request) else origin_of(request)

    return [
        Middleware(RequestMetrics, traffic=services.traffic, clock=services.clock),
        Middleware(RequestLog, clock=services.clock),
        Middleware(ActResults, acts=acts),
        Middleware(SecurityHeaders),
        Middleware(GZipMiddleware, minimum_size=COMPRESSED, compresslevel=5),
        Middleware(error_responses.ErrorMiddleware),
        Middleware(StreamShutdown, shutdown=shutdown),
        Middleware(HeadMethod),
        Middleware(HeaderLimit),
        Middleware(HostCheck, names=authenticator.names),
        Middleware(RateLimit, rate=OF_ORIGIN, sender_of=_origin, clock=services.clock),
        Middleware(AuthMiddleware, authenticator=authenticator, acts=acts),
        Middleware(RateLimit, rate=OF_USER, sender_of=user_of, clock=services.clock),
        Middleware(CsrfProtection),
        Middleware(BodyLimit),
        Middleware(Turns),
        Middleware(Idempotency, kept_answers=services.kept_answers, clock=services.clock),
    ]


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
    services: Services = app.state.services
    operations = OperationRunner(services)
    operations.start()  # the other services start with the first request that needs them
    running = (services.stream, services.audits, operations)
    try:
        yield
    finally:
        for service in running:
            service.stop()
