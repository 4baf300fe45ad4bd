"""Queues: their waiting messages, and messages in quarantine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Path
from pydantic import BaseModel, Field

from synergy.mx.access import Admin, Operator, Viewer
from synergy.mx.bodies import MOST, WHOLE, Action, Cursor, Limit, Page, Touched, page_of
from synergy.mx.problems import errors
from synergy.mx.routing import Router
from synergy.mx.services import ServicesDep
from synergy.queries.quarantine import DeadLetter
from synergy.queries.views import QueueView

router = Router("queues")

Name = Annotated[str, Path(max_length=200, description="the name of a queue")]
Seq = Annotated[int, Field(ge=1, le=2**53), WHOLE]  # the largest exact integer in JavaScript

LONGEST = 10_000  # characters of a message that are shown
QUARANTINE = "quarantine"


class Replay(Action):
    """The messages to send again; null for all."""

    seqs: list[Seq] | None = Field(None, min_length=1, max_length=1000)


class Moved(BaseModel):
    """Messages of a queue that were sent to it again, or dropped."""

    queue: str
    messages: int


@router.get("/queues", response_model=Page[QueueView])
def list_queues(
    services: ServicesDep, _: Viewer, limit: Limit = MOST, cursor: Cursor = None
) -> Any:
    """The queue of each process, and any other that holds messages."""
    return page_of(services.reads.queues(), limit, cursor)


@router.get("/queues/dead", response_model=Page[DeadLetter])
def list_dead_letters(
    services: ServicesDep, _: Viewer, limit: Limit = 100, cursor: Cursor = None
) -> Any:
    """Messages in quarantine, newest first."""
    return services.reads.dead_letters(limit, cursor, LONGEST)


@router.post("/queues/dead/replay", response_model=Touched[Moved], responses=errors(404, 409))
def replay_dead_letters(services: ServicesDep, person: Operator, body: Replay) -> Any:
    """Sends messages in quarantine to their queues again; none if one of `seqs` is missing."""
    who = person.actor(body.reason)
    counts = services.maintenance.replay(body.seqs, who, services.now, dry_run=body.dry_run)
    return _touched(counts, dry_run=body.dry_run)


@router.post("/queues/dead/purge", response_model=Touched[Moved], responses=errors(409))
def purge_dead_letters(services: ServicesDep, person: Admin, body: Action) -> Any:
    """Drops all messages in quarantine."""
    dropped = services.maintenance.purge_dead(
        person.actor(body.reason), services.now, dry_run=body.dry_run
    )
    return _touched({QUARANTINE: dropped}, dry_run=body.dry_run)


@router.post("/queues/{name}/purge", response_model=Touched[Moved], responses=errors(404, 409))
def purge_queue(services: ServicesDep, person: Admin, name: Name, body: Action) -> Any:
    """Drops all messages that wait in a queue.

    Messages for workers are hints, which the collector sends again; events are lost.
    """
    dropped = services.maintenance.purge(
        name, person.actor(body.reason), services.now, dry_run=body.dry_run
    )
    return _touched({name: dropped}, dry_run=body.dry_run)


def _touched(counts: Mapping[str, int], *, dry_run: bool) -> Touched[Moved]:
    moved = [Moved(queue=queue, messages=number) for queue, number in counts.items() if number]
    return Touched(dry_run=dry_run, touched=moved)
