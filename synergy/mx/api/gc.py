"""The garbage collector: its state, and running it."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from synergy.errors import Unreachable
from synergy.mx.access import Operator, Viewer
from synergy.mx.bodies import Action, Touched
from synergy.mx.problems import errors
from synergy.mx.routing import Router
from synergy.mx.services import ServicesDep
from synergy.queries.views import CollectorView, PlannedMove

router = Router("gc")


class CollectorRequest(Action):
    """A request to run the collector."""

    process: str = Field("", max_length=200, description="Check only its units; empty for all")
    flush: bool = Field(False, description="Ignore back-off and other waiting times")


@router.get("/gc", response_model=CollectorView)
def show_collector(services: ServicesDep, _: Viewer) -> Any:
    """Whether a scheduler runs the collector, its last runs, and the unfinished units."""
    return services.reads.collector()


@router.post("/gc/run", response_model=Touched[PlannedMove], responses=errors(404, 409))
def run_collector(services: ServicesDep, person: Operator, body: CollectorRequest) -> Any:
    """Asks the scheduler to run the collector now.

    The response lists the actions to expect. Units whose worker has stopped its heartbeat are
    missing, because a single look cannot show that it has stopped. The journal has the result, as
    an entry `gc.run`.
    """
    planned = services.reads.collection_plan(body.process, flush=body.flush)
    if not body.dry_run:
        if not services.reads.is_collected():
            raise Unreachable("no scheduler is running that could run the collector: start one")
        who = person.actor(body.reason)
        services.maintenance.request_collection(body.process, body.flush, who, services.now)
    return Touched(dry_run=body.dry_run, touched=planned)
