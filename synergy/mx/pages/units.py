"""The pages of units of work: the list, one unit, its log."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from synergy.model.process import ManagedProcess, WorkingProcess
from synergy.model.unit_of_work import UnitOfWork, UnitState
from synergy.mx.access import Person, Role, Viewer
from synergy.mx.bodies import Cursor
from synergy.mx.pages.addresses import address
from synergy.mx.pages.journal_rows import journal_rows
from synergy.mx.pages.logs import ToLook, log_page
from synergy.mx.pages.render import page, segment
from synergy.mx.services import Services, ServicesDep
from synergy.queries.logs import lines
from synergy.runtime.identity import short_name

router = APIRouter()

PAGE = 100  # units on a page
TAIL = 20  # lines of the log on the page of a unit
STATES = tuple(state.value for state in UnitState)

Process = Annotated[str, Query(max_length=200)]
State = Annotated[str, Query(pattern=f"^({'|'.join(STATES)})?$")]


@router.get("/units")
def list_units(
    request: Request,
    at: ServicesDep,
    person: Viewer,
    process: Process = "",
    state: State = "",
    cursor: Cursor = None,
) -> HTMLResponse:
    """Units, newest first."""
    filters = {"process": process, "state": state}
    wanted = UnitState(state) if state else None
    found = at.reads.units(process or None, wanted, PAGE, cursor or None)
    declared = at.deployment.processes
    return page(
        request,
        "units.html",
        units=found.items,
        filters=filters,
        states=STATES,
        processes=[name for name, one in declared.items() if isinstance(one, WorkingProcess)],
        here=address("/units", **filters, cursor=cursor),
        first=address("/units", **filters),
        following=address("/units", **filters, cursor=found.next) if found.next else "",
        cursor=cursor,
        **_shared(at, person),
    )


@router.get("/units/{id}")
def show_unit(request: Request, at: ServicesDep, person: Viewer, id: str) -> HTMLResponse:
    """The page of a unit."""
    unit = at.reads.unit(id)
    log = at.reads.unit_lines(id)
    return page(
        request,
        "unit.html",
        unit=unit,
        tales=journal_rows(at.reads.unit_journal(unit), at.deployment),
        tail=lines.before(log, log.total + 1, TAIL),
        **_shared(at, person),
    )


@router.get("/units/{id}/log")
def show_unit_log(
    request: Request, at: ServicesDep, _: Viewer, id: str, look: ToLook
) -> HTMLResponse:
    """The log of a unit."""
    unit = at.reads.unit(id)
    place = f"/units/{segment(id)}"
    return log_page(
        request,
        at.reads.unit_lines(id),
        look,
        place=f"{place}/log",
        title=f"Log of {unit.process} {unit.timeperiod}",
        crumbs=(("Units", "/units"), (f"{unit.process} {unit.timeperiod}", place)),
        is_live=not unit.state.is_finished,
    )


def _shared(at: Services, person: Person) -> dict[str, Any]:
    return {
        "may": person.role.may(Role.OPERATOR),
        "short_name": short_name,
        "is_job": lambda unit: _is_job(at, unit),
    }


def _is_job(at: Services, unit: UnitOfWork) -> bool:
    """Whether the job of a unit has a page: its process is still in the timetable."""
    declared = at.deployment.processes.get(unit.process)
    return isinstance(declared, ManagedProcess) and not unit.is_of_run
