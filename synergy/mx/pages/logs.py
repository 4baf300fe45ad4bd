"""The pages of logs: the files of this box, and the viewer of any log."""

from __future__ import annotations

from typing import Annotated, TypeVar

from fastapi import Query, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, Field

from synergy.mx.access import Viewer
from synergy.mx.bodies import HIGHEST_LINE, LogLevel
from synergy.mx.pages.addresses import address
from synergy.mx.pages.render import page, segment
from synergy.mx.routing import Router
from synergy.mx.services import ServicesDep
from synergy.queries.logs import lines
from synergy.queries.logs.lines import LEVELS, Log, LogSlice, Wanted

router = Router()

Raw = TypeVar("Raw")

PAGE = 500  # lines on a page for reading without script
Number = Annotated[int | None, Field(ge=1, le=HIGHEST_LINE)]


class Look(BaseModel):
    """The part of a log to show: from, before or after a line; by default the newest lines.

    `all` also shows lines that do not match; only the script supports it.
    """

    q: str = Field("", max_length=200)
    level: LogLevel = ""
    all: bool = False
    line: Number = None
    before: Number = None
    after: Annotated[int | None, Field(ge=0, le=HIGHEST_LINE)] = None


ToLook = Annotated[Look, Query()]


@router.get("/logs")
def list_logs(request: Request, services: ServicesDep, _: Viewer) -> HTMLResponse:
    """The log files of this box."""
    return page(request, "logs.html", logs=services.logs.all(), box=services.box)


@router.get("/logs/{name}")
def show_log(
    request: Request, services: ServicesDep, _: Viewer, name: str, look: ToLook
) -> HTMLResponse:
    """A log file."""
    with services.logs.open(name) as log:
        return log_page(
            request,
            log,
            look,
            place=f"/logs/{segment(name)}",
            title=f"Log of {name}",
            crumbs=(("Logs", "/logs"),),
            is_live=True,
        )


def log_page(
    request: Request,
    log: Log[Raw],
    look: Look,
    *,
    place: str,
    title: str,
    crumbs: tuple[tuple[str, str], ...],
    is_live: bool,
) -> HTMLResponse:
    """The viewer of the log at `place`; `is_live` if lines may still be added."""
    found = _slice(log, look)
    filters = {"q": look.q, "level": look.level}
    return page(
        request,
        "log.html",
        slice=found,
        look=look,
        place=place,
        title=title,
        crumbs=crumbs,
        is_live=is_live,
        levels=LEVELS,
        newest=address(place, **filters),
        older=_side(place, filters, "before", found.previous),
        newer=_side(place, filters, "after", found.next),
    )


def _slice(log: Log[Raw], look: Look) -> LogSlice:
    wanted = Wanted(look.q, look.level)
    after = look.after if look.line is None else look.line - 1
    if after is not None:
        return lines.after(log, after, PAGE, wanted)
    return lines.before(log, look.before or HIGHEST_LINE, PAGE, wanted)


def _side(place: str, filters: dict[str, str], side: str, number: int | None) -> str:
    return "" if number is None else address(place, **filters, **{side: str(number)})
