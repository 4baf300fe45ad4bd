"""Processes: state, switches and triggers."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path
from pydantic import ConfigDict, Field

from synergy.commands.processes import ProcessChange, Triggered
from synergy.errors import InvalidValue
from synergy.mx.access import Operator, Viewer
from synergy.mx.bodies import MOST, Action, Cursor, Limit, Page, Touched, page_of
from synergy.mx.problems import errors
from synergy.mx.routing import Router
from synergy.mx.services import ServicesDep
from synergy.queries.views import ProcessView

router = Router("processes")

Name = Annotated[str, Path(max_length=200, description="the name of a process")]


class Change(Action):
    """Changes of a process; null changes nothing."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"required": ["is_on"], "properties": {"is_on": {"type": "boolean"}}},
                {
                    "required": ["trigger_frequency"],
                    "properties": {"trigger_frequency": {"type": "string"}},
                },
            ]
        }
    )
    is_on: bool | None = None
    trigger_frequency: str | None = Field(
        None, max_length=200, description="every N, at [D-]HH:MM, or cron ..."
    )


@router.get("/processes", response_model=Page[ProcessView])
def list_processes(
    services: ServicesDep, _: Viewer, limit: Limit = MOST, cursor: Cursor = None
) -> Any:
    """All declared processes, in the order of their declaration."""
    return page_of(services.reads.processes(), limit, cursor)


@router.get("/processes/{name}", response_model=ProcessView, responses=errors(404))
def show_process(services: ServicesDep, _: Viewer, name: Name) -> Any:
    """The state of a process."""
    return services.reads.process(name)


@router.patch(
    "/processes/{name}", response_model=Touched[ProcessChange], responses=errors(404, 409)
)
def change_process(services: ServicesDep, person: Operator, name: Name, body: Change) -> Any:
    """Switches a process on or off on all boxes, or changes its trigger.

    Running work continues to its end. Fields that have the value already are not touched.
    """
    if body.is_on is None and body.trigger_frequency is None:
        raise InvalidValue("nothing to change: expected is_on, trigger_frequency or both")
    who = person.actor(body.reason)

    def changes(*, dry_run: bool) -> list[ProcessChange]:
        act, made = services.process_commands, []
        if body.trigger_frequency is not None:
            text = body.trigger_frequency
            made.append(act.set_trigger(name, text, who, services.now, dry_run=dry_run))
        if body.is_on is not None:
            made.append(act.switch(name, body.is_on, who, services.now, dry_run=dry_run))
        return [change for change in made if change is not None]

    touched = changes(dry_run=True)  # raises if any change is impossible, before the first is made
    if not body.dry_run:
        touched = changes(dry_run=False)
    return Touched(dry_run=body.dry_run, touched=touched)


@router.post(
    "/processes/{name}/trigger", response_model=Touched[Triggered], responses=errors(404, 409)
)
def trigger_process(services: ServicesDep, person: Operator, name: Name, body: Action) -> Any:
    """Triggers a managed process, or runs a free-run process, now."""
    who = person.actor(body.reason)
    done = services.process_commands.trigger(name, who, services.now, dry_run=body.dry_run)
    return Touched(dry_run=body.dry_run, touched=[done])
