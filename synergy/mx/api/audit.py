"""The audit: whether every closed period is accounted for."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Response

from synergy.mx.access import Viewer
from synergy.mx.routing import Router
from synergy.mx.services import ServicesDep
from synergy.queries.timetable.audit_progress import AuditStanding

router = Router("audit")

Fresh = Annotated[bool, Query(description="start a new audit, unless one is running")]


@router.get(
    "/audit",
    response_model=AuditStanding,
    responses={202: {"model": AuditStanding, "description": "An audit is running"}},
)
def show_audit(services: ServicesDep, _: Viewer, response: Response, fresh: Fresh = False) -> Any:
    """The newest audit, made by this process of MX.

    Audits run in the background. A new one starts with `fresh`, or if there is none, or if the
    newest is older than ten minutes (30 seconds, if it found unexplained, failed or given-up
    periods) and older than 50 times its duration. Responds 202 while the requested audit is
    running: ask again.
    """
    standing = services.audits.newest(fresh=fresh)
    if standing.is_running and (fresh or standing.result is None):
        response.status_code = 202
    return standing
