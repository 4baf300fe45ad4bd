"""Builders of model objects; fields that a test does not name get plausible values."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

from synergy.model.job import JobChange, JobState
from synergy.model.journal import JournalEntry
from synergy.model.unit_of_work import (
    Conclusion,
    Document,
    Hint,
    SinkWrite,
    UnitChange,
    UnitOfWork,
    UnitState,
    unit_id,
)
from synergy.timeperiod import Qualifier

QUARTER = timezone(timedelta(hours=5, minutes=45))
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)
TICK = timedelta(microseconds=1)  # the smallest difference between two instants
HOUR = "2026112110"
NEXT_HOUR = "2026112111"
TYPED = {
    "at": datetime(2026, 11, 22, 23, 59, 59, 999999, tzinfo=QUARTER),
    "day": date(2026, 11, 22), "hour": time(1, 2, 3), "took": timedelta(days=-1, microseconds=1),
    "id": UUID(int=1 << 127), "price": Decimal("-1.10E+3"), "raw": b"\0\xff",
    "high": (1 << 64) - 1, "low": -(1 << 63), "flag": True, "one": 1, "zero": -0.0, "least": 5e-324,
}  # fmt: skip


def a_unit(process: str = "SiteHourly", timeperiod: str = HOUR, **fields: Any) -> UnitOfWork:
    """A requested unit of an hourly job."""
    given = {"generation": 1, "start_id": 0, "end_id": 0, "created_at": NOW, **fields}
    end = Qualifier.HOURLY.timeperiod(Qualifier.HOURLY.parse(timeperiod) + 1)
    key = (given["generation"], given["start_id"], given["end_id"])
    given.setdefault("id", unit_id(process, timeperiod, *key))
    return UnitOfWork(
        process=process,
        timeperiod=timeperiod,
        start_timeperiod=timeperiod,
        end_timeperiod=end,
        **given,
    )


def some_units(count: int, process: str = "SiteHourly", **fields: Any) -> list[UnitOfWork]:
    """Units of neighbouring hours."""
    first = Qualifier.HOURLY.parse(HOUR)
    hours = (Qualifier.HOURLY.timeperiod(first + n) for n in range(count))
    return [a_unit(process, hour, **fields) for hour in hours]


def a_hint(unit: UnitOfWork) -> Hint:
    """The message for the unit's present attempt."""
    return Hint(unit.id, unit.attempt)


def a_move(first: int = 500_000, last: int | None = None, **fields: Any) -> JobChange:
    """A move of the hourly jobs `first` to `last` out of embryo."""
    given: dict[str, Any] = {
        "process": "SiteHourly",
        "qualifier": Qualifier.HOURLY,
        "before": JobState.EMBRYO,
        "after": JobState.IN_PROGRESS,
        "generation": 1,
        "why": "",
        "who": "a test",
        **fields,
    }
    return JobChange(first=first, last=first if last is None else last, **given)


def a_unit_move(unit: UnitOfWork, after: UnitState, **fields: Any) -> UnitChange:
    """A move of the unit from its present state and attempt."""
    given: dict[str, Any] = {"why": "so it is", "who": "a test", **fields}
    return UnitChange(unit.id, unit.state, unit.attempt, after, **given)


def a_conclusion(
    unit: UnitOfWork, owner: str, state: UnitState = UnitState.PROCESSED, **fields: Any
) -> Conclusion:
    """The end of the unit's present attempt."""
    return Conclusion(unit.id, unit.attempt, owner, state, **fields)


def a_sink_write(
    *documents: tuple[str, dict[str, Any]],
    collection: str = "site_hourly",
    timeperiod: str = HOUR,
    end: str = NEXT_HOUR,
) -> SinkWrite:
    """The rows (key, body) of one hour."""
    rows = tuple(Document(key, timeperiod, body) for key, body in documents)
    return SinkWrite(collection, timeperiod, end, rows)


def an_entry(event: str = "scheduler.started", **fields: Any) -> JournalEntry:
    """A journal entry that belongs to no job."""
    given: dict[str, Any] = {
        "at": NOW,
        "process": "",
        "first": "",
        "last": "",
        "before": "",
        "after": "",
        "generation": 0,
        "why": "",
        "who": "a test",
        **fields,
    }
    return JournalEntry(event=event, **given)
