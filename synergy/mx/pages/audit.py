"""The audit: whether every closed period is accounted for."""

from __future__ import annotations

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from synergy.mx.access import Viewer
from synergy.mx.pages.render import page
from synergy.mx.routing import Router
from synergy.mx.services import ServicesDep

router = Router()

SHOWN = 200  # periods in each table of the page


@router.get("/audit")
def show_audit(request: Request, services: ServicesDep, _: Viewer, fresh: bool = False) -> Response:
    """The newest audit; `fresh` starts a new one, unless one is running."""
    standing = services.audits.newest(fresh=fresh)
    if fresh:
        return RedirectResponse("/audit", 303)
    return page(request, "audit.html", standing=standing, most=SHOWN)
