"""Schedules, their runs, and the events that trigger them, as a store keeps them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from synergy.model.journal_event import JournalEvent
from synergy.model.run_detail import RunDetail


class Origin(Enum):
    """Where a schedule was defined."""

    CONTEXT = "context"  # `schedule_context`
    API = "api"  # the command line, or REST


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A stored schedule: its definition and its progress.

    `definition` is in the form of `schedule.format`; `version` rises by one with each edit of it.
    `reason` says why it is disabled. `progress` is the state between two decisions, see
    `schedule.progress`. `wake_at` is the next time at which time alone makes something due, None
    for never; `keys` are the event keys that it listens to. They are None and empty while it is
    disabled. `rev` is the store's: it rises with each change of the row, and is 0 until it is
    stored.
    """

    name: str
    definition: Mapping[str, object]
    version: int = 1
    origin: Origin = Origin.API
    is_enabled: bool = False
    reason: str = ""
    progress: Mapping[str, object] = field(default_factory=dict)
    wake_at: datetime | None = None
    keys: tuple[str, ...] = ()
    created_at: datetime
    changed_at: datetime
    rev: int = 0

    @property
    def process(self) -> str | None:
        """The free-run process that it runs; None if it sends requests."""
        process = self.definition.get("process")
        return process if isinstance(process, str) else None


@dataclass(frozen=True, slots=True)
class ScheduleVersion:
    """A version of a schedule's definition, valid from `at` on."""

    name: str
    version: int
    definition: Mapping[str, object]
    at: datetime
    who: str


class RunState(Enum):
    """The states of a run. A run before `launched` is a pending job."""

    PENDING_CONSTRAINT = "pending_constraint"  # triggered; waits for its run constraints
    PENDING_LAUNCH = "pending_launch"  # its constraints are met; it is launched next
    LAUNCHED = "launched"  # a final decision: sent, or worked on, until it ends
    PROCESSED = "processed"  # the worker, or the receiver, reported success
    NOOP = "noop"  # a worker had nothing to do
    FAILED = "failed"  # given up; `retry` launches it again
    ABORTED = "aborted"  # a pending job that was dropped, for the reason given
    SKIPPED = "skipped"  # a due time that was not run, for the reason given
    CANCELED = "canceled"  # by an operator

    @property
    def is_pending(self) -> bool:
        return self in _PENDING

    @property
    def is_finished(self) -> bool:
        return self is not RunState.LAUNCHED and self not in _PENDING


_PENDING = frozenset({RunState.PENDING_CONSTRAINT, RunState.PENDING_LAUNCH})


class RunKind(Enum):
    """The origin of a run; the run's key begins with the value."""

    DUE = "due"  # a due time: `due:<instant>`
    FIRST = "first"  # by `first_run: immediately`: `first`, or `first/<version>`
    EVENTS = "events"  # events, or ends of runs and jobs: `events:<number>`
    PERIODS = "periods"  # the record of old periods that trigger nothing: `periods:<from>-<to>`
    TRIGGER = "trigger"  # by hand: `trigger:<word>`
    RETRY = "retry"  # repeats a failed run of a worker: `retry:<run>`
    BACKFILL = "backfill"  # a past due time, on request: `backfill:<instant>`, then `.../2`

    @staticmethod
    def of(key: str) -> RunKind | None:
        """The kind of the run with this key; None for any other key."""
        return _KINDS.get(key.partition(":")[0].partition("/")[0])

    def key(self, rest: str) -> str:
        return f"{self.value}:{rest}"

    @property
    def is_by_time(self) -> bool:
        """Whether time alone triggered the run."""
        return self in (RunKind.DUE, RunKind.FIRST)


_KINDS = {kind.value: kind for kind in RunKind}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a schedule, from the due time (or the events) that caused it to its end.

    `key` makes it unique within its schedule, and gives its `kind`. `schedule` is empty for a
    process that was triggered without one. `due_at` is its nominal instant. `program` is the
    process that carries it out, or the destination that it is sent to (`https://example.com:443`);
    `group` is the group for group concurrency. `version` is the schedule's at the decision.

    `created_at` is the time at which the pending job began, `not_before` that of the next check or
    attempt. `owner` is the incarnation of the agent that is sending it, `attempt` the number of
    attempts. `request` is the request as decided at the launch, which never changes; `detail` has
    causes, waits and answers. `rev` is the store's.
    """

    id: str
    schedule: str
    key: str
    due_at: datetime
    version: int
    state: RunState = RunState.PENDING_CONSTRAINT
    program: str
    created_at: datetime
    group: str = ""
    priority: int = 0
    reason: str = ""
    attempt: int = 0
    owner: str | None = None
    not_before: datetime | None = None
    launched_at: datetime | None = None
    finished_at: datetime | None = None
    request: Mapping[str, object] = field(default_factory=dict)
    detail: RunDetail = field(default_factory=RunDetail)
    rev: int = 0

    @property
    def kind(self) -> RunKind | None:
        return RunKind.of(self.key)

    @property
    def expected_at(self) -> datetime:
        """When it could begin at the earliest; it is late by the time since then.

        The timestamp of an event says nothing of that: it was taken later.
        """
        by_time = self.kind is not None and self.kind.is_by_time
        return self.due_at if by_time else self.created_at

    @property
    def is_delivery(self) -> bool:
        """Whether it was launched to be sent to a destination."""
        return "target" in self.request

    @property
    def is_of_worker(self) -> bool:
        """Whether it was launched to be carried out by a worker."""
        return is_for_worker(self.request)


def is_for_worker(request: Mapping[str, object]) -> bool:
    """Whether the request of a launched run is for a worker."""
    return "process" in request


def run_id(schedule: str, key: str) -> str:
    """The id of a run: a function of its unique key, so that creating it twice finds the first."""
    return hashlib.blake2b(f"{schedule}|{key}".encode(), digest_size=12).hexdigest()


@dataclass(frozen=True, slots=True)
class RunChange:
    """The new value of a run, stored only if its `rev` is the stored one; journaled with `why`."""

    run: Run
    why: str
    who: str


@dataclass(frozen=True, slots=True)
class ScheduleChange:
    """The new value of a schedule, stored only if its `rev` is the stored one.

    With an `event` (`schedule.enabled`) it is journaled; a change of `progress` alone is not,
    because the runs that it creates are.
    """

    schedule: Schedule
    event: JournalEvent | None = None
    why: str = ""
    who: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An occurrence outside Synergy: `{eventType, eventTimestamp, eventResourceId}`, and more.

    `id` is unique: an event with a known id is a repetition. `timestamp` is the time of the event,
    `at` the time at which it was recorded. `seq` is the store's order, 0 until it is stored.
    """

    id: str
    type: str
    resource: str
    timestamp: datetime
    at: datetime
    who: str = ""
    body: Mapping[str, object] = field(default_factory=dict)
    seq: int = 0
