"""Runs of schedules: request and result; retry, cancel and replay."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import BaseModel, Field
from starlette.convertors import StringConvertor, register_url_convertor

from synergy.model.schedule import Run, RunState
from synergy.mx.access import Operator, Viewer
from synergy.mx.api.definitions import NAME
from synergy.mx.bodies import Action, Cursor, Limit, Page, Touched
from synergy.mx.problems import errors
from synergy.mx.routing import Router
from synergy.mx.services import ServicesDep
from synergy.mx.times import TimesDep
from synergy.queries.schedules.views import RunDetail, RunView

router = Router("runs")


class _RunIdConvertor(StringConvertor):
    """The id of a run, but not a word of the API, such as `replay` in /runs/replay."""

    regex = r"(?!(?:dead|replay)(?:/|\Z))[^/]+"


register_url_convertor("run", _RunIdConvertor())

RunId = Annotated[str, Path(min_length=1, max_length=100, description="the id of a run")]
State = Annotated[RunState | None, Query(description="only those in this state")]
OfSchedule = Annotated[
    str | None, Query(alias="schedule", pattern=NAME, description="only those of this schedule")
]


class TouchedRun(BaseModel):
    """A run after a change; `id` is null for a run that only a dry run would create."""

    id: str | None
    schedule: str
    state: str

    @staticmethod
    def of(run: Run) -> TouchedRun:
        return TouchedRun(id=run.id, schedule=run.schedule, state=run.state.value)


class Replay(Action):
    """The failed runs to launch again: all, or those of one schedule."""

    name: str | None = Field(None, alias="schedule", pattern=NAME)


@router.get("/runs", response_model=Page[RunView], responses=errors(404, 422))
def list_runs(
    services: ServicesDep,
    _: Viewer,
    times: TimesDep,
    schedule: OfSchedule = None,
    state: State = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Any:
    """Runs of all schedules, newest first; `from` and `to` limit the time of their creation."""
    return services.schedules.runs(schedule, state, limit, cursor, times.within)


@router.get("/runs/dead", response_model=Page[RunView], responses=errors(422))
def list_dead_runs(
    services: ServicesDep,
    _: Viewer,
    times: TimesDep,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Any:
    """Runs that have failed and were not launched again, newest first.

    `from` and `to` limit the time of their creation. A page may be shorter than `limit` and have a
    next one.
    """
    return services.schedules.dead_page(limit, cursor, within=times.within)


@router.post("/runs/replay", response_model=Touched[TouchedRun], responses=errors(404, 422))
def replay(services: ServicesDep, person: Operator, body: Replay) -> Any:
    """Launches all dead runs again: failed ones that were not launched again yet."""
    runs = services.schedule_commands.replay(
        body.name, person.actor(body.reason), services.now, dry_run=body.dry_run
    )
    return Touched(dry_run=body.dry_run, touched=list(map(TouchedRun.of, runs)))


@router.get("/runs/{id:run}", response_model=RunDetail, responses=errors(404, 422))
def show_run(services: ServicesDep, person: Viewer, id: RunId) -> Any:
    """A run with its request and responses, without their secrets.

    Viewers see neither headers nor path nor payload of the request, and no body of a response.
    """
    return services.schedules_for(person).run(id)


@router.post(
    "/runs/{id}/retry", response_model=Touched[TouchedRun], responses=errors(404, 409, 422)
)
def retry_run(services: ServicesDep, person: Operator, id: RunId, body: Action) -> Any:
    """Launches a failed run again, with a new budget."""
    who = person.actor(body.reason)
    run = services.schedule_commands.retry(id, who, services.now, dry_run=body.dry_run)
    return Touched(dry_run=body.dry_run, touched=[TouchedRun.of(run)])


@router.post(
    "/runs/{id}/cancel", response_model=Touched[TouchedRun], responses=errors(404, 409, 422)
)
def cancel_run(services: ServicesDep, person: Operator, id: RunId, body: Action) -> Any:
    """Cancels a run that is pending, or launched and not begun."""
    who = person.actor(body.reason)
    run = services.schedule_commands.cancel(id, who, services.now, dry_run=body.dry_run)
    return Touched(dry_run=body.dry_run, touched=[TouchedRun.of(run)])
