"""Runs of one schedule: due times, pending and past runs; trigger, backfill, cancel, retry."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import Query
from pydantic import Field

from synergy.commands.backfill import BackfilledDue
from synergy.commands.run_values import RunValues
from synergy.errors import InvalidValue, NotFound
from synergy.mx.access import Operator, Viewer
from synergy.mx.api.definitions import Definition, Name
from synergy.mx.api.runs import RunId, State, TouchedRun, cancel_run, retry_run
from synergy.mx.bodies import Action, Cursor, Limit, Page, StagedCursor, Touched
from synergy.mx.problems import errors
from synergy.mx.routing import Router
from synergy.mx.services import Services, ServicesDep
from synergy.queries.schedules.views import Preview, RunView
from synergy.queries.schedules.why import ScheduleWhy
from synergy.schedule.format.literals import instant

router = Router("schedules")

Start = Annotated[
    str | None, Query(alias="from", max_length=64, description="an instant, or a day; default: now")
]
End = Annotated[
    str | None, Query(alias="to", max_length=64, description="an instant, or a day; default: none")
]
Few = Annotated[int, Query(ge=1, le=1000, description="how many due times at most")]

_RUN = Touched[TouchedRun]


class Trigger(Action):
    """A run by hand, with values for this run only."""

    arguments: dict[str, Any] | None = Field(
        None, description="for the worker; they override those of the schedule"
    )
    payload: Any = Field(
        None, description="what is sent: a text, which may be a template, or any other value"
    )


class Backfill(Action):
    """The past time whose due times are run."""

    start: str = Field(alias="from", max_length=64, description="an instant, or a day")
    end: str = Field(alias="to", max_length=64, description="the end, not included")


@router.get("/schedules/{name}/runs", response_model=Page[RunView], responses=errors(404, 422))
def list_runs_of_schedule(
    services: ServicesDep,
    _: Viewer,
    name: Name,
    state: State = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Any:
    """The runs of a schedule, newest first; a removed schedule may still have some."""
    return services.schedules.runs(name, state, limit, cursor)


@router.get("/schedules/{name}/pending", response_model=Page[RunView], responses=errors(404, 422))
def list_pending_of_schedule(
    services: ServicesDep, _: Viewer, name: Name, limit: Limit = 100, cursor: StagedCursor = None
) -> Any:
    """Pending runs, and what they wait for.

    The job that collects events is in the state `pending_trigger`, and has no id.
    """
    return services.schedules.pending_page(name, limit, cursor)


@router.get("/schedules/{name}/why", response_model=ScheduleWhy, responses=errors(404, 422))
def explain_schedule(services: ServicesDep, _: Viewer, name: Name) -> Any:
    """Explains what a schedule waits for, and what the newest events did or did not do."""
    return services.schedules.why(name)


@router.get("/schedules/{name}/preview", response_model=Preview, responses=errors(404, 422))
def preview_schedule(
    services: ServicesDep,
    person: Viewer,
    name: Name,
    start: Start = None,
    end: End = None,
    limit: Few = 10,
) -> Any:
    """The next due times, and what would be sent; for viewers without the body."""
    return services.schedules_for(person).preview(name, *_range(start, end), limit)


@router.post("/schedules/preview", response_model=Preview, responses=errors(422))
def preview_definition(
    services: ServicesDep,
    _: Operator,
    body: Definition,
    start: Start = None,
    end: End = None,
    limit: Few = 10,
) -> Any:
    """The next due times of a definition that is not stored, and what would be sent."""
    return services.full_schedules.preview(body.definition, *_range(start, end), limit)


@router.post("/schedules/{name}/trigger", response_model=_RUN, responses=errors(404, 409, 422))
def trigger_schedule(services: ServicesDep, person: Operator, name: Name, body: Trigger) -> Any:
    """Runs a schedule now, enabled or not, and ignores its constraints."""
    who, values = person.actor(body.reason), RunValues(body.arguments, body.payload)
    id_ = services.schedule_commands.trigger(name, who, services.now, values, dry_run=body.dry_run)
    run = TouchedRun(id=None if body.dry_run else id_, schedule=name, state="launched")
    return Touched(dry_run=body.dry_run, touched=[run])


@router.post(
    "/schedules/{name}/backfill",
    response_model=Touched[BackfilledDue],
    responses=errors(404, 409, 422),
)
def backfill_schedule(services: ServicesDep, person: Operator, name: Name, body: Backfill) -> Any:
    """Makes runs for past due times that no run has done.

    They wait for each other, oldest first, and for the constraints of the schedule. A due time with
    a run that succeeded, or has not ended, is left alone.
    """
    start, end = _instant(body.start, "from"), _instant(body.end, "to")
    found = services.schedule_commands.backfill(
        name, start, end, person.actor(body.reason), services.now, dry_run=body.dry_run
    )
    return Touched(dry_run=body.dry_run, touched=found)


@router.post("/schedules/{name}/cancel", response_model=_RUN, responses=errors(404, 409, 422))
def cancel_job(services: ServicesDep, person: Operator, name: Name, body: Action) -> Any:
    """Cancels a one-off job that has not begun."""
    who = person.actor(body.reason)
    run = services.schedule_commands.cancel_job(name, who, services.now, dry_run=body.dry_run)
    return Touched(dry_run=body.dry_run, touched=[TouchedRun.of(run)])


@router.post(
    "/schedules/{name}/runs/{id}/retry", response_model=_RUN, responses=errors(404, 409, 422)
)
def retry_run_of_schedule(
    services: ServicesDep, person: Operator, name: Name, id: RunId, body: Action
) -> Any:
    """Launches a failed run again, with a new budget."""
    _require(services, name, id)
    return retry_run(services, person, id, body)


@router.post(
    "/schedules/{name}/runs/{id}/cancel", response_model=_RUN, responses=errors(404, 409, 422)
)
def cancel_run_of_schedule(
    services: ServicesDep, person: Operator, name: Name, id: RunId, body: Action
) -> Any:
    """Cancels a run that is pending, or launched and not begun."""
    _require(services, name, id)
    return cancel_run(services, person, id, body)


def _require(services: Services, schedule: str, id_: str) -> None:
    """Raises NotFound for a run of another schedule."""
    if services.schedule_commands.run(id_).schedule != schedule:
        raise NotFound("run", id_, f"no run of {schedule} has this id")


def _range(start: str | None, end: str | None) -> tuple[datetime | None, datetime | None]:
    since = None if start is None else _instant(start, "from")
    until = None if end is None else _instant(end, "to")
    if since is not None and until is not None and until < since:
        raise InvalidValue("from is after to")
    return since, until


def _instant(text: str, name: str) -> datetime:
    try:
        return instant(text)
    except InvalidValue as error:
        raise InvalidValue(f"{name}: {error}") from None
