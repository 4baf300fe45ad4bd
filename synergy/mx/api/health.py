"""Health: whether MX is alive, and whether the parts of the deployment are available.

Both use none of the threads of other handlers, which may all be waiting for the store.
"""

from __future__ import annotations

from typing import Any, Literal

import anyio.to_thread
from anyio import CapacityLimiter
from fastapi import Response
from pydantic import BaseModel

from synergy.mx.access import Viewer
from synergy.mx.problems import errors
from synergy.mx.routing import Router
from synergy.mx.services import ServicesDep
from synergy.queries.health.readiness import Readiness

router = Router("health")

_NOT_WELL = "A check failed; or authentication is unavailable, with a problem as the body"


class Alive(BaseModel):
    """MX responds."""

    alive: Literal[True] = True


@router.get("/livez", response_model=Alive)
@router.get("/healthz", response_model=Alive)
async def show_liveness(_: Viewer) -> Any:
    """Responds; checks nothing else."""
    return Alive()


@router.get(
    "/readyz",
    response_model=Readiness,
    responses={503: {**errors(503)[503], "model": Readiness, "description": _NOT_WELL}},
)
async def show_readiness(services: ServicesDep, _: Viewer, response: Response) -> Any:
    """Whether store and bus respond within 2 s, and schedulers, collector and agents run."""
    found = await anyio.to_thread.run_sync(services.health.look, limiter=CapacityLimiter(1))
    if not found.ready:
        response.status_code = 503
    return found
