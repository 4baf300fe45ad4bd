"""The page of events: their effects, and a form to publish one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import Query, Request
from fastapi.responses import HTMLResponse

from synergy.model.schedule import Event, Run
from synergy.mx.access import Role, Viewer
from synergy.mx.bodies import Cursor
from synergy.mx.pages.addresses import list_links
from synergy.mx.pages.render import page
from synergy.mx.routing import Router
from synergy.mx.services import Services, ServicesDep
from synergy.mx.times import TimesDep
from synergy.queries.schedules.event_effects import RecordedEvent, causes

router = Router()

PAGE = 50  # events on a page
TYPES = ("FILE", "TABLE", "PARTITION", "TIME BASED")

Kind = Annotated[Literal["", "FILE", "TABLE", "PARTITION", "TIME BASED"], Query(alias="type")]
Text = Annotated[str, Query(alias="q", max_length=200)]


@router.get("/events")
def show_events(
    request: Request,
    services: ServicesDep,
    person: Viewer,
    times: TimesDep,
    kind: Kind = "",
    text: Text = "",
    cursor: Cursor = None,
) -> HTMLResponse:
    """Events, newest first, each with the runs that it caused."""
    found = services.schedules.events(PAGE, cursor or None, kind, text, times.within)
    runs, is_decided = _effects(services, found.items)
    filters = {"type": kind, "q": text, **times.filters}
    return page(
        request,
        "events.html",
        events=found.items,
        runs=runs,
        is_decided=is_decided,
        filters=filters,
        types=TYPES,
        may=person.role.may(Role.EVENTS),
        **list_links("/events", cursor, found.next, **filters),
    )


def _effects(services: Services, events: Sequence[Event]) -> tuple[dict[str, list[Run]], bool]:
    """The runs of each event by its id, and whether an agent has processed all of them."""
    came = services.schedules.effects_of(
        [RecordedEvent(event, False) for event in events], lambda seconds: None
    )
    runs: dict[str, list[Run]] = {event.id: [] for event in events}
    for run in came.runs:
        for id_ in causes(run) & runs.keys():
            runs[id_].append(run)
    return runs, came.is_decided
