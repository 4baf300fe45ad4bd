"""Boxes: the processes that run on each, and their switches."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import Path
from pydantic import BaseModel

from synergy.errors import NotFound
from synergy.mx.access import Operator, Viewer
from synergy.mx.bodies import MOST, Action, Cursor, Limit, Page, Touched, page_of
from synergy.mx.problems import errors
from synergy.mx.routing import Router
from synergy.mx.services import Services, ServicesDep
from synergy.queries.views import BoxProcess, BoxView

router = Router("boxes")

BoxId = Annotated[str, Path(max_length=200, description="the id of a box")]
Name = Annotated[str, Path(max_length=200, description="the name of a process")]


class Instance(BaseModel):
    """An instance of a process as its supervisor last reported it.

    `memory` is its resident memory in bytes, null if it was not running.
    """

    instance: int
    state: str
    pid: int | None
    since: datetime | None
    restarts: int
    memory: int | None


class ProcessOnBox(BaseModel):
    """A process on a box; `is_on` is null if it is not, or no longer, assigned there.

    If it `is_pooled`, the pool of the box serves it, and it has no instances of its own.
    """

    process: str
    is_on: bool | None
    is_pooled: bool
    instances: list[Instance]

    @staticmethod
    def of(seen: BoxProcess) -> ProcessOnBox:
        return ProcessOnBox(
            process=seen.process,
            is_on=seen.is_on,
            is_pooled=seen.is_pooled,
            instances=[
                Instance(
                    instance=one.instance,
                    state=one.state,
                    pid=one.pid,
                    since=one.since,
                    restarts=one.restarts,
                    memory=memory,
                )
                for one, memory in zip(seen.observed, seen.memory, strict=True)
            ],
        )


class Box(BaseModel):
    """A box. Its supervisor last reported `age` seconds ago; null if it never did.

    The data of a box that `is_silent` may be out of date.
    """

    id: str
    seen_at: datetime | None
    age: float | None
    is_silent: bool
    processes: list[ProcessOnBox]

    @staticmethod
    def of(view: BoxView) -> Box:
        return Box(
            id=view.id,
            seen_at=view.seen_at,
            age=view.age,
            is_silent=view.is_silent,
            processes=[ProcessOnBox.of(one) for one in view.processes],
        )


class Switch(Action):
    """The new state of the process on the box."""

    is_on: bool


class Switched(BaseModel):
    """A process that was switched on a box."""

    box: str
    process: str
    is_on: bool


@router.get("/boxes", response_model=Page[Box])
def list_boxes(services: ServicesDep, _: Viewer, limit: Limit = MOST, cursor: Cursor = None) -> Any:
    """All boxes that have reported or have assigned processes, and what runs there."""
    return page_of([Box.of(view) for view in services.reads.boxes()], limit, cursor)


@router.get("/boxes/{box}/processes/{name}", response_model=ProcessOnBox, responses=errors(404))
def show_process_on_box(services: ServicesDep, _: Viewer, box: BoxId, name: Name) -> Any:
    """A process on a box."""
    return _of(services, box, name)


@router.put(
    "/boxes/{box}/processes/{name}",
    response_model=Touched[Switched],
    responses=errors(404),
)
def switch_process_on_box(
    services: ServicesDep, person: Operator, box: BoxId, name: Name, body: Switch
) -> Any:
    """Switches a process on or off on a box.

    Nothing is touched if it is in that state already.
    """
    services.maintenance.refuse_if_unknown_box(box)
    is_change = services.maintenance.switch_on_box(
        box, name, body.is_on, person.actor(body.reason), services.now, dry_run=body.dry_run
    )
    switched = Switched(box=box, process=name, is_on=body.is_on)
    return Touched(dry_run=body.dry_run, touched=[switched] if is_change else [])


def _of(services: Services, box: str, name: str) -> ProcessOnBox:
    services.maintenance.refuse_if_unknown_box(box)
    for view in services.reads.boxes():
        for process in view.processes:
            if (view.id, process.process) == (box, name):
                return ProcessOnBox.of(process)
    raise NotFound("assignment", f"{name} on box {box}", "GET /boxes lists them")
