"""The rows of schedules and runs that a command writes.

A schedule that begins (created enabled, edited, enabled) ignores all earlier events: its row has
the numbers of the newest event and journal entry. Dropped jobs are recorded as runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache

from synergy.commands.drop_reasons import off
from synergy.delivery.addresses import AddressRules
from synergy.delivery.definition_checks import known, refusal
from synergy.delivery.target import parse_target
from synergy.errors import InvalidValue
from synergy.lifecycle.legal_moves import RunMove
from synergy.lifecycle.state_changes import advance
from synergy.model.process import Deployment
from synergy.model.run_detail import RunDetail
from synergy.model.schedule import Run, RunKind, Schedule, run_id
from synergy.queries.schedules.redaction import hidden
from synergy.schedule.check_context import InvalidDefinition, Known
from synergy.schedule.definition import Definition, Program, Times, WorkerProgram, leaves
from synergy.schedule.due import require_due
from synergy.schedule.format.literals import spelled_instant
from synergy.schedule.format.programs import StoredDelivery
from synergy.schedule.format.read import read
from synergy.schedule.format.write import write
from synergy.schedule.progress import steps
from synergy.schedule.progress.event_keys import keys
from synergy.schedule.progress.state import Made, ProgressState
from synergy.schedule.zones import zone
from synergy.storage.payload import name_of
from synergy.storage.protocol import Store, StoreView

STEPS = 100  # the most decisions that are made for the time while no agent was running
STORED_ABOVE = 64 * 1024  # bytes; a longer payload is stored beside the row


class Overtaken(Exception):
    """Raised if the row changed between read and write; rolls back the batch."""


def overtaken_if(is_so: object) -> None:
    """Raises Overtaken if the value is true."""
    if is_so:
        raise Overtaken


@dataclass(frozen=True, slots=True)
class Row:
    """A schedule to be written.

    `runs` begin with it and are stored before it where a batch is no transaction: an agent drops
    them if the write fails. `gone` are the records of runs that end with it and are stored after
    it: nothing is recorded as ended that continues.
    """

    schedule: Schedule
    runs: tuple[Run, ...] = ()
    gone: tuple[Run, ...] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """The newest event and journal entry, which a schedule that begins now ignores."""

    events: int
    journal: int

    @staticmethod
    def by_now(store: Store) -> Seen:
        return Seen(store.events.last_seq(), store.journal.last_seq())


def read_all(
    items: Sequence[Mapping[str, object]],
    store: Store,
    deployment: Deployment,
    rules: AddressRules | None,
    now: datetime,
) -> list[Definition]:
    """The definitions in these documents.

    `rules` say where requests may be sent; None skips that check. A host name is resolved, and its
    addresses are checked, when a request is sent.

    Raises InvalidDefinition with all mistakes, each with its schedule.
    """
    what = known(deployment.processes)
    definitions: list[Definition] = []
    mistakes: list[str] = []
    for number, item in enumerate(items, 1):
        where = f"{item.get('name') or f'number {number}'}: " if len(items) > 1 else ""
        try:
            definition = read(item, what)
        except InvalidDefinition as error:
            mistakes += [f"{where}{mistake}" for mistake in error.mistakes]
        else:
            definitions.append(definition)
            found = [
                *_never_due(definition, now),
                *missing_payload(definition, store),
                *_refused(definition.program, rules),
                *hidden(definition.program),
            ]
            mistakes += [f"{where}{mistake}" for mistake in found]
    counts = Counter(definition.name for definition in definitions)
    mistakes += [f"{name}: {n} schedules of this name" for name, n in counts.items() if n > 1]
    if mistakes:
        raise InvalidDefinition(mistakes)
    return definitions


def _never_due(definition: Definition, now: datetime) -> list[str]:
    """The mistakes of time triggers that are never due; a stored one may have ended."""
    end = definition.end
    if end is not None and end <= now:
        return [f"end: {spelled_instant(end)} is past: nothing would be due"]
    mistakes = []
    for _, leaf in leaves(definition.trigger):
        if isinstance(leaf, Times):
            try:
                due = require_due(leaf.trigger, zone(definition.zone), now)
            except InvalidValue as error:
                mistakes.append(str(error))
                continue
            if end is not None and due.at > end:
                mistakes.append(f"end: '{leaf.trigger}' is not due before it")
    return mistakes


def missing_payload(definition: Definition, store: StoreView) -> list[str]:
    """The mistake of a definition whose payload is not stored; none otherwise."""
    program = definition.program
    if not isinstance(program, StoredDelivery) or store.payloads.get(program.stored) is not None:
        return []
    return [f"payload: nothing is stored as {program.stored:.60}"]


def _refused(program: Program, rules: AddressRules | None) -> list[str]:
    if rules is None or isinstance(program, WorkerProgram):
        return []
    why = refusal(program.target, rules)
    return [f"target: {why}"] if why else []


def storable(store: Store, definition: Definition, *, dry_run: bool = False) -> dict[str, object]:
    """The definition as it is stored; a long payload is stored separately."""
    data = write(definition)
    payload = data.get("payload")
    content = stored_separately(payload) if isinstance(payload, str) else None
    if content is None:
        return data
    name = name_of(content) if dry_run else store.payloads.put(content)
    return {**data, "payload": {"stored": name}}


def stored_separately(payload: str) -> bytes | None:
    """The content of a payload that is too long for a row; None for any other."""
    if len(payload) <= STORED_ABOVE // 4:  # a character has at most 4 bytes
        return None
    content = payload.encode()
    return content if len(content) > STORED_ABOVE else None


def begun(
    schedule: Schedule,
    definition: Definition,
    now: datetime,
    seen: Seen,
    *,
    life: int,
    done: tuple[str, ...] = (),
) -> Row:
    """A schedule that begins now, enabled; see `steps.begin`."""
    step = steps.begin(definition, now, seen.events, seen.journal, schedule.version, life, done)
    row = replace(
        schedule,
        is_enabled=True,
        reason="",
        progress=step.progress.to_json(),
        wake_at=steps.wake_at(definition, step.progress),
        keys=keys(definition.trigger),
        changed_at=now,
    )
    return Row(row, tuple(run_of(row, definition, made, now) for made in step.made))


def stopped(schedule: Schedule, reason: str, now: datetime) -> Row:
    """A schedule that is disabled now, and the records of its dropped jobs."""
    row = replace(
        schedule,
        is_enabled=False,
        reason=reason,
        progress={},
        wake_at=None,
        keys=(),
        changed_at=now,
    )
    return Row(row, gone=dropped(schedule, off(reason), now))


def dropped(schedule: Schedule, reason: str, now: datetime) -> tuple[Run, ...]:
    """The records of what is dropped now: the collecting job, and undecided due times."""
    return (*_undecided(schedule, reason, now), *_collected(schedule, reason, now))


def _undecided(schedule: Schedule, reason: str, now: datetime) -> list[Run]:
    if not schedule.is_enabled or schedule.wake_at is None or schedule.wake_at > now:
        return []
    try:
        definition = read(schedule.definition, Known())
        made = [one for one in _passed(schedule, definition, now) if one.kind is RunKind.DUE]
        ended = [
            replace(one, ended_by=RunMove.SKIP, reason=reason) if one.ended_by is None else one
            for one in made
        ]
        return [run_of(schedule, definition, one, now) for one in ended]
    except Exception:  # noqa: BLE001 - an invalid schedule has no due times
        return []


def _passed(schedule: Schedule, definition: Definition, now: datetime) -> Iterator[Made]:
    """The runs that a schedule makes by time until now."""
    progress = ProgressState.from_json(schedule.progress)
    for _ in range(STEPS):
        step = steps.pass_time(definition, progress, now)
        yield from step.made
        if step.progress == progress:
            return
        progress = step.progress


def _collected(schedule: Schedule, reason: str, now: datetime) -> tuple[Run, ...]:
    if not schedule.progress:
        return ()
    try:
        collecting = ProgressState.from_json(schedule.progress).collecting
        program = _program_of(schedule)
    except (InvalidValue, KeyError, TypeError, ValueError):  # an invalid schedule can be ended too
        return ()
    if collecting is None:
        return ()
    key = RunKind.EVENTS.key(collecting.number)
    run = Run(
        id=run_id(schedule.name, key),
        schedule=schedule.name,
        key=key,
        due_at=now,
        version=schedule.version,
        program=program,
        created_at=collecting.since,
        group=str(schedule.definition.get("group", "")),
        detail=RunDetail(cause=dict(collecting.cause)),
    )
    return (advance(run, RunMove.ABORT, now, reason),)


def _program_of(schedule: Schedule) -> str:
    """The `destination` of a stored definition."""
    process, target = schedule.definition.get("process"), schedule.definition.get("target")
    return str(process) if target is None else _destination(str(target))


def run_of(schedule: Schedule, definition: Definition, made: Made, now: datetime) -> Run:
    """The row of a run that a decision made."""
    run = Run(
        id=run_id(schedule.name, made.key),
        schedule=schedule.name,
        key=made.key,
        due_at=made.due_at,
        version=schedule.version,
        program=destination(definition.program),
        created_at=made.created_at,
        group=definition.group,
        priority=definition.priority,
        detail=RunDetail(cause=dict(made.cause), in_turn=made.in_turn),
    )
    return run if made.ended_by is None else advance(run, made.ended_by, now, made.reason)


def destination(program: Program) -> str:
    """The program whose runs concurrency counts: a process, or a destination without secrets."""
    if isinstance(program, WorkerProgram):
        return program.process
    return _destination(program.target)


@lru_cache(10_000)
def _destination(target: str) -> str:
    return parse_target(target).destination
