"""Records events from outside.

The store recognizes an event that is sent again by its id (`Events.append`): it has no effect.
Events are checked together and stored all or none. An agent then applies them to the schedules that
listen; `queries.schedules.event_effects` returns what they caused.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from synergy.errors import InvalidValue
from synergy.messaging.protocol import Bus
from synergy.model.actor import Actor
from synergy.model.schedule import Event
from synergy.names import AGENT_TOPIC
from synergy.queries.schedules.event_effects import RecordedEvent
from synergy.schedule.format.literals import (
    instant,
    readable_duration,
    readable_instant,
    shown,
    suggestion,
)
from synergy.storage.protocol import Store

LONGEST_RESOURCE = 2048  # characters
LONGEST_ID = 256
MOST_PARTITIONS = 10**9
MOST_AHEAD = timedelta(minutes=5)  # clocks differ; beyond that a timestamp is a mistake

_TYPES = {
    "FILE": "FILE",
    "TABLE": "TABLE",
    "TIME BASED": "TIME BASED",
    "TIME_BASED": "TIME BASED",
    "TIME_BASED_CRON": "TIME BASED",
    "PARTITION": "PARTITION",
}
_FIELDS = ("eventType", "eventTimestamp", "eventResourceId", "id", "partitions")
_FROM_A_ROOT = re.compile("/|[A-Za-z][A-Za-z0-9+.-]+:/")
_UNWRITABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


class InvalidEvents(InvalidValue):
    """Raised for invalid events; `mistakes` lists what is wrong with all of them."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        super().__init__("; ".join(mistakes))
        self.mistakes = tuple(mistakes)


def record_events(
    store: Store,
    bus: Bus,
    items: Sequence[Mapping[str, object]],
    actor: Actor,
    now: datetime,
    *,
    dry_run: bool = False,
) -> list[RecordedEvent]:
    """Stores events `{eventType, eventTimestamp, eventResourceId, id?, partitions?}`.

    An event without an id is always a new one. Raises InvalidEvents, and stores none, if any of
    them is invalid.
    """
    events = read_events(items, actor, now)
    if dry_run:
        return [RecordedEvent(event, True) for event in events]
    with store.batch() as batch:
        recorded = [RecordedEvent(event, is_new) for event, is_new in store.events.append(events)]
        batch.after_commit(lambda: bus.notify(AGENT_TOPIC))
    return recorded


def warnings(events: Sequence[Event]) -> list[str]:
    """Warnings about events that are valid but probably not intended."""
    found = []
    for number, event in enumerate(events, 1):
        where = f"event {number}: " if len(events) > 1 else ""
        if event.type == "FILE" and not _FROM_A_ROOT.match(event.resource):
            found.append(
                f"{where}{shown(event.resource)} is neither a path from / nor one like "
                "s3://bucket/key: schedules that wait for such a path ignore it"
            )
        if event.type != "PARTITION" and "partitions" in event.body:
            found.append(
                f"{where}partitions of a {event.type} are ignored: only a PARTITION has them"
            )
    return found


def read_events(items: Sequence[Mapping[str, object]], actor: Actor, now: datetime) -> list[Event]:
    """The events of these items; raises InvalidEvents with all mistakes."""
    mistakes: list[str] = []
    events: list[Event] = []
    for number, item in enumerate(items, 1):
        try:
            events.append(_read(item, actor, now))
        except InvalidValue as error:
            mistakes.append(f"event {number}: {error}" if len(items) > 1 else str(error))
    if mistakes:
        raise InvalidEvents(mistakes)
    return events


def _read(item: Mapping[str, object], actor: Actor, now: datetime) -> Event:
    if not isinstance(item, Mapping):
        raise InvalidValue(f"expected an object with {', '.join(_FIELDS[:3])}")
    for field in item:
        if field not in _FIELDS:
            raise InvalidValue(f"unknown field {field!r:.60}: {suggestion(str(field), _FIELDS)}")
    partitions = _partitions(item)
    return Event(
        id=_id(item),
        type=_type(item),
        resource=_text(item, "eventResourceId", LONGEST_RESOURCE),
        timestamp=_timestamp(item, now),
        at=now,
        who=actor.who,
        body={} if partitions is None else {"partitions": partitions},
    )


def _text(item: Mapping[str, object], field: str, longest: int) -> str:
    """A text that is not blank, and that every store can hold."""
    value = item.get(field)
    if value is None:
        raise InvalidValue(f"{field} is missing")
    if not isinstance(value, str) or not value.strip():
        raise InvalidValue(f"{field}: expected a text, not {shown(value)}")
    if len(value) > longest:
        raise InvalidValue(f"{field}: {len(value):,} characters, at most {longest:,} are allowed")
    if _UNWRITABLE.search(value):
        raise InvalidValue(f"{field}: {shown(value)} has characters that cannot be stored")
    return value


def _type(item: Mapping[str, object]) -> str:
    given = _text(item, "eventType", LONGEST_ID)
    found = _TYPES.get(given)
    if found is None:
        raise InvalidValue(
            f"eventType: {shown(given)} is unknown: expected FILE, TABLE, TIME BASED or PARTITION"
        )
    return found


def _timestamp(item: Mapping[str, object], now: datetime) -> datetime:
    """An instant, with a time of day; one without a zone is UTC.

    One far ahead is refused: of events with a lifetime it would hold off all real ones until then.
    """
    text = _text(item, "eventTimestamp", LONGEST_ID).strip()
    if len(text) == len("2026-11-21"):
        raise InvalidValue(f"eventTimestamp: {shown(text)} has no time of day")
    try:
        found = instant(text)
    except InvalidValue as error:
        raise InvalidValue(f"eventTimestamp: {error}") from None
    if found > now + MOST_AHEAD:
        raise InvalidValue(
            f"eventTimestamp: {shown(text)} is more than {readable_duration(MOST_AHEAD)} ahead of "
            f"this machine's clock, {readable_instant(now)}: send the time "
            "of the event, in UTC or with an offset"
        )
    return found


def _id(item: Mapping[str, object]) -> str:
    if item.get("id") is None:
        return secrets.token_hex(12)
    return _text(item, "id", LONGEST_ID)


def _partitions(item: Mapping[str, object]) -> int | None:
    value = item.get("partitions")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_PARTITIONS:
        raise InvalidValue(
            f"partitions: expected a whole number, 1 to {MOST_PARTITIONS:,}, not {shown(value)}"
        )
    return value
