"""Units of work: list, detail and log; cancel and retry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Annotated, Any, Self

from fastapi import Path, Query
from pydantic import BaseModel, Field

from synergy.model.journal import JournalEntry
from synergy.model.unit_of_work import UnitOfWork, UnitState
from synergy.mx.access import Operator, Person, Viewer
from synergy.mx.api.logs import READ, ToFind, ToRead, as_text, read
from synergy.mx.bodies import Action, Cursor, Limit, Page, Touched
from synergy.mx.problems import errors
from synergy.mx.routing import Router
from synergy.mx.services import Services, ServicesDep
from synergy.mx.times import TimesDep
from synergy.queries.logs import lines
from synergy.queries.logs.lines import LogSlice, Matches
from synergy.queries.logs.unit_logs import UnitLog
from synergy.visible_text import visible

router = Router("units")

Id = Annotated[str, Path(min_length=1, max_length=100, description="the id of a unit")]
OfProcess = Annotated[
    str | None, Query(min_length=1, max_length=200, description="only those of this process")
]
State = Annotated[UnitState | None, Query(description="only those in this state")]


class UnitView(BaseModel):
    """A unit of work: one request to a worker, for `[start_timeperiod, end_timeperiod)`.

    `attempt` counts how often it was handed out; `failures` are attempts that failed or were lost.
    `owner` is the worker that holds it, or held it last. `run` is the id of the run that it
    executes, null for a unit of a job.
    """

    id: str
    process: str
    timeperiod: str
    generation: int
    start_timeperiod: str
    end_timeperiod: str
    start_id: int
    end_id: int
    created_at: datetime
    state: str = Field(json_schema_extra={"enum": [state.value for state in UnitState]})
    attempt: int
    failures: int
    not_before: datetime | None
    published_at: datetime | None
    owner: str | None
    heartbeat: int
    started_at: datetime | None
    finished_at: datetime | None
    counts: Mapping[str, int]
    reason: str
    run: str | None

    @classmethod
    def of(cls, unit: UnitOfWork, **more: Any) -> Self:
        known = {field.name: getattr(unit, field.name) for field in fields(unit)}
        run = unit.id if unit.is_of_run else None
        return cls(**{**known, "state": unit.state.value}, run=run, **more)


class UnitDetail(UnitView):
    """A unit with its journal entries, oldest first."""

    story: list[JournalEntry]
    log_lines: int


class TouchedUnit(BaseModel):
    """A unit that was, or would be, changed."""

    id: str
    process: str
    timeperiod: str
    before: str
    after: str


@router.get("/units", response_model=Page[UnitView], responses=errors(422))
def list_units(
    services: ServicesDep,
    _: Viewer,
    times: TimesDep,
    process: OfProcess = None,
    state: State = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Any:
    """Units, newest first; `from` and `to` limit the time of their creation."""
    page = services.reads.units(process, state, limit, cursor, times.within)
    return {"items": list(map(UnitView.of, page.items)), "next": page.next}


@router.get("/units/{id}", response_model=UnitDetail, responses=errors(404, 422))
def show_unit(services: ServicesDep, _: Viewer, id: Id) -> Any:
    """A unit, with the journal of its attempts."""
    unit = services.reads.unit(id)
    story, lines = services.reads.unit_journal(unit), services.reads.unit_lines(id).total
    return UnitDetail.of(unit, story=story, log_lines=lines)


@router.get("/units/{id}/log", response_model=LogSlice, responses=READ | errors(404, 422))
def read_unit_log(services: ServicesDep, _: Viewer, id: Id, ask: ToRead) -> Any:
    """The log of a unit; `event` is the attempt."""
    log = services.reads.unit_lines(id)
    return as_text(_text(log), f"unit-{id}") if ask.format == "text" else read(log, ask)


@router.get("/units/{id}/log/matches", response_model=Matches, responses=errors(404, 422))
def find_in_unit_log(services: ServicesDep, _: Viewer, id: Id, ask: ToFind) -> Any:
    """The numbers of the lines with a text or level."""
    return lines.matches(services.reads.unit_lines(id), ask.after, ask.limit, ask.wanted)


@router.post(
    "/units/{id}/cancel", response_model=Touched[TouchedUnit], responses=errors(404, 409, 422)
)
def cancel_unit(services: ServicesDep, person: Operator, id: Id, body: Action) -> Any:
    """Cancels an unfinished unit: its job fails, or is given up; its run is canceled."""
    return _move(services, person, id, body, UnitState.CANCELED)


@router.post(
    "/units/{id}/retry", response_model=Touched[TouchedUnit], responses=errors(404, 409, 422)
)
def retry_unit(services: ServicesDep, person: Operator, id: Id, body: Action) -> Any:
    """Hands out a failed unit of a job again at once, and resets its failures."""
    return _move(services, person, id, body, UnitState.REQUESTED)


def _move(
    services: Services, person: Person, id_: str, body: Action, after: UnitState
) -> Touched[TouchedUnit]:
    unit = services.reads.unit(id_)
    act = (
        services.unit_commands.cancel
        if after is UnitState.CANCELED
        else services.unit_commands.retry
    )
    act(unit, person.actor(body.reason), services.now, dry_run=body.dry_run)
    touched = TouchedUnit(
        id=unit.id,
        process=unit.process,
        timeperiod=unit.timeperiod,
        before=unit.state.value,
        after=after.value,
    )
    return Touched(dry_run=body.dry_run, touched=[touched])


def _text(log: UnitLog) -> Iterator[str]:
    for number, raw in enumerate(log.after(0), 1):
        line = log.line(number, raw)
        yield visible(f"{line.at} {line.event} {line.level}: {line.message.rstrip()}") + "\n"
