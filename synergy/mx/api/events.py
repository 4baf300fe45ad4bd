"""Events of other programs: publishing and listing them."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from synergy.commands.events import LONGEST_ID, LONGEST_RESOURCE, MOST_PARTITIONS, warnings
from synergy.model.schedule import Event
from synergy.mx.access import EventPublisher, Viewer
from synergy.mx.api.runs import TouchedRun
from synergy.mx.bodies import WHOLE, Action, Cursor, Limit, Page
from synergy.mx.problems import errors
from synergy.mx.routing import Router
from synergy.mx.services import ServicesDep
from synergy.mx.times import TimesDep
from synergy.queries.schedules.event_effects import Effects, RecordedEvent

router = Router("events")

Type = Literal["FILE", "TABLE", "TIME BASED", "TIME_BASED", "TIME_BASED_CRON", "PARTITION"]
Partitions = Annotated[int, Field(ge=1, le=MOST_PARTITIONS), WHOLE]


class NewEvent(Action):
    """An event. A second one with the same `id` does nothing."""

    type: Type = Field(alias="eventType")
    timestamp: str = Field(
        alias="eventTimestamp",
        min_length=1,
        max_length=LONGEST_ID,
        description="when it happened, with a time of day; UTC unless it says otherwise",
        examples=["2026-11-21T12:00:00Z"],
    )
    resource: str = Field(
        alias="eventResourceId",
        min_length=1,
        max_length=LONGEST_RESOURCE,
        description="a path, or a name",
    )
    id: str | None = Field(None, min_length=1, max_length=LONGEST_ID)
    partitions: Partitions | None = Field(None, description="of a PARTITION; default: 1")

    def item(self) -> Mapping[str, object]:
        """The event without the fields of an action."""
        return self.model_dump(by_alias=True, exclude={"reason", "dry_run"}, exclude_none=True)


class EventView(BaseModel):
    """An event, received `at`, that happened at `timestamp`."""

    number: int
    id: str
    type: str
    resource: str
    timestamp: datetime
    at: datetime
    who: str
    partitions: int | None

    @staticmethod
    def of(event: Event) -> EventView:
        partitions = event.body.get("partitions")
        return EventView(
            number=event.seq,
            id=event.id,
            type=event.type,
            resource=event.resource,
            timestamp=event.timestamp,
            at=event.at,
            who=event.who,
            partitions=partitions if isinstance(partitions, int) else None,
        )


class EventResult(BaseModel):
    """A received event and its effects.

    `touched` are the runs that it caused or contributed to; more may follow until an agent has
    processed it (`is_decided`). `schedules` are those that wait for such events. `is_new` is false
    if an event with this id existed before.
    """

    dry_run: bool
    touched: list[TouchedRun]
    event: EventView
    is_new: bool
    is_decided: bool
    schedules: list[str]
    warnings: list[str]


@router.get("/events", response_model=Page[EventView], responses=errors(422))
def list_events(
    services: ServicesDep,
    _: Viewer,
    times: TimesDep,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Any:
    """Events, newest first; `from` and `to` limit the time when they were received (`at`)."""
    found = services.schedules.events(limit, cursor, within=times.within)
    return {"items": list(map(EventView.of, found.items)), "next": found.next}


@router.post("/events", status_code=202, response_model=EventResult, responses=errors(415, 422))
def publish_event(services: ServicesDep, person: EventPublisher, body: NewEvent) -> Any:
    """Stores an event, and waits a moment for its effects."""
    who = person.actor(body.reason)
    taken = services.schedule_commands.record_event(
        body.item(), who, services.now, dry_run=body.dry_run
    )
    effects = services.schedules.effects_of([taken], threading.Event().wait)
    return _result(taken, effects, dry_run=body.dry_run)


def _result(taken: RecordedEvent, effects: Effects, *, dry_run: bool) -> EventResult:
    return EventResult(
        dry_run=dry_run,
        touched=list(map(TouchedRun.of, effects.runs)),
        event=EventView.of(taken.event),
        is_new=taken.is_new,
        is_decided=effects.is_decided,
        schedules=list(effects.schedules),
        warnings=warnings([taken.event]),
    )
