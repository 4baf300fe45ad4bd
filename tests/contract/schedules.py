"""What the tests of schedules in a store share."""

from __future__ import annotations

from synergy.model.schedule import Schedule
from synergy.storage.protocol import Store


def create(store: Store, *schedules: Schedule) -> None:
    assert store.schedules.create(schedules, "me") == []


def names(schedules: list[Schedule]) -> list[str]:
    return [schedule.name for schedule in schedules]
