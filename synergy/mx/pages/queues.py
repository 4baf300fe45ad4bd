"""The page of queues: waiting messages, quarantine, and the collector."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import Request
from fastapi.responses import HTMLResponse

from synergy.errors import Refused
from synergy.model.process import DaemonProcess
from synergy.mx.access import Role, Viewer
from synergy.mx.bodies import Cursor
from synergy.mx.pages.addresses import list_links
from synergy.mx.pages.journal_rows import journal_rows
from synergy.mx.pages.render import page
from synergy.mx.routing import Router
from synergy.mx.services import Services, ServicesDep
from synergy.queries.views import PlannedMove

router = Router()

DEAD = 20  # messages in quarantine on a page
LONGEST = 2000  # characters of a message that are shown
PLANNED = 50  # units of the collector's plan that are shown
MOST_RUNS = 100  # dead runs that are counted


@router.get("/queues")
def show_queues(
    request: Request, services: ServicesDep, person: Viewer, cursor: Cursor = None
) -> HTMLResponse:
    """The page; `cursor` is that of the quarantine."""
    dead = services.reads.dead_letters(DEAD, cursor or None, LONGEST)
    collector = services.reads.collector()
    plan, trouble = _plan(services)
    return page(
        request,
        "queues.html",
        queues=services.reads.queues(),
        daemons={
            p.name for p in services.deployment.processes.values() if isinstance(p, DaemonProcess)
        },
        letters=dead.items,
        **list_links("/queues", cursor, dead.next),
        dead_runs=len(services.schedules.dead(MOST_RUNS)),
        most_runs=MOST_RUNS,
        collector=collector,
        rows=journal_rows(collector.runs, services.deployment),
        plan=plan,
        most=PLANNED,
        trouble=trouble,
        may_drop=person.role.may(Role.ADMIN),
    )


def _plan(services: Services) -> tuple[Sequence[PlannedMove], str]:
    """What the collector would do now, or why that is unknown."""
    try:
        return services.reads.collection_plan(), ""
    except Refused as error:
        return (), str(error)
