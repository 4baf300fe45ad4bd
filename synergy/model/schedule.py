"""Schedules, their runs, and the events that they react to, as a store keeps them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from synergy.model.journal_event import JournalEvent
from synergy.model.run_detail import RunDetail


class Origin(Enum):
    """Who declared a schedule."""

    CONTEXT = "context"  # `schedule_context`
    API = "api"  # the command line, or REST


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A schedule as it is stored: what was asked for, and how far it has come.

    `definition` is what `schedule.definition` reads and writes; `version` rises by one with
    each edit of it. `reason` says why it is disabled. `progress` is what is remembered between
    two decisions, see `schedule.progress`. `wake_at` is when time alone next makes something
    due, None for never; `keys` are the event keys that it listens to. Both are None and empty
    while it is disabled. `rev` is the store's: it rises with each change of the row, and is 0
    until it is stored.
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


@dataclass(frozen=True, slots=True)
class ScheduleVersion:
    """What a schedule was defined as from `at` on."""

    name: str
    version: int
    definition: Mapping[str, object]
    at: datetime
    who: str


class RunState(Enum):
    """The states of a run. Those before `launched` are a pending job's."""

    PENDING_CONSTRAINT = "pending_constraint"  # triggered; waits for its run constraints
    PENDING_LAUNCH = "pending_launch"  # its constraints are met; the next free place is its
    LAUNCHED = "launched"  # decided for good: exactly one run, sent or worked on until it ends
    PROCESSED = "processed"  # the worker, or the receiver, said so
    NOOP = "noop"  # a worker had nothing to do
    FAILED = "failed"  # given up; `retry` launches it again
    ABORTED = "aborted"  # a pending job that came to nothing; the reason says why
    SKIPPED = "skipped"  # a due time that was not run; the reason says why
    CANCELED = "canceled"  # by an operator

    @property
    def is_pending(self) -> bool:
        return self in _PENDING

    @property
    def is_finished(self) -> bool:
        return self is not RunState.LAUNCHED and self not in _PENDING


_PENDING = frozenset({RunState.PENDING_CONSTRAINT, RunState.PENDING_LAUNCH})


class RunKind(Enum):
    """What made a run; its key begins with the value."""

    DUE = "due"  # a due time: `due:<instant>`
    FIRST = "first"  # `first_run: immediately`: `first`, or `first/<version>`
    EVENTS = "events"  # events, or ends of runs and jobs: `events:<number>`
    PERIODS = "periods"  # the record of old periods that trigger nothing: `periods:<from>-<to>`
    TRIGGER = "trigger"  # by hand: `trigger:<word>`
    RETRY = "retry"  # takes up a failed run of a worker: `retry:<run>`

    @staticmethod
    def of(key: str) -> RunKind | None:
        """The kind of the run with this key; None for a key that is not one of these."""
        return _KINDS.get(key.partition(":")[0].partition("/")[0])

    def key(self, rest: str) -> str:
        """The key of a run of this kind."""
        return f"{self.value}:{rest}"

    @property
    def is_by_time(self) -> bool:
        """Whether time alone made the run."""
        return self in (RunKind.DUE, RunKind.FIRST)


_KINDS = {kind.value: kind for kind in RunKind}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a schedule, from the due time (or the events) that caused it to its end.

    `key` makes it unique within its schedule, and tells its `kind`. `schedule` is empty for a
    process that was triggered without one. `due_at` is its nominal instant. `program` is the
    process that carries it out, or the destination that it is sent to (`https://example.com:443`);
    `group` is what group concurrency counts by. `version` is the schedule's when it was decided.

    `created_at` is when the pending job began, `not_before` when it is next to be looked at or
    sent, `owner` the incarnation of the agent that sends it just now, `attempt` how often it was
    handed out. `request` is what was decided to be sent or worked on, fixed for good; `detail`
    is what is known beside it: causes, what holds it back, answers. `rev` is the store's.
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
        """What made it."""
        return RunKind.of(self.key)

    @property
    def is_delivery(self) -> bool:
        """Whether it was launched to be sent to a destination."""
        return "target" in self.request

    @property
    def is_of_worker(self) -> bool:
        """Whether it was launched to be carried out by a worker."""
        return "process" in self.request


def run_id(schedule: str, key: str) -> str:
    """The id of a run: a function of its unique key, so that creating it twice finds the first."""
    return hashlib.blake2b(f"{schedule}|{key}".encode(), digest_size=12).hexdigest()


@dataclass(frozen=True, slots=True)
class RunChange:
    """A run as it shall be, if its `rev` is still the stored one; `why` and `who` are journaled."""

    run: Run
    why: str
    who: str


@dataclass(frozen=True, slots=True)
class ScheduleChange:
    """A schedule as it shall be, if its `rev` is still the stored one.

    With an `event` (`schedule.enabled`) the journal gets an entry of that name; progress alone
    is told by the runs that it makes.
    """

    schedule: Schedule
    event: JournalEvent | None = None
    why: str = ""
    who: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened: `{eventType, eventTimestamp, eventResourceId}` and the like.

    `id` is unique: the same id again is the same event. `timestamp` is the event's own, `at`
    when it was taken. `seq` is the store's order, 0 until it is stored.
    """

    id: str
    type: str
    resource: str
    timestamp: datetime
    at: datetime
    who: str = ""
    body: Mapping[str, object] = field(default_factory=dict)
    seq: int = 0
