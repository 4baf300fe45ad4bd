"""The form for schedules: fields for common settings, JSON for all others."""

from __future__ import annotations

from fastapi import Request, Response

from synergy.mx.access import Operator
from synergy.mx.pages.render import page
from synergy.mx.pages.schedules import name_of
from synergy.mx.routing import Router
from synergy.mx.services import Services, ServicesDep
from synergy.schedule.check_context import OF_JOBS
from synergy.schedule.zones import names

router = Router()


@router.get("/schedules/new")
def new_schedule(request: Request, services: ServicesDep, _: Operator) -> Response:
    """An empty form."""
    return _form(request, services, "", {})


@router.get("/schedules/{name}/edit")
def edit_schedule(request: Request, services: ServicesDep, _: Operator, name: str) -> Response:
    """The form with the current definition, without its secrets."""
    seen = services.full_schedules.show_schedule(name_of(name))
    return _form(request, services, seen.name, dict(seen.definition))


def _form(
    request: Request, services: Services, name: str, definition: dict[str, object]
) -> Response:
    return page(
        request,
        "schedule_form.html",
        name=name,
        definition=definition,
        free=sorted(services.deployment.freerun()),
        managed=sorted(services.deployment.managed()),
        statuses=OF_JOBS,
        zones=names(),
    )
