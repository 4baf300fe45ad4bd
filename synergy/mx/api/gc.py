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


class Run(Action):
    """The units that the collector checks, and whether it ignores waiting times."""

    process: str = Field("", max_length=200, description="only its units; empty for all")
    flush: bool = False


@router.get("/gc", response_model=CollectorView)
def show_collector(services: ServicesDep, _: Viewer) -> Any:
    """Whether a scheduler runs the collector, its last runs, and the unfinished units."""
    return services.reads.collector()


@router.post("/gc/run", response_model=Touched[PlannedMove], responses=errors(404, 409))
def run_collector(services: ServicesDep, person: Operator, body: Run) -> Any:
    """Asks the scheduler to run the collector now.

    The response predicts its actions, except for lost heartbeats, which only time can show. The
    result is an entry `gc.run` of the journal.
    """
    planned = services.reads.collection_plan(body.process, flush=body.flush)
    if not body.dry_run:
        if not services.reads.is_collected():
            raise Unreachable("no scheduler is running that could run the collector: start one")
        who = person.actor(body.reason)
        services.maintenance.request_collection(body.process, body.flush, who, services.now)
    return Touched(dry_run=body.dry_run, touched=planned)
