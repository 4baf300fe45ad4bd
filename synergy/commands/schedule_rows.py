"""Rows of schedules and runs, as they are when somebody asks for a change.

Beginning (created enabled, edited, enabled) counts nothing from before: the row notes the newest
event and journal entry that it has to take no notice of. Dropping notes what was under way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache

from synergy.delivery.addresses import IpNetwork, literal, refusal
from synergy.delivery.definition_checks import known
from synergy.delivery.target import TargetKind, parse_target, split_webhook
from synergy.errors import InvalidValue
from synergy.lifecycle.moves import advance
from synergy.lifecycle.transitions import RunMove
from synergy.model.process import Deployment
from synergy.model.run_detail import RunDetail
from synergy.model.schedule import Run, RunKind, Schedule, run_id
from synergy.queries.schedules.redaction import hidden
from synergy.schedule.definition import Definition, Program, Times, WorkerProgram, leaves
from synergy.schedule.due import require_due
from synergy.schedule.format.read import InvalidDefinition, Known, StoredDelivery, read, write
from synergy.schedule.progress import transitions
from synergy.schedule.progress.transitions import Made, ProgressState
from synergy.schedule.zones import zone
from synergy.storage.payload import name_of
from synergy.storage.protocol import Store

STEPS = 100  # decisions about what time did while no agent was at work
STORED_ABOVE = 64 * 1024  # bytes; a longer payload is stored beside the row


class Overtaken(Exception):
    """Somebody else changed the row between the look and the write; undoes the batch."""


def overtaken_if(is_so: object) -> None:
    """Raises Overtaken."""
    if is_so:
        raise Overtaken


@dataclass(frozen=True, slots=True)
class Row:
    """A schedule as it shall be.

    `runs` are those that begin with it, and are stored before it where a batch is not one step:
    an agent drops them if it comes to nothing. `gone` are the records of what ends with it, and
    are stored behind it: nothing is said to have ended that goes on.
    """

    schedule: Schedule
    runs: tuple[Run, ...] = ()
    gone: tuple[Run, ...] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """The newest event and journal entry there are: who begins counts none up to these."""

    events: int
    journal: int

    @staticmethod
    def by_now(store: Store) -> Seen:
        return Seen(store.events.last_seq(), store.journal.last_seq())


def read_all(
    items: Sequence[Mapping[str, object]],
    store: Store,
    deployment: Deployment,
    networks: Sequence[IpNetwork] | None,
    now: datetime,
) -> list[Definition]:
    """The definitions of schedules that people wrote.

    `networks` are those that webhooks may reach although they are private; None where that is
    not known. A name is looked up, and its addresses judged, when something is sent.

    Raises InvalidDefinition with all mistakes, each with the schedule that it is of.
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
                *_missing(definition, store),
                *_private(definition.program, networks),
                *hidden(definition.program),
            ]
            mistakes += [f"{where}{mistake}" for mistake in found]
    counts = Counter(definition.name for definition in definitions)
    mistakes += [f"{name}: {n} schedules of this name" for name, n in counts.items() if n > 1]
    if mistakes:
        raise InvalidDefinition(mistakes)
    return definitions


def _never_due(definition: Definition, now: datetime) -> list[str]:
    """Each time trigger must be due some day; one that is stored may have come to its end."""
    mistakes = []
    for _, leaf in leaves(definition.trigger):
        if isinstance(leaf, Times):
            try:
                require_due(leaf.trigger, zone(definition.zone), now)
            except InvalidValue as error:
                mistakes.append(str(error))
    return mistakes


def _missing(definition: Definition, store: Store) -> list[str]:
    program = definition.program
    if not isinstance(program, StoredDelivery) or store.payloads.get(program.stored) is not None:
        return []
    return [f"payload: nothing is stored as {program.stored:.60}"]


def _private(program: Program, networks: Sequence[IpNetwork] | None) -> list[str]:
    if networks is None or isinstance(program, WorkerProgram):
        return []
    if parse_target(program.target).kind is not TargetKind.WEBHOOK:
        return []
    address = literal(split_webhook(program.target).host)
    why = refusal([address], networks) if address is not None else ""
    return [f"target: {why}: the setting webhook_networks does not allow it"] if why else []


def storable(store: Store, definition: Definition, *, dry_run: bool = False) -> dict[str, object]:
    """The definition as it is stored: a long payload goes to a place of its own."""
    data = write(definition)
    payload = data.get("payload")
    if not isinstance(payload, str) or len(payload) <= STORED_ABOVE // 4:  # 4 bytes at most
        return data
    content = payload.encode()
    if len(content) <= STORED_ABOVE:
        return data
    name = name_of(content) if dry_run else store.payloads.put(content)
    return {**data, "payload": {"stored": name}}


def begun(
    schedule: Schedule, definition: Definition, now: datetime, seen: Seen, *,
    life: int, done: tuple[str, ...] = (),
) -> Row:  # fmt: skip
    """A schedule that begins now, enabled; see `progress.begin`."""
    step = transitions.begin(
        definition, now, seen.events, seen.journal, schedule.version, life, done
    )
    row = replace(
        schedule,
        is_enabled=True,
        reason="",
        progress=step.progress.to_json(),
        wake_at=transitions.wake_at(definition, step.progress, now),
        keys=transitions.keys(definition),
        changed_at=now,
    )
    return Row(row, tuple(run_of(row, definition, made, now) for made in step.made))


def stopped(schedule: Schedule, reason: str, now: datetime) -> Row:
    """A schedule that is disabled now, and the records of what it leaves."""
    row = replace(
        schedule, is_enabled=False, reason=reason, progress={}, wake_at=None, keys=(),
        changed_at=now,
    )  # fmt: skip
    return Row(row, gone=dropped(schedule, off(reason), now))


def dropped(schedule: Schedule, reason: str, now: datetime) -> tuple[Run, ...]:
    """The records of what comes to nothing now: the job that collects, and undecided due times."""
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
    except Exception:  # noqa: BLE001 - what cannot be decided about has no due times
        return []


def _passed(schedule: Schedule, definition: Definition, now: datetime) -> Iterator[Made]:
    """What time makes of a schedule until now."""
    came = ProgressState.from_json(schedule.progress)
    for _ in range(STEPS):
        step = transitions.pass_time(definition, came, now)
        yield from step.made
        if step.progress == came:
            return
        came = step.progress


def _collected(schedule: Schedule, reason: str, now: datetime) -> tuple[Run, ...]:
    if not schedule.progress:
        return ()
    try:
        collecting = ProgressState.from_json(schedule.progress).collecting
        program = _program_of(schedule)
    except (InvalidValue, KeyError, TypeError, ValueError):  # who ends it need not make sense of it
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
    """As `destination`, of a definition as it is stored."""
    process, target = schedule.definition.get("process"), schedule.definition.get("target")
    return str(process) if target is None else _destination(str(target))


def run_of(schedule: Schedule, definition: Definition, made: Made, now: datetime) -> Run:
    """The row of a run that was decided."""
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
    """What concurrency counts runs of: the process, or where requests go; never a secret."""
    if isinstance(program, WorkerProgram):
        return program.process
    return _destination(program.target)


@lru_cache(10_000)
def _destination(target: str) -> str:
    return parse_target(target).destination


def superseded(version: int) -> str:
    """Why jobs of an older version come to nothing."""
    return f"superseded by version {version}"


def off(reason: str) -> str:
    """Why jobs of a disabled schedule come to nothing."""
    return f"its schedule was disabled: {reason}"
