"""Parts of definitions as they are read."""

from __future__ import annotations

from datetime import UTC, datetime

from synergy.schedule import trigger
from synergy.schedule.check_context import Known
from synergy.schedule.definition import (
    Definition,
    DeliveryProgram,
    Times,
)
from synergy.schedule.format.read import read

ANY = Known()
EVERY_MINUTE = Times(trigger.parse("every 60"))
NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


def hook(**fields: object) -> Definition:
    return read({"name": "s", "target": "https://a.b/c", "trigger": "every 60", **fields}, ANY)


def payload(value: object) -> str:
    program = hook(payload=value).program
    assert isinstance(program, DeliveryProgram)
    return program.payload


def job(**fields: object) -> Definition:
    data = {"target": "https://a.b/c", "when": "2026-11-22T12:00:00Z", "payload": "x"}
    return read({**data, **fields}, ANY)
