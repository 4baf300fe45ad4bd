"""The pages of units of work: the list, one unit, its log."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import Query, Request
from fastapi.responses import HTMLResponse

from synergy.model.process import ManagedProcess, WorkingProcess
from synergy.model.unit_of_work import UnitOfWork, UnitState
from synergy.mx.access import Viewer
from synergy.mx.bodies import Cursor
from synergy.mx.pages.addresses import list_links
from synergy.mx.pages.journal_rows import journal_rows
from synergy.mx.pages.logs import ToLook, log_page
from synergy.mx.pages.render import page, segment
from synergy.mx.routing import Router
from synergy.mx.services import Services, ServicesDep
from synergy.mx.times import TimesDep
from synergy.queries.logs import lines

router = Router()

PAGE = 100  # units on a page
TAIL = 20  # lines of the log on the page of a unit
STATES = tuple(state.value for state in UnitState)

Process = Annotated[str, Query(max_length=200)]
State = Annotated[str, Query(pattern=f"^({'|'.join(STATES)})?$")]


@router.get("/units")
def list_units(
    request: Request,
    services: ServicesDep,
    _: Viewer,
    times: TimesDep,
    process: Process = "",
    state: State = "",
    cursor: Cursor = None,
) -> HTMLResponse:
    """Units, newest first."""
    filters = {"process": process, "state": state, **times.filters}
    wanted = UnitState(state) if state else None
    found = services.reads.units(process or None, wanted, PAGE, cursor or None, times.within)
    declared = services.deployment.processes
    return page(
        request,
        "units.html",
        units=found.items,
        filters=filters,
        states=STATES,
        processes=[name for name, one in declared.items() if isinstance(one, WorkingProcess)],
        **list_links("/units", cursor, found.next, **filters),
        is_job=partial(_is_job, services),
    )


@router.get("/units/{id}")
def show_unit(request: Request, services: ServicesDep, _: Viewer, id: str) -> HTMLResponse:
    """The page of a unit."""
    unit = services.reads.unit(id)
    log = services.reads.unit_lines(id)
    return page(
        request,
        "unit.html",
        unit=unit,
        rows=journal_rows(services.reads.unit_journal(unit), services.deployment),
        tail=lines.before(log, log.total + 1, TAIL),
        is_job=partial(_is_job, services),
    )


@router.get("/units/{id}/log")
def show_unit_log(
    request: Request, services: ServicesDep, _: Viewer, id: str, look: ToLook
) -> HTMLResponse:
    """The log of a unit."""
    unit = services.reads.unit(id)
    place = f"/units/{segment(id)}"
    return log_page(
        request,
        services.reads.unit_lines(id),
        look,
        place=f"{place}/log",
        title=f"Log of {unit.process} {unit.timeperiod}",
        crumbs=(("Units", "/units"), (f"{unit.process} {unit.timeperiod}", place)),
        is_live=not unit.state.is_finished,
    )


def _is_job(services: Services, unit: UnitOfWork) -> bool:
    """Whether a unit has a job whose process is still in the timetable."""
    declared = services.deployment.processes.get(unit.process)
    return isinstance(declared, ManagedProcess) and not unit.is_of_run
