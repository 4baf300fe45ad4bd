"""Typed, versioned messages and their encoding.

A message is a hint or an event, never a state: losing, repeating, delaying or reordering
messages changes no result. Nothing in a message is ever run or imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson

from synergy.errors import SynergyError
from synergy.model.value import value

VERSION = 1
_NUMBERS = range(1 << 63)  # the attempts that any store can keep


class BadMessage(SynergyError):
    """A message that cannot be decoded; it belongs into quarantine."""


@value
class UnitMessage:
    """A unit whose attempt may be claimed."""

    unit: str
    attempt: int


@value
class EventsMessage:
    """Events for a daemon that consumes them, in their order of arrival."""

    events: Sequence[Mapping[str, object]]


Message = UnitMessage | EventsMessage


def encode(message: Message) -> bytes:
    """The message as bytes; `decode` returns an equal one."""
    match message:
        case UnitMessage(unit, attempt):
            return orjson.dumps({"v": VERSION, "type": "unit", "unit": unit, "attempt": attempt})
        case EventsMessage(events):
            return orjson.dumps({"v": VERSION, "type": "events", "events": events})


def decode(body: bytes) -> Message:
    """The message; raises BadMessage, with the reason, for bytes that `encode` does not write."""
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadMessage(f"not JSON: {error}") from None
    match data:
        case {"v": int(version)} if version != VERSION:
            raise BadMessage(f"version {version}, expected {VERSION}")
        case {"v": 1, "type": "unit", "unit": str(unit), "attempt": int(attempt)}:
            if attempt not in _NUMBERS:
                raise BadMessage(f"attempt {attempt}, expected a whole number within 63 bits")
            return UnitMessage(unit, attempt)
        case {"v": 1, "type": "events", "events": list(events)} if all(
            isinstance(event, dict) for event in events
        ):
            return EventsMessage(events)
        case _:
            raise BadMessage("neither a unit nor events")
