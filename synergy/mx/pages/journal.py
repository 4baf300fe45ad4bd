"""The journal, newest first, with filters."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request
from fastapi.responses import HTMLResponse

from synergy.model.journal import JournalEntry
from synergy.mx.access import Viewer
from synergy.mx.bodies import LONGEST_PERIOD, Cursor
from synergy.mx.pages.addresses import list_links
from synergy.mx.pages.journal_rows import journal_rows
from synergy.mx.pages.render import page
from synergy.mx.routing import Router
from synergy.mx.services import ServicesDep
from synergy.mx.times import TimesDep
from synergy.queries.page import Page

router = Router()

PAGE = 100  # entries on a page

Name = Annotated[str, Query(max_length=200)]
Period = Annotated[str, Query(max_length=LONGEST_PERIOD)]


@router.get("/journal")
def show_journal(
    request: Request,
    services: ServicesDep,
    _: Viewer,
    times: TimesDep,
    process: Name = "",
    timeperiod: Period = "",
    event: Name = "",
    who: Name = "",
    cursor: Cursor = None,
) -> HTMLResponse:
    """A page of entries; a timeperiod without a process finds nothing."""
    filters = {"process": process, "timeperiod": timeperiod, "event": event, "who": who}
    filters |= times.filters
    found: Page[JournalEntry] = Page((), None)
    if process or not timeperiod:
        found = services.reads.journal(
            process or None,
            timeperiod or None,
            event or None,
            PAGE,
            cursor or None,
            who or None,
            times.within,
        )
    return page(
        request,
        "journal.html",
        filters=filters,
        **list_links("/journal", cursor, found.next, **filters),
        rows=journal_rows(found.items, services.deployment),
        processes=list(services.deployment.processes),
    )
