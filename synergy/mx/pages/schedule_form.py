"""The form for schedules: fields for common settings, JSON for all."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from synergy.mx.access import Operator
from synergy.mx.pages.render import page
from synergy.mx.pages.schedules import name_of
from synergy.mx.services import Services, ServicesDep
from synergy.schedule.known import OF_JOBS
from synergy.schedule.zones import names

router = APIRouter()


@router.get("/schedules/new")
def new_schedule(request: Request, at: ServicesDep, _: Operator) -> Response:
    """An empty form."""
    return _form(request, at, "", {})


@router.get("/schedules/{name}/edit")
def edit_schedule(request: Request, at: ServicesDep, _: Operator, name: str) -> Response:
    """The form with the current definition, without its secrets."""
    seen = at.schedules.show_schedule(name_of(name))
    return _form(request, at, seen.name, dict(seen.definition))


def _form(request: Request, at: Services, name: str, definition: dict[str, object]) -> Response:
    return page(
        request,
        "schedule_form.html",
        name=name,
        definition=definition,
        free=sorted(at.deployment.freerun()),
        managed=sorted(at.deployment.managed()),
        statuses=OF_JOBS,
        zones=names(),
    )
