"""The preview of a definition: in words, its due times, and the body that it would send."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from heapq import merge
from itertools import groupby, islice
from sys import maxsize

from synergy.model.schedule import RunKind, run_id
from synergy.queries.schedules.next_due import ALL_RUNS_MADE
from synergy.queries.schedules.views import DueView, Preview
from synergy.schedule.catchup import skip_reason
from synergy.schedule.cron.line import Cron
from synergy.schedule.definition import Definition, DeliveryProgram, Elapsed, Once, Times, leaves
from synergy.schedule.due import Due, dues
from synergy.schedule.format.describe import describe
from synergy.schedule.format.literals import spelled_instant
from synergy.schedule.format.programs import StoredDelivery
from synergy.schedule.format.read import warnings
from synergy.schedule.format.summary import summarize
from synergy.schedule.progress.due_times import is_spent
from synergy.schedule.progress.event_matching import alone
from synergy.schedule.progress.state import ProgressState
from synergy.schedule.request_template import NAMES, fill, unknown, values
from synergy.schedule.zones import zone
from synergy.storage.protocol import ReadablePayloads

LATEST = datetime(2999, 12, 31, tzinfo=UTC)  # the end if none is given
SHOWN = 16_384  # characters of a body

_TICK = timedelta(microseconds=1)
_DIALECTS = {"unix": "Unix cron, five fields", "quartz": "Quartz cron, seconds first"}


def preview(
    definition: Definition,
    payloads: ReadablePayloads,
    start: datetime,
    end: datetime | None = None,
    limit: int = 10,
    added_at: datetime | None = None,
    progress: ProgressState | None = None,
) -> Preview:
    """The preview with at most `limit` due times in `[start, end]`.

    `added_at` is now for a definition that is not stored: past one-off times are due when it is
    added. `progress` is that of a stored one, which may have made some of its `max_runs`.
    """
    definition = _with_payload(definition, payloads)
    last = min(end or LATEST, definition.end or LATEST)
    found = list(islice(_dues(definition, start, last, progress), limit + 1))
    shown = tuple(found[:limit])
    program = definition.program
    body, names = None, []
    if isinstance(program, DeliveryProgram):
        body = _body(definition, program, shown[0].at if shown else start)
        names = unknown(program.payload, NAMES)
    return Preview(
        name=definition.name,
        words=summarize(definition),
        zone=definition.zone,
        dialects=tuple(_dialects(definition)),
        dues=shown,
        more=len(found) > limit,
        why_none="" if shown else _why_none(definition, added_at, progress),
        warnings=tuple(warnings(definition)),
        body=body,
        unknown=tuple(names),
    )


def _with_payload(definition: Definition, payloads: ReadablePayloads) -> Definition:
    program = definition.program
    if not isinstance(program, StoredDelivery):
        return definition
    text = (payloads.get(program.stored) or b"").decode()
    return replace(
        definition,
        program=DeliveryProgram(program.target, text, program.content_type, program.headers),
    )


def _dues(
    definition: Definition, start: datetime, end: datetime, progress: ProgressState | None
) -> Iterator[DueView]:
    """The due times of all time triggers, each instant once, until all runs are made."""
    floor = start - _TICK
    if definition.start is not None:
        floor = max(floor, definition.start - _TICK)
    local = zone(definition.zone)
    lines = [
        dues(leaf.trigger, local, floor, end, maxsize, leaf.jitter)
        for _, leaf in leaves(definition.trigger)
        if isinstance(leaf, Times)
    ]
    onces = _onces(definition, floor, end)
    not_excluded = {due.at for due in onces}
    decided, runs = (progress.last_due, progress.runs) if progress is not None else (floor, 0)
    for at, same in groupby(merge(*lines, onces, key=_at), key=_at):
        if at > decided and runs >= (definition.max_runs or maxsize):
            return
        first = next(iter(same))
        is_excludable = not first.is_skipped and at not in not_excluded
        if is_excludable and (reason := skip_reason(first, definition.exclude)):
            yield DueView(at, None, reason)
            continue
        yield DueView(at, first.local, first.remark)
        runs += at > decided and first.local is not None


def _onces(definition: Definition, floor: datetime, end: datetime) -> list[Due]:
    local = zone(definition.zone)
    instants = sorted(
        {
            _once_at(definition, leaf)
            for _, leaf in leaves(definition.trigger)
            if isinstance(leaf, Once)
        }
    )
    return [Due(at, at.astimezone(local), False, "") for at in instants if floor < at <= end]


def _once_at(definition: Definition, leaf: Once) -> datetime:
    """The due time: not before the schedule's start."""
    return leaf.at if definition.start is None else max(leaf.at, definition.start)


def _at(due: Due) -> datetime:
    return due.at


def _dialects(definition: Definition) -> Iterator[str]:
    for _, leaf in leaves(definition.trigger):
        if isinstance(leaf, Times):
            trigger = leaf.trigger
            dialect = f" ({_DIALECTS[trigger.dialect]})" if isinstance(trigger, Cron) else ""
            yield f"{trigger}{dialect}: {describe(trigger, zone(definition.zone))}"


def _why_none(
    definition: Definition, added_at: datetime | None, progress: ProgressState | None
) -> str:
    if progress is not None and is_spent(definition, progress):
        return ALL_RUNS_MADE
    onces = [
        _once_at(definition, leaf)
        for _, leaf in alone(definition.trigger)
        if isinstance(leaf, Once)
    ]
    if onces and added_at is not None and min(onces) <= added_at:
        return f"{spelled_instant(min(onces))} is past: it runs at once when it is added"
    kinds = {type(leaf) for _, leaf in leaves(definition.trigger)}
    if kinds & {Times, Once}:
        return "not due in this time"
    if Elapsed in kinds:
        return "due after its last run, whose time is not known in advance"
    return "not due by time: it waits for events"


def _body(definition: Definition, program: DeliveryProgram, at: datetime) -> str:
    """The body for a due time, as far as it can be known."""
    known = values(
        at,
        zone(definition.template_zone),
        scheduleName=definition.name,
        runId=run_id(definition.name, RunKind.DUE.key(spelled_instant(at))),
    )
    body = fill(program.payload, known)
    return body if len(body) <= SHOWN else f"{body[:SHOWN]}..."
