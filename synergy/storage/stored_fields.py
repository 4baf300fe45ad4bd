"""The kinds of the fields of all stored types; fields without a kind are stored as they are.

Rows, documents and records of `store copy` are derived from these descriptions (`codec`). The codes
of states are used in existing stores, so new states are added at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from synergy.model.answer import Answer
from synergy.model.box import Assignment, Box, ObservedProcess
from synergy.model.journal import JournalEntry
from synergy.model.lease import Lease
from synergy.model.operation import Operation, OperationState
from synergy.model.process_control import ProcessControl
from synergy.model.run_detail import RunDetail
from synergy.model.schedule import Event, Origin, Run, RunState, Schedule, ScheduleVersion
from synergy.model.unit_of_work import UnitOfWork, UnitState
from synergy.runtime.masking import mask
from synergy.storage.codec import (
    BYTES,
    FLAG,
    INSTANT,
    NUMBER,
    Codec,
    Form,
    Kind,
    code_of,
    everywhere,
    json_by,
    json_of,
    mapping,
    word_of,
)
from synergy.storage.malformed import wrong
from synergy.storage.protocol import DeadMessage, LogLine

UNIT_STATES = (
    UnitState.REQUESTED,
    UnitState.IN_PROGRESS,
    UnitState.INVALID,
    UnitState.PROCESSED,  # from here on, a unit is finished
    UnitState.NOOP,
    UnitState.CANCELED,
)
RUN_STATES = (
    RunState.PENDING_CONSTRAINT,
    RunState.PENDING_LAUNCH,
    RunState.LAUNCHED,
    RunState.PROCESSED,  # from here on, a run is finished
    RunState.NOOP,
    RunState.FAILED,
    RunState.ABORTED,
    RunState.SKIPPED,
    RunState.CANCELED,
)


def counts_text(counts: Mapping[str, int]) -> str | None:
    """The counts of a unit as JSON; None if there are none."""
    return orjson.dumps(dict(counts)).decode() if counts else None


def counts_list(counts: Mapping[str, int]) -> list[dict[str, Any]]:
    """The counts of a unit as a list, because not every name is allowed as a field's name."""
    return [{"name": name, "n": number} for name, number in counts.items()]


def _listed_counts(listed: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    return _checked({count["name"]: count["n"] for count in listed})


def _counts(text: str) -> dict[str, int]:
    return _checked(mapping(text))


def _checked(counts: dict[str, int]) -> dict[str, int]:
    if not all(isinstance(number, int) for number in counts.values()):
        raise wrong(counts)
    return counts


def _texts(found: object) -> tuple[str, ...]:
    if type(found) is not list or not all(type(text) is str for text in found):
        raise wrong(found)
    return tuple(found)


def _generations_text(pairs: Sequence[Sequence[int]]) -> str | None:
    return orjson.dumps({str(job): number for job, number in pairs}).decode() if pairs else None


def _generations(text: str) -> list[list[int]]:
    found: dict[str, int] = orjson.loads(text)
    return sorted([int(job), number] for job, number in found.items())


def _generations_list(pairs: Sequence[Sequence[int]]) -> list[dict[str, int]]:
    return [{"job": job, "generation": number} for job, number in pairs]


def _listed_generations(listed: Iterable[Mapping[str, int]]) -> list[list[int]]:
    return sorted([one["job"], one["generation"]] for one in listed)


COUNTS = Kind(Form(counts_text, _counts, dict), Form(counts_list, _listed_counts), Form(dict, None))
"""The counts of a unit, by name."""

GENERATIONS = Kind(
    Form(_generations_text, _generations, list), Form(_generations_list, _listed_generations)
)
"""Pairs of ordinal and generation, for the jobs that are not in generation 1."""

KEYS = Kind(
    Form(orjson.dumps, lambda text: _texts(orjson.loads(text))),
    Form(list, _texts),
    Form(list, tuple),
)
"""A sequence of texts."""

MASKED = everywhere(mask, None)
"""A text for people that may quote errors or output; it is stored without secrets."""

DEFINITION = json_of("the definition of schedule {0.name!r}")

UNIT = Codec(
    UnitOfWork,
    "units id",
    created_at=INSTANT,
    state=code_of(UNIT_STATES),
    not_before=INSTANT,
    published_at=INSTANT,
    started_at=INSTANT,
    finished_at=INSTANT,
    counts=COUNTS,
    reason=MASKED,
    first_claimed_at=INSTANT,
)
ENTRY = Codec(JournalEntry, "journal seq", at=INSTANT, why=MASKED, flags=NUMBER, seq=NUMBER)
SCHEDULE = Codec(
    Schedule,
    "schedules name",
    definition=DEFINITION,
    origin=word_of(Origin),
    is_enabled=FLAG,
    reason=MASKED,
    progress=json_of("the progress of schedule {0.name!r}"),
    wake_at=INSTANT,
    keys=KEYS,
    created_at=INSTANT,
    changed_at=INSTANT,
)
VERSION = Codec(
    ScheduleVersion, "schedule_versions name version", definition=DEFINITION, at=INSTANT
)
RUN = Codec(
    Run,
    "runs id",
    due_at=INSTANT,
    state=code_of(RUN_STATES),
    created_at=INSTANT,
    not_before=INSTANT,
    launched_at=INSTANT,
    finished_at=INSTANT,
    reason=MASKED,
    request=json_of("the request of run {0.id}"),
    detail=json_by(RunDetail.to_json, RunDetail.from_json, "the detail of run {0.id}"),
)
EVENT = Codec(Event, "events id", timestamp=INSTANT, at=INSTANT, body=json_of("event {0.id!r}"))
OPERATION = Codec(
    Operation,
    "operations id",
    request=json_of("the request of operation {0.id}"),
    created_at=INSTANT,
    state=word_of(OperationState),
    finished_at=INSTANT,
    why=MASKED,
    detail=MASKED,
)
ANSWER = Codec(
    Answer,
    "answers person key",
    at=INSTANT,
    headers=json_of("the headers of an answer"),
    body=BYTES,
)
CONTROL = Codec(ProcessControl, "controls process", is_on=FLAG)
LEASE = Codec(Lease, "leases name", released=FLAG)
BOX = Codec(Box, "boxes id", seen_at=INSTANT)
ASSIGNMENT = Codec(Assignment, "assignments box process", is_on=FLAG)
OBSERVED = Codec(ObservedProcess, "observed box process instance", since=INSTANT)
LINE = Codec(LogLine, "unit_logs at", at=INSTANT, text=MASKED)
DEAD_MESSAGE = Codec(DeadMessage, "dead_messages seq", body=BYTES, reason=MASKED, at=INSTANT)

# Records without a type of their own: kinds by field.
BLOCK = {"states": BYTES, "generations": GENERATIONS}
DOCUMENT = {"body": Kind(row=Form(str.encode, bytes.decode))}
MESSAGE = {"body": BYTES}
PAYLOAD = {"content": BYTES}
