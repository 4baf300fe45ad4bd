"""The page of boxes: last report and processes of each."""

from __future__ import annotations

from fastapi import Request
from fastapi.responses import HTMLResponse

from synergy.mx.access import Viewer
from synergy.mx.pages.render import page
from synergy.mx.routing import Router
from synergy.mx.services import ServicesDep

router = Router()


@router.get("/boxes")
def show_boxes(
    request: Request, services: ServicesDep, _: Viewer, part: bool = False
) -> HTMLResponse:
    """All boxes; `part`: only the list, to update a page."""
    return page(
        request,
        "_boxes.html" if part else "boxes.html",
        boxes=services.reads.boxes(),
        declared=services.deployment.processes,
        here=services.box,
    )
