"""The audit: whether every closed period is accounted for."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from synergy.mx.access import Viewer
from synergy.mx.pages.render import page
from synergy.mx.services import ServicesDep

router = APIRouter()

SHORTLY = 1.0  # seconds that a response waits for a running audit
SHOWN = 200  # unexplained periods on the page


@router.get("/audit")
def show_audit(request: Request, at: ServicesDep, _: Viewer, fresh: bool = False) -> Response:
    """The newest audit; `fresh` starts a new one."""
    audits = at.audits
    if fresh:
        audits.begin()
        audits.wait_for_result(SHORTLY)
        return RedirectResponse("/audit", 303)
    if audits.standing().result is None:
        audits.wait_for_result(SHORTLY)
    return page(request, "audit.html", standing=audits.standing(), most=SHOWN)
