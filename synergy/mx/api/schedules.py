"""Schedules: listing and changing them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Response

from synergy.model.schedule import Schedule
from synergy.mx.access import Operator, Viewer
from synergy.mx.api.definitions import Configuration, Name, NewDefinition
from synergy.mx.bodies import Action, Limit, NamedCursor, Page, Touched
from synergy.mx.problems import errors
from synergy.mx.routing import Router
from synergy.mx.services import ServicesDep
from synergy.queries.schedules.reads import touched_schedule
from synergy.queries.schedules.views import ScheduleDetail, ScheduleView, TouchedSchedule
from synergy.schedule.format.configurations import with_program

router = Router("schedules")

PLACE = "/api/v1/schedules/"

Prefix = Annotated[str, Query(max_length=100, description="the beginning of the name")]
Program = Annotated[
    str,
    Query(
        max_length=2048,
        description="a process, or the target or destination of requests, such as "
        "https://example.com:443",
    ),
]
Enabled = Annotated[bool | None, Query(description="only enabled, or only disabled ones")]
DefaultProgram = Annotated[
    str, Query(max_length=100, description="the process, if the body names neither it nor a target")
]
Reason = Annotated[str, Query(max_length=1000, description="why, for the journal")]
DryRun = Annotated[bool, Query(description="only predict the change")]


TOUCHED = Touched[TouchedSchedule]

_CREATED: dict[int | str, dict[str, Any]] = {
    200: {"model": TOUCHED, "description": "A dry run; or a one-off job that exists already"},
    201: {"headers": {"Location": {"schema": {"type": "string"}}}},
}


@router.get("/schedules", response_model=Page[ScheduleView], responses=errors(422))
def list_schedules(
    services: ServicesDep,
    _: Viewer,
    q: Prefix = "",
    enabled: Enabled = None,
    program: Program = "",
    limit: Limit = 100,
    cursor: NamedCursor = None,
) -> Any:
    """Schedules by name; of one program, if it is given."""
    return services.schedules.list_schedules(limit, cursor, q, enabled, program)


@router.post(
    "/schedules", status_code=201, response_model=TOUCHED, responses=_CREATED | errors(409, 422)
)
def create_schedule(
    services: ServicesDep,
    person: Operator,
    body: Configuration,
    response: Response,
    program: DefaultProgram = "",
) -> Any:
    """Stores a schedule, disabled unless it has `enabled` or is a one-off job.

    The body has the fields of a schedule file, and optionally `reason` and `dry_run`. With
    `program` it may be a configuration `{name, dependencies}` that names no program.
    """
    who, default = person.actor(body.reason), {"process": program} if program else {}
    (definition,) = with_program([body.definition], default)
    schedule = services.schedule_commands.create(
        definition, who, services.now, dry_run=body.dry_run
    )
    if body.dry_run or schedule.rev > 0:  # it existed before
        response.status_code = 200
    if not body.dry_run:
        response.headers["Location"] = f"{PLACE}{schedule.name}"
    return _touched(schedule, dry_run=body.dry_run)


@router.get("/schedules/{name}", response_model=ScheduleDetail, responses=errors(404, 422))
def show_schedule(services: ServicesDep, person: Viewer, name: Name) -> Any:
    """A schedule, without the secrets in its definition.

    Viewers see neither headers nor path nor payload of a request.
    """
    return services.schedules_for(person).show_schedule(name)


@router.put("/schedules/{name}", response_model=TOUCHED, responses=errors(404, 409, 422))
def replace_schedule(
    services: ServicesDep, person: Operator, name: Name, body: NewDefinition
) -> Any:
    """Replaces the definition of a schedule; past runs are kept, pending ones dropped.

    `***` in a definition keeps the current value. An enabled schedule stays enabled.
    """
    who, what = person.actor(body.reason), body.definition
    schedule = services.schedule_commands.replace(
        name, what, who, services.now, dry_run=body.dry_run
    )
    return _touched(schedule, dry_run=body.dry_run)


@router.delete("/schedules/{name}", response_model=TOUCHED, responses=errors(404, 409, 422))
def remove_schedule(
    services: ServicesDep,
    person: Operator,
    name: Name,
    reason: Reason = "",
    dry_run: DryRun = False,
) -> Any:
    """Removes a schedule; past runs are kept, pending ones dropped."""
    schedule = services.schedule_commands.remove(
        name, person.actor(reason), services.now, dry_run=dry_run
    )
    return _touched(schedule, dry_run=dry_run)


@router.post("/schedules/{name}/enable", response_model=TOUCHED, responses=errors(404, 409, 422))
def enable_schedule(services: ServicesDep, person: Operator, name: Name, body: Action) -> Any:
    """Enables a schedule; earlier events, periods and runs do not count for it."""
    who = person.actor(body.reason)
    schedule = services.schedule_commands.enable(name, who, services.now, dry_run=body.dry_run)
    return _touched(schedule, dry_run=body.dry_run)


@router.post("/schedules/{name}/disable", response_model=TOUCHED, responses=errors(404, 409, 422))
def disable_schedule(services: ServicesDep, person: Operator, name: Name, body: Action) -> Any:
    """Disables a schedule and drops pending runs; launched ones continue to their end."""
    who = person.actor(body.reason)
    schedule = services.schedule_commands.disable(name, who, services.now, dry_run=body.dry_run)
    return _touched(schedule, dry_run=body.dry_run)


def _touched(schedule: Schedule, *, dry_run: bool) -> Touched[TouchedSchedule]:
    return Touched(dry_run=dry_run, touched=[touched_schedule(schedule)])
