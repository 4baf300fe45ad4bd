"""The garbage collector: how it stands, and running it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import Field

from synergy.errors import Unreachable
from synergy.mx.access import Operator, Viewer
from synergy.mx.bodies import Asked, Touched
from synergy.mx.problems import answers
from synergy.mx.services import ServicesDep
from synergy.queries.views import CollectorView, PlannedMove

router = APIRouter(tags=["gc"])


class Run(Asked):
    """Which units the collector shall look at, and whether without waiting times."""

    process: str = Field("", max_length=200, description="only its units; empty for all")
    flush: bool = False


@router.get("/gc", response_model=CollectorView)
def show_collector(at: ServicesDep, _: Viewer) -> Any:
    """Whether a scheduler runs the collector, its last runs, and the unfinished units."""
    return at.reads.collector()


@router.post("/gc/run", response_model=Touched[PlannedMove], responses=answers(404, 409))
def run_collector(at: ServicesDep, person: Operator, body: Run) -> Any:
    """Has the scheduler run the collector now.

    The answer says what it would do as far as one look can tell: a heartbeat that has stopped
    only shows with time. What came of it is told by an entry `gc.run` of the journal.
    """
    planned = at.reads.collection_plan(body.process, flush=body.flush)
    if not body.dry_run:
        if not at.reads.is_collected():
            raise Unreachable("no scheduler is at work to run the collector: start one")
        who = person.asks(body.reason)
        at.actions.request_collection(body.process, body.flush, who, at.now)
    return Touched(dry_run=body.dry_run, touched=planned)
