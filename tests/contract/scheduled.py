"""Small builders for schedules, runs and events."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from synergy.model.schedule import (
    Event,
    Run,
    RunChange,
    RunState,
    Schedule,
    ScheduleChange,
    run_id,
)
from synergy.storage.protocol import Store
from tests.factories import NOW

ODD = (
    "a b", "a|b", "a.b", "$where", "'; --", '"', "\\", "%", "*", "Zürich", "東京", "🏃", "e\u0301",
    "é", "\t", "x" * 1_000,
)  # fmt: skip
"""Names with characters that a query or a format could misread."""


def a_schedule(name: str = "nightly", **fields: Any) -> Schedule:
    """Returns a schedule that is switched on and has no time to wake."""
    given = {
        "definition": {"trigger": "every 300"},
        "is_enabled": True,
        "created_at": NOW,
        "changed_at": NOW,
        **fields,
    }
    return Schedule(name=name, **given)


def a_run(key: str = "due:1", schedule: str = "nightly", **fields: Any) -> Run:
    """Returns a run that waits for its constraints."""
    given = {
        "id": run_id(schedule, key),
        "due_at": NOW,
        "version": 1,
        "state": RunState.PENDING_CONSTRAINT,
        "program": "Cleaner",
        "created_at": NOW,
        **fields,
    }
    return Run(schedule=schedule, key=key, **given)


def an_event(id_: str = "e-1", **fields: Any) -> Event:
    """Returns the event of a file that arrived."""
    given = {"type": "FILE", "resource": "/data/a", "timestamp": NOW, "at": NOW, **fields}
    return Event(id=id_, **given)


def a_change(
    schedule: Schedule, *, event: str = "", who: str = "", **fields: Any
) -> ScheduleChange:
    """The schedule with other fields."""
    return ScheduleChange(replace(schedule, **fields), event, "so it is" if event else "", who)


def a_run_change(run: Run, **fields: Any) -> RunChange:
    """The run with other fields."""
    return RunChange(replace(run, **fields), "so it is", "an agent")


def the_schedule(store: Store, name: str = "nightly") -> Schedule:
    """The schedule as it is stored."""
    (found,) = store.schedules.get([name])
    return found


def the_run(store: Store, run: Run) -> Run:
    """The run as it is stored."""
    (found,) = store.runs.get([run.id])
    return found
