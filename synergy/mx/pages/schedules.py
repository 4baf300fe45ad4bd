"""The pages of schedules: the list, and one schedule."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from fastapi import Query, Request, Response

from synergy.errors import NotFound
from synergy.model.schedule import RunState
from synergy.mx.access import Viewer
from synergy.mx.bodies import Cursor
from synergy.mx.pages.addresses import list_links
from synergy.mx.pages.render import page
from synergy.mx.routing import Router
from synergy.mx.services import Services, ServicesDep
from synergy.queries.schedules.reads import ScheduleReads
from synergy.queries.schedules.views import Preview, RunView, ScheduleDetail
from synergy.schedule.check_context import InvalidDefinition

router = Router()

PAGE = 50  # schedules on a page
DEAD = 100  # dead runs that are counted
MOST_PENDING = 20  # runs that are shown with a schedule
LAST_RUNS = 10
SEARCHED = 100  # newest runs that are searched for the last runs that are not pending

Prefix = Annotated[str, Query(max_length=100)]
Shown = Annotated[Literal["all", "enabled", "disabled", "failing"], Query()]


@router.get("/schedules")
def list_schedules(
    request: Request,
    services: ServicesDep,
    _: Viewer,
    q: Prefix = "",
    show: Shown = "all",
    cursor: Cursor = None,
) -> Response:
    """Schedules by name; failing ones come first, on the first page."""
    is_first = cursor is None and not q and show == "all"
    failing = services.schedules.failing(PAGE) if is_first or show == "failing" else []
    following = None
    if show == "failing":
        schedules = [one for one in failing if one.name.startswith(q)]
    else:
        is_enabled = None if show == "all" else show == "enabled"
        found = services.schedules.list_schedules(PAGE, cursor, q, is_enabled)
        following = found.next
        failed = {one.name for one in failing}
        schedules = [*failing, *(one for one in found.items if one.name not in failed)]
    return page(
        request,
        "schedules.html",
        schedules=schedules,
        failing=len(failing) if is_first else 0,
        **list_links("/schedules", cursor, following, q=q, show=show),
        q=q,
        show=show,
        dead=len(services.schedules.dead(DEAD)),
        local=local,
    )


@router.get("/schedules/{name}")
def show_schedule(request: Request, services: ServicesDep, person: Viewer, name: str) -> Response:
    """The page of a schedule."""
    schedules = services.schedules_for(person)
    seen = schedules.show_schedule(name_of(name))
    preview, why_none = _preview(schedules, seen)
    return page(
        request,
        "schedule.html",
        schedule=seen,
        why=schedules.why(seen.name),
        preview=preview,
        why_none=why_none,
        runs=_last_runs(services, seen.name),
        most=MOST_PENDING,
        definition=json.dumps(seen.definition, indent=2, ensure_ascii=False),
        local=local,
    )


def name_of(place: str) -> str:
    """The schedule in an address; a leading `~` distinguishes it from pages such as `new`."""
    return place.removeprefix("~")


def local(at: datetime, zone: str) -> str:
    """An instant in a time zone."""
    return f"{at.astimezone(ZoneInfo(zone)):%a %Y-%m-%d %H:%M %z}"


def _last_runs(services: Services, name: str) -> list[RunView]:
    """The newest runs, without pending ones."""
    newest = services.schedules.runs(name, limit=SEARCHED).items
    return [run for run in newest if not RunState(run.state).is_pending][:LAST_RUNS]


def _preview(schedules: ScheduleReads, seen: ScheduleDetail) -> tuple[Preview | None, str]:
    """The next due times; None and the reason for a definition that is no longer valid."""
    try:
        return schedules.preview(seen.name), ""
    except InvalidDefinition as error:
        return None, str(error)
    except NotFound:  # it was removed just now
        return None, "The schedule was removed."
