"""Everything in a store as records: plain values, the same whatever engine they come from.

A record is what JSON can hold, and has all numbers that units and people refer to: of journal
entries, of units, of writes to documents, of messages. Records of a kind are unique by their
key, and ordered by it. What belongs to processes that run now, leases and what supervisors
observed, is no record.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields

import orjson

from synergy.model.answer import Answer
from synergy.model.journal import JournalEntry
from synergy.model.operation import Operation, OperationState
from synergy.model.schedule import Event, Origin, Run, RunState, Schedule, ScheduleVersion
from synergy.model.unit_of_work import UnitOfWork, UnitState
from synergy.storage.encoding import instant, instant_or_none, micros, micros_or_none
from synergy.storage.protocol import Key, Record

PORTION = 1_000  # records that are read or written at a time
LONG = 8 << 20  # bytes of records, as JSON, that are enough for one portion

KINDS: Mapping[str, Mapping[str, str | int]] = {
    "facts": {"name": ""},
    "controls": {"process": ""},
    "boxes": {"id": ""},
    "assignments": {"box": "", "process": ""},
    "job_blocks": {"process": "", "block": -1},
    "units": {"number": 0},
    "unit_logs": {"unit": "", "attempt": 0},
    "schedules": {"name": ""},
    "runs": {"number": 0},
    "events": {"seq": 0},
    "payloads": {"name": ""},
    "operations": {"number": 0},
    "answers": {"person": "", "key": ""},
    "journal": {"seq": 0},
    "marks": {"collection": "", "timeperiod": ""},
    "documents": {"collection": "", "timeperiod": "", "key": ""},
    "messages": {"queue": "", "seq": 0},
    "dead_messages": {"seq": 0},
    "numbers": {"name": ""},
}
"""The kinds, in the order in which they are written; the fields of the key of each, and what
lies before every key.

A `unit_logs` record holds all lines of an attempt, and one of `schedules` all versions; `marks`
are the bounds of timeperiods, and `numbers` the last ones given to journal entries and dead
messages, which may be gone."""

_UNIT = [field.name for field in fields(UnitOfWork)]
_ENTRY = [field.name for field in fields(JournalEntry)]
_INSTANTS = ("not_before", "published_at", "started_at", "finished_at", "first_claimed_at")
_SCHEDULE = [field.name for field in fields(Schedule)]
_RUN = [field.name for field in fields(Run)]
_RUN_INSTANTS = ("due_at", "created_at", "not_before", "launched_at", "finished_at")
_EVENT = [field.name for field in fields(Event)]
_OPERATION = [field.name for field in fields(Operation)]


def beginning(kind: str) -> Key:
    """The key before all keys of a kind."""
    return tuple(KINDS[kind].values())


def key_of(kind: str, record: Record) -> Key:
    """What a record is unique and ordered by."""
    return tuple(record[field] for field in KINDS[kind])


def line(record: Record) -> bytes:
    """A record as bytes, equal for equal records: what checksums are made of."""
    return orjson.dumps(record, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)


def portion(records: Iterable[Record]) -> list[Record]:
    """The next of the records: not too many, nor too long together; none if there are none."""
    found: list[Record] = []
    size = 0
    for record in records:
        found.append(record)
        size += len(line(record))
        if len(found) >= PORTION or size >= LONG:
            break
    return found


def packed(content: bytes) -> str:
    """Bytes as a record holds them."""
    return b64encode(content).decode()


def unpacked(text: str) -> bytes:
    """The bytes that `packed` was given."""
    return b64decode(text)


def of_unit(unit: UnitOfWork, number: int, is_superseded: bool) -> Record:
    """A unit of work, its place in the order of creation, and whether a newer one replaced it."""
    return {
        **asdict(unit),
        **{name: micros_or_none(getattr(unit, name)) for name in _INSTANTS},
        "created_at": micros(unit.created_at),
        "state": unit.state.value,
        "number": number,
        "is_superseded": is_superseded,
    }


def unit_of(record: Record) -> UnitOfWork:
    """The unit that a record holds."""
    return UnitOfWork(
        **{
            **{name: record[name] for name in _UNIT},
            **{name: instant_or_none(record[name]) for name in _INSTANTS},
            "created_at": instant(record["created_at"]),
            "state": UnitState(record["state"]),
        }
    )


def of_entry(entry: JournalEntry) -> Record:
    """An entry of the journal."""
    return {**asdict(entry), "at": micros(entry.at)}


def entry_of(record: Record) -> JournalEntry:
    """The entry that a record holds."""
    return JournalEntry(**{**{name: record[name] for name in _ENTRY}, "at": instant(record["at"])})


def of_schedule(schedule: Schedule, versions: Sequence[ScheduleVersion]) -> Record:
    """A schedule and all that it was defined as, oldest first; the last is what it is now."""
    rest = {name: getattr(schedule, name) for name in _SCHEDULE if name != "definition"}
    return {
        **rest,
        "origin": schedule.origin.value,
        "wake_at": micros_or_none(schedule.wake_at),
        "keys": list(schedule.keys),
        "created_at": micros(schedule.created_at),
        "changed_at": micros(schedule.changed_at),
        "versions": [[one.version, micros(one.at), one.who, one.definition] for one in versions],
    }


def schedule_of(record: Record) -> tuple[Schedule, list[ScheduleVersion]]:
    """The schedule that a record holds, and its versions, oldest first."""
    versions = [
        ScheduleVersion(record["name"], version, definition, instant(at), who)
        for version, at, who, definition in record["versions"]
    ]
    rest = {name: record[name] for name in _SCHEDULE if name != "definition"}
    changed = {
        "definition": versions[-1].definition,
        "origin": Origin(record["origin"]),
        "wake_at": instant_or_none(record["wake_at"]),
        "keys": tuple(record["keys"]),
        "created_at": instant(record["created_at"]),
        "changed_at": instant(record["changed_at"]),
    }
    return Schedule(**{**rest, **changed}), versions


def of_run(run: Run, number: int) -> Record:
    """A run, and its place in the order of creation."""
    return {
        **{name: getattr(run, name) for name in _RUN},
        **{name: micros_or_none(getattr(run, name)) for name in _RUN_INSTANTS},
        "state": run.state.value,
        "number": number,
    }


def run_of(record: Record) -> Run:
    """The run that a record holds."""
    return Run(
        **{
            **{name: record[name] for name in _RUN},
            **{name: instant_or_none(record[name]) for name in _RUN_INSTANTS},
            "state": RunState(record["state"]),
        }
    )


def of_event(event: Event) -> Record:
    """An event."""
    instants = {"timestamp": micros(event.timestamp), "at": micros(event.at)}
    return {**{name: getattr(event, name) for name in _EVENT}, **instants}


def event_of(record: Record) -> Event:
    """The event that a record holds."""
    instants = {name: instant(record[name]) for name in ("timestamp", "at")}
    return Event(**{**{name: record[name] for name in _EVENT}, **instants})


def of_operation(operation: Operation, number: int) -> Record:
    """An operation, and its place in the order of acceptance."""
    return {
        **{name: getattr(operation, name) for name in _OPERATION},
        "created_at": micros(operation.created_at),
        "finished_at": micros_or_none(operation.finished_at),
        "state": operation.state.value,
        "number": number,
    }


def operation_of(record: Record) -> Operation:
    """The operation that a record holds."""
    changed = {
        "created_at": instant(record["created_at"]),
        "finished_at": instant_or_none(record["finished_at"]),
        "state": OperationState(record["state"]),
    }
    return Operation(**{**{name: record[name] for name in _OPERATION}, **changed})


def of_answer(answer: Answer) -> Record:
    """An answer that is kept."""
    body = None if answer.body is None else packed(answer.body)
    return {**asdict(answer), "at": micros(answer.at), "body": body}


def answer_of(record: Record) -> Answer:
    """The answer that a record holds."""
    body = None if record["body"] is None else unpacked(record["body"])
    return Answer(**{**record, "at": instant(record["at"]), "body": body})
