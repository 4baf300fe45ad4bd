"""The page of queues: waiting messages, quarantine, and the collector."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from synergy.errors import Refused
from synergy.model.process import DaemonProcess
from synergy.mx.access import Role, Viewer
from synergy.mx.bodies import Cursor
from synergy.mx.pages.addresses import address
from synergy.mx.pages.journal_rows import journal_rows
from synergy.mx.pages.render import page
from synergy.mx.services import Services, ServicesDep
from synergy.queries.views import PlannedMove

router = APIRouter()

DEAD = 20  # messages in quarantine on a page
LONGEST = 2000  # characters of one that are shown
PLANNED = 50  # units of the collector's plan that are shown
MOST_RUNS = 100  # dead runs that are counted


@router.get("/queues")
def show_queues(
    request: Request, at: ServicesDep, person: Viewer, cursor: Cursor = None
) -> HTMLResponse:
    """The page; `cursor` is that of the quarantine."""
    dead = at.reads.dead_letters(DEAD, cursor or None, LONGEST)
    collector = at.reads.collector()
    plan, trouble = _plan(at)
    return page(
        request,
        "queues.html",
        queues=at.reads.queues(),
        daemons={p.name for p in at.deployment.processes.values() if isinstance(p, DaemonProcess)},
        letters=dead.items,
        here=address("/queues", cursor=cursor),
        following=address("/queues", cursor=dead.next) if dead.next else "",
        cursor=cursor,
        dead_runs=len(at.schedules.dead(MOST_RUNS)),
        most_runs=MOST_RUNS,
        collector=collector,
        runs=journal_rows(collector.runs, at.deployment),
        plan=plan,
        most=PLANNED,
        trouble=trouble,
        may=person.role.may(Role.OPERATOR),
        may_drop=person.role.may(Role.ADMIN),
    )


def _plan(at: Services) -> tuple[Sequence[PlannedMove], str]:
    """What the collector would do now, or why that is unknown."""
    try:
        return at.reads.collection_plan(), ""
    except Refused as error:
        return (), str(error)
