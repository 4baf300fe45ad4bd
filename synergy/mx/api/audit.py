"""The audit: every closed period accounted for."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from synergy.mx.access import Viewer
from synergy.mx.services import ServicesDep
from synergy.queries.timetable.audit_standing import AuditStanding

router = APIRouter(tags=["audit"])

SHORTLY = 1.0  # seconds in which the audit of a small timetable is done

Fresh = Annotated[bool, Query(description="begin a new audit, unless one is under way")]


@router.get(
    "/audit",
    response_model=AuditStanding,
    responses={202: {"model": AuditStanding, "description": "An audit is under way"}},
)
def show_audit(at: ServicesDep, _: Viewer, response: Response, fresh: Fresh = False) -> Any:
    """The newest audit, made by this process of MX.

    An audit reads much where there is much, so it is made aside. A new one is begun if the
    newest is ten minutes old, or if there is none, or with `fresh`. Answers 202 while there is
    none yet, or not the fresh one that was asked for: look again.
    """
    audits = at.audits
    standing = audits.begin() if fresh else audits.standing()
    if standing.is_running and (fresh or standing.result is None):
        audits.wait_for_result(SHORTLY)
        standing = audits.standing()
        if standing.is_running:
            response.status_code = 202
    return standing
