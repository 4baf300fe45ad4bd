"""Reads documents of Synergy 1 and 2: jobs, units of work, switches of boxes, and processes.

Every function raises InvalidValue for a document that it does not understand. Object ids are
texts here, and dates know their zone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from synergy.errors import InvalidValue
from synergy.model.box import BOX_ID
from synergy.model.job import JobState
from synergy.model.unit_of_work import UnitState
from synergy.schedule.format.literals import shown, suggestion
from synergy.timeperiod import Qualifier

Document = Mapping[str, object]
Documents = Iterable[tuple[str, str, Document]]
"""Documents with their collection and their place, for messages."""

_JOBS = {
    **dict.fromkeys(("embryo", "in_progress", "final_run"), JobState.EMBRYO),
    "processed": JobState.PROCESSED,
    "noop": JobState.NOOP,
    "skipped": JobState.SKIPPED,
}
_UNITS = {
    **dict.fromkeys(("requested", "in_progress", "invalid", "canceled"), UnitState.CANCELED),
    "processed": UnitState.PROCESSED,
    "noop": UnitState.NOOP,
}
_FREERUN = "type_freerun"
_LARGEST = 2**63
_OBJECT_ID = re.compile(r"[0-9a-f]{24}", re.ASCII)


@dataclass(frozen=True, slots=True)
class OlderJob:
    """A job; its state is EMBRYO if it was not finished. `unit` is the id of its last unit."""

    process: str
    timeperiod: str
    state: JobState
    unit: str


@dataclass(frozen=True, slots=True)
class OlderUnit:
    """A unit of work, which is finished here; `was` is the state that it had."""

    id: str
    process: str
    timeperiod: str
    start: str
    end: str
    state: UnitState
    was: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    failures: int
    counts: Mapping[str, int]
    is_of_run: bool


@dataclass(frozen=True, slots=True)
class OlderSwitch:
    """Whether a process is switched on for a box."""

    box: str
    process: str
    is_on: bool


@dataclass(frozen=True, slots=True)
class OlderProcess:
    """The switch and the trigger of a managed process, as they were set at run time."""

    name: str
    is_on: bool
    trigger: str


@dataclass(frozen=True, slots=True)
class OlderEntry:
    """An entry of a free-run process: a schedule."""

    name: str
    process: str
    is_on: bool
    trigger: str
    arguments: Mapping[str, object]


def job(document: Document) -> list[OlderJob]:
    """The job in a document of `job_hourly`, `job_daily`, `job_monthly` or `job_yearly`."""
    state = _state(document, _JOBS)
    unit = _text(document, "related_unit_of_work", optional=True)
    return [OlderJob(_process(document), _timeperiod(document, "timeperiod"), _JOBS[state], unit)]


def unit(document: Document) -> list[OlderUnit]:
    """The unit in a document of `unit_of_work`."""
    was = _state(document, _UNITS)
    kind = _text(document, "unit_of_work_type", optional=True)
    is_of_run = kind == _FREERUN
    timeperiod, start, end = ("",) * 3 if is_of_run else _periods(document)
    created_at = _instant(document, "created_at") or _instant(document, "submitted_at")
    if created_at is None:
        raise InvalidValue("created_at is missing")
    numbers = {
        "processed": _number(document, "number_of_processed_documents"),
        "aggregated": _number(document, "number_of_aggregated_documents"),
    }
    return [
        OlderUnit(
            id=_id(document),
            process=_process(document),
            timeperiod=timeperiod,
            start=start,
            end=end,
            state=_UNITS[was],
            was=was,
            created_at=created_at,
            started_at=_instant(document, "started_at"),
            finished_at=_instant(document, "finished_at"),
            failures=_number(document, "number_of_retries"),
            counts=MappingProxyType({name: number for name, number in numbers.items() if number}),
            is_of_run=is_of_run,
        )
    ]


def switches(document: Document) -> list[OlderSwitch]:
    """The switches in a document of `box_configuration`; version 1 has those of a box in one."""
    box = _text(document, "box_id")
    if not BOX_ID.fullmatch(box):
        raise InvalidValue(f"box_id: {shown(box)}: expected letters, digits and . _ -, at most 64")
    listed = document.get("process_list")
    if listed is None:
        return [OlderSwitch(box, _process(document), _flag(document, "is_on"))]
    if not isinstance(listed, Mapping):
        raise InvalidValue(f"process_list: expected an object, not {shown(listed)}")
    return [
        OlderSwitch(box, _text({"process": name}, "process"), _is_on(entry))
        for name, entry in listed.items()
    ]


def process(document: Document) -> list[OlderProcess]:
    """The process in a document of `managed_process`."""
    trigger = _text(document, "trigger_frequency", optional=True)
    return [OlderProcess(_process(document), _flag(document, "is_on"), trigger)]


def entry(document: Document) -> list[OlderEntry]:
    """The entry in a document of `freerun_process`."""
    arguments = document.get("arguments") or {}
    if not isinstance(arguments, Mapping):
        raise InvalidValue(f"arguments: expected an object, not {shown(arguments)}")
    trigger, name = _text(document, "trigger_frequency"), _text(document, "entry_name")
    return [OlderEntry(name, _process(document), _flag(document, "is_on"), trigger, arguments)]


Records = (
    list[OlderJob] | list[OlderUnit] | list[OlderSwitch] | list[OlderProcess] | list[OlderEntry]
)
READERS: Mapping[str, Callable[[Document], Records]] = {
    **dict.fromkeys(("job_hourly", "job_daily", "job_monthly", "job_yearly"), job),
    "unit_of_work": unit,
    "box_configuration": switches,
    "managed_process": process,
    "freerun_process": entry,
}
"""By collection, the function that reads a document of it."""


def _process(document: Document) -> str:
    return _text(document, "process_name")


def _state(document: Document, states: Mapping[str, object]) -> str:
    """The word of a state, without the prefix of older versions."""
    word = _text(document, "state").removeprefix("state_")
    if word not in states:
        raise InvalidValue(f"state: {shown(word)} is unknown: {suggestion(word, states)}")
    return word


def _is_on(listed: object) -> bool:
    """Whether an item of `process_list` is switched on."""
    state = listed.get("state") if isinstance(listed, Mapping) else None
    if state not in ("state_on", "state_off"):
        raise InvalidValue(f"process_list: expected state_on or state_off, not {shown(state)}")
    return bool(state == "state_on")


def _id(document: Document) -> str:
    text = _text(document, "_id")
    if not _OBJECT_ID.fullmatch(text):
        raise InvalidValue(f"_id: {shown(text)}: expected an object id, 24 hexadecimal digits")
    return text


def _periods(document: Document) -> tuple[str, str, str]:
    """The timeperiod of a unit, and the range that it covers: version 1 may have only that."""
    first, last = ("start_timeperiod", "timeperiod"), ("end_timeperiod", "timeperiod")
    return (
        _timeperiod(document, "timeperiod", "start_timeperiod"),
        _timeperiod(document, *first),
        _timeperiod(document, *last),
    )


def _timeperiod(document: Document, *names: str) -> str:
    """The first of these fields that is there."""
    name = next((name for name in names if document.get(name) is not None), names[0])
    text = _text(document, name)
    try:
        Qualifier.HOURLY.cast(text)
    except InvalidValue as error:
        raise InvalidValue(f"{name}: {error}") from None
    return text


def _text(document: Document, name: str, *, optional: bool = False) -> str:
    value = document.get(name)
    if value is None or value == "":
        if optional:
            return ""
        raise InvalidValue(f"{name} is missing")
    if not isinstance(value, str):
        raise InvalidValue(f"{name}: expected a text, not {shown(value)}")
    if not value.isprintable():
        raise InvalidValue(f"{name}: {value!a:.60} has characters that no name has")
    return value


def _flag(document: Document, name: str) -> bool:
    value = document.get(name, False)
    if not isinstance(value, bool):
        raise InvalidValue(f"{name}: expected true or false, not {shown(value)}")
    return value


def _number(document: Document, name: str) -> int:
    value = document.get(name) or 0
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _LARGEST:
        raise InvalidValue(f"{name}: expected a whole number, 0 or more, not {shown(value)}")
    return value


def _instant(document: Document, name: str) -> datetime | None:
    value = document.get(name)
    if value is not None and not isinstance(value, datetime):
        raise InvalidValue(f"{name}: expected a date, not {shown(value)}")
    return value
