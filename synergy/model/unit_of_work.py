"""Units of work: one request to a worker."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from enum import Enum

from synergy.model.value import value

RUN_DIGITS = 14  # the timeperiod of a run is its due time in seconds; that of a job has 10


class UnitState(Enum):
    """The states of a unit of work."""

    REQUESTED = "requested"  # waits for a worker
    IN_PROGRESS = "in_progress"  # a worker holds it and sends heartbeats
    INVALID = "invalid"  # an attempt failed; the collector hands it out again, or cancels it
    PROCESSED = "processed"
    NOOP = "noop"
    CANCELED = "canceled"

    @property
    def is_finished(self) -> bool:
        return self in _FINISHED


_FINISHED = frozenset({UnitState.PROCESSED, UnitState.NOOP, UnitState.CANCELED})


@value
class UnitOfWork:
    """One request to a worker, for `[start_timeperiod, end_timeperiod)` of a job.

    `start_id` and `end_id` are the bounds of the source in its own write order, both 0 where
    the source lies outside the store. `attempt` is the fence: it rises each time the unit is
    handed out again, never falls, and only the newest attempt's result counts. `failures`
    counts the attempts that failed or were lost. `owner` is the incarnation of the worker
    that holds it, `heartbeat` a counter that the owner advances. `published_at` is the time at
    which a message for the present attempt was last confirmed, None if never. `started_at` is the
    time at which the present attempt was claimed. `first_claimed_at` is that of the first claim,
    not counting attempts that were given back; None if there was none.
    """

    id: str
    process: str
    timeperiod: str
    generation: int
    start_timeperiod: str
    end_timeperiod: str
    start_id: int
    end_id: int
    created_at: datetime
    state: UnitState = UnitState.REQUESTED
    attempt: int = 1
    failures: int = 0
    not_before: datetime | None = None
    published_at: datetime | None = None
    owner: str | None = None
    heartbeat: int = 0
    started_at: datetime | None = None
    finished_at: datetime | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""
    first_claimed_at: datetime | None = None

    @property
    def is_of_run(self) -> bool:
        """Whether it carries out a run and not a job; its id is the run's."""
        return len(self.timeperiod) == RUN_DIGITS


def unit_id(process: str, timeperiod: str, generation: int, start_id: int, end_id: int) -> str:
    """The id of a unit: a function of its unique key, so that creating it twice finds the first."""
    key = f"{process}|{timeperiod}|{generation}|{start_id}|{end_id}"
    return hashlib.blake2b(key.encode(), digest_size=12).hexdigest()


@value
class Hint:
    """The content of a message about a unit: this attempt may be claimed."""

    unit: str
    attempt: int


@value
class Document:
    """A row of a collection, unique in it by (timeperiod, key).

    `body` is the content for users, as a mapping or as the stored bytes, without the store's own
    numbering.
    """

    key: str
    timeperiod: str
    body: Mapping[str, object] | bytes


@value
class SinkWrite:
    """The rows of `collection` within `[start, end)` shall be exactly `documents`."""

    collection: str
    start: str
    end: str
    documents: tuple[Document, ...]


@value
class Conclusion:
    """The end of an attempt.

    `state` is PROCESSED, NOOP or INVALID. `writes` become visible together with the conclusion or
    not at all. `not_before` is the time from which an invalid unit may be handed out again.
    """

    unit: str
    attempt: int
    owner: str
    state: UnitState
    counts: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""
    writes: tuple[SinkWrite, ...] = ()
    not_before: datetime | None = None


@value
class UnitChange:
    """A change of a unit by another service or an operator, not by its worker.

    It applies only if the unit is in state `before` with `attempt` and, if given, `heartbeat`.
    `next_attempt` adds one to the attempt and takes the unit from its owner; `failed` adds one to
    the failures. `forgive` resets failures and first claim, so that the unit has all its attempts
    and all its time again.
    """

    unit: str
    before: UnitState
    attempt: int
    after: UnitState
    why: str
    who: str
    heartbeat: int | None = None
    next_attempt: bool = False
    failed: bool = False
    forgive: bool = False
    not_before: datetime | None = None
