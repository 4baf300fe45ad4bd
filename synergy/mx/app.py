"""The web application: routes, and what stands before all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache

import anyio.to_thread
from fastapi import APIRouter, FastAPI
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import BaseRoute, Mount

from synergy.mx import failures, openapi
from synergy.mx.accounts.authenticator import Authenticator
from synergy.mx.api import ROUTERS as API
from synergy.mx.api import health, metrics
from synergy.mx.assets import Assets
from synergy.mx.idempotency import Idempotency
from synergy.mx.operation_runner import OperationRunner
from synergy.mx.pages import router as pages
from synergy.mx.problems import answers
from synergy.mx.protection.auth_middleware import AuthMiddleware
from synergy.mx.protection.csrf import CsrfProtection
from synergy.mx.protection.head_method import HeadMethod
from synergy.mx.protection.headers import StrictHeaders
from synergy.mx.protection.hosts import Hosts
from synergy.mx.protection.limits import BodyLimit, HeaderLimit
from synergy.mx.protection.request_log import RequestLog
from synergy.mx.protection.stream_shutdown import ShutdownSignal, StreamShutdown
from synergy.mx.services import Services
from synergy.mx.traffic import Counting
from synergy.mx.verdict_cache import VerdictCache

PREFIX = "/api/v1"
ANYWHERE = (400, 401, 403, 414, 422, 429, 431, 503)  # what any request to the API may come to
THREADS = 16  # for handlers; each opens a connection of its own to an embedded store
COMPRESSED = 1024  # bytes from which on answers are compressed


def create_app(services: Services, guard: Authenticator | None = None) -> FastAPI:
    """The application over a services; without a guard, everybody at this machine is let in."""
    guard = guard or Authenticator()
    app = FastAPI(
        title="Synergy",
        summary="A timetable for time-partitioned data processing",
        version="1",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        routes=_routes(),
        lifespan=_life,
        middleware=_middleware(services, guard, ending := ShutdownSignal()),
    )
    app.state.services = services
    app.state.troubles = VerdictCache(services.health, services.clock)
    app.state.guard = guard
    app.state.ending = ending
    failures.install(app)
    openapi.install(app)
    return app


@cache
def _routes() -> list[BaseRoute]:
    """All routes, whatever the services.

    FastAPI works out what a route takes when a request first comes near it, which takes a hundred
    times as long as most answers: that is done once for all applications of a process.
    """
    router = APIRouter()
    for each in API:
        router.include_router(each, prefix=PREFIX, responses=answers(*ANYWHERE))
    for each in (openapi.router, health.router, metrics.router, pages):
        router.include_router(each, include_in_schema=False)
    return [*router.routes, Mount("/static", Assets(), name="static")]


def _middleware(
    services: Services, guard: Authenticator, ending: ShutdownSignal
) -> list[Middleware]:
    """What each request passes, in this order."""
    return [
        Middleware(Counting, traffic=services.traffic, clock=services.clock),
        Middleware(RequestLog, clock=services.clock),
        Middleware(StrictHeaders),
        Middleware(GZipMiddleware, minimum_size=COMPRESSED, compresslevel=5),
        Middleware(failures.Failures),
        Middleware(StreamShutdown, ending=ending),
        Middleware(HeadMethod),
        Middleware(HeaderLimit),
        Middleware(Hosts, names=guard.names),
        Middleware(AuthMiddleware, guard=guard),
        Middleware(CsrfProtection),
        Middleware(BodyLimit),
        Middleware(Idempotency, answering=services.answering, clock=services.clock),
    ]


@asynccontextmanager
async def _life(app: FastAPI) -> AsyncIterator[None]:
    anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
    services: Services = app.state.services
    operations = OperationRunner(services)
    operations.start()  # the others start with the first request that needs them
    running = (services.stream, services.audits, operations)
    try:
        yield
    finally:
        for service in running:
            service.stop()
