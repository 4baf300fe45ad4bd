"""The storage contract, by noun.

Each docstring states the guarantee, never the means; one conformance suite
(`tests/contract/test_store_*.py`) holds every engine to it. A store never decides: it
compares, swaps and remembers. Every method may raise StorageUnavailable; after that the
write may or may not have happened, and the caller reads before it writes again.

Every change of state writes its journal entries in the same step as itself, so that the
journal is at once the record for people and the feed that schedulers follow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from synergy.errors import InvalidValue
from synergy.model.box import Assignment, Box, ObservedProcess
from synergy.model.control import ProcessControl
from synergy.model.job import JobMove, JobRun
from synergy.model.journal import JournalEntry
from synergy.model.lease import Lease
from synergy.model.unit_of_work import (
    Conclusion,
    Document,
    Hint,
    SinkWrite,
    UnitMove,
    UnitOfWork,
    UnitState,
)


class Batch(Protocol):
    """Writes that become durable together; see `Store.batch`."""

    def after_commit(self, act: Callable[[], None]) -> None:
        """Calls `act` once the batch is durable; never, if it is not."""
        ...

    def after_failure(self, act: Callable[[], object]) -> None:
        """Calls `act`, which must not raise, if the batch fails. One of both is called."""
        ...


class Jobs(Protocol):
    """The states of all jobs. A job that was never moved is an embryo of generation 1."""

    def load(self, processes: Sequence[str] | None = None) -> Iterator[JobRun]:
        """All jobs that were ever moved, in runs of neighbours, each job once."""
        ...

    def move(self, moves: Sequence[JobMove], now: datetime) -> list[JobMove]:
        """Applies each move whose jobs are all as it expects; returns those refused.

        One journal entry a move: `job.<after>`, or `job.started_over`, or `job.stale` when
        only the flag changes (`before` equals `after`).
        """
        ...


class Units(Protocol):
    """Units of work, unique by (process, timeperiod, generation, start_id, end_id)."""

    def create(self, units: Sequence[UnitOfWork], who: str) -> list[UnitOfWork]:
        """Stores those that are new (journal `unit.requested`); returns for each the stored one.

        Where a unit of the same key exists, that one is returned as it is.
        """
        ...

    def get(self, ids: Sequence[str]) -> list[UnitOfWork]:
        """Those that exist, in no particular order."""
        ...

    def of_jobs(self, process: str, first: str, last: str) -> list[UnitOfWork]:
        """All units of jobs `first` to `last` (inclusive), newest creation first."""
        ...

    def find(
        self,
        process: str | None = None,
        state: UnitState | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> tuple[list[UnitOfWork], str | None]:
        """A page of units, newest creation first, and the cursor of the next page or None."""
        ...

    def unfinished(self) -> list[UnitOfWork]:
        """All that are requested, in progress or invalid, oldest creation first."""
        ...

    def claim(self, hints: Sequence[Hint], owner: str, now: datetime) -> list[UnitOfWork]:
        """Takes those that are requested, of the hinted attempt, and due (`not_before`).

        Two callers never receive the same attempt; nor is a unit handed out while another
        unit of the same process and timeperiod is in progress. Journal `unit.in_progress`.
        """
        ...

    def heartbeat(self, claims: Sequence[Hint], owner: str) -> list[Hint]:
        """Advances the heartbeat of those in progress that `owner` holds; returns the lost ones."""
        ...

    def give_back(self, claims: Sequence[Hint], owner: str, now: datetime) -> list[UnitOfWork]:
        """Returns claims that were not begun: requested again, attempt + 1, not a failure."""
        ...

    def conclude(self, conclusions: Sequence[Conclusion], now: datetime) -> list[Conclusion]:
        """Ends each attempt that is still its owner's; returns those refused.

        A refused conclusion writes nothing. Otherwise its sink writes are visible exactly
        when the conclusion is; rows that do not change keep their number. INVALID adds a
        failure. Journal `unit.processed`, `unit.noop` or `unit.invalid`.
        """
        ...

    def move(self, moves: Sequence[UnitMove], now: datetime) -> list[UnitMove]:
        """Applies each move whose unit is as it expects; returns those refused.

        Journal `unit.<after>`. Requested again means: never published for this attempt.
        """
        ...

    def extend(self, unit: str, attempt: int, end_id: int, now: datetime) -> bool:
        """Raises the upper bound of a unit that no worker holds; False if one does by now.

        Journal `unit.extended`.
        """
        ...

    def published(self, hints: Sequence[Hint], now: datetime) -> None:
        """Notes that messages for these attempts were confirmed."""
        ...

    def counts(self) -> dict[tuple[str, UnitState], int]:
        """How many units each process has in each state that is not finished."""
        ...

    def prune(self, before: datetime, limit: int) -> int:
        """Forgets at most `limit` superseded finished units older than `before`, with their logs.

        A job's newest unit is kept, because it says what the job's result covers.
        """
        ...


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a source holds for a timeperiod range: lowest and highest write number, rows.

    `low` is the lowest number ever given there, which no later write moves. `high` also rises
    when a row is taken away, so that `rows` may be 0 while `high` is not.
    """

    low: int
    high: int
    rows: int


@dataclass(frozen=True, slots=True)
class SourceChange:
    """That a timeperiod of a collection was written to, at write number `seq`."""

    collection: str
    timeperiod: str
    seq: int


Merge = Callable[[str, Mapping[str, object] | None], Mapping[str, object]]


class Documents(Protocol):
    """The collections that workers read and write.

    Each write that changes a document gets a number, in the order in which writes become
    visible: who has seen number n has missed no write numbered below n. Writing a document
    that is already there, the same, is no write.
    """

    def read(self, collection: str, start: str, end: str) -> Iterator[dict[str, object]]:
        """The bodies within `[start, end)`, by timeperiod, then key; "" as end: no end."""
        ...

    def update(self, collection: str, keys: Sequence[tuple[str, str]], merge: Merge) -> int:
        """For each (key, timeperiod): the body becomes `merge(key, present body or None)`.

        Each is atomic; `merge` may be called again where another writer came between, and
        must be pure. Returns how many changed.
        """
        ...

    def bounds(self, collection: str, start: str, end: str) -> Bounds | None:
        """The bounds of `[start, end)`; None if nothing was ever written there."""
        ...

    def bounds_by_timeperiod(self, collection: str, start: str, end: str) -> dict[str, Bounds]:
        """The bounds of each timeperiod in `[start, end)` that was ever written to."""
        ...

    def changed_since(self, seq: int, limit: int) -> list[SourceChange]:
        """The newest change of each (collection, timeperiod) changed after `seq`, by number.

        Only the newest change of a timeperiod is remembered, so the cost is that of what
        changed.
        """
        ...

    def collections(self) -> dict[str, int]:
        """The collections and their numbers of documents."""
        ...


class Journal(Protocol):
    """Append-only; `seq` rises in the order in which entries become visible."""

    def append(self, entries: Sequence[JournalEntry]) -> None:
        """Adds entries that come with no state change of another noun (`scheduler.started`)."""
        ...

    def since(self, seq: int, limit: int, besides: str = "") -> list[JournalEntry]:
        """Entries after `seq`, oldest first, without those whose `who` is `besides`."""
        ...

    def of_job(self, process: str, timeperiod: str, limit: int = 128) -> list[JournalEntry]:
        """Entries of one job, newest first, those of ranges that include it as well."""
        ...

    def find(self, process: str | None = None, limit: int = 128) -> list[JournalEntry]:
        """The newest entries, newest first."""
        ...

    def last_seq(self) -> int:
        """The number of the newest entry; 0 if there is none."""
        ...

    def prune(self, before: datetime, limit: int) -> int:
        """Forgets at most `limit` entries older than `before`."""
        ...


class Controls(Protocol):
    """What an operator set at run time for a process."""

    def all(self) -> dict[str, ProcessControl]: ...

    def set_on(self, process: str, is_on: bool, who: str, why: str, now: datetime) -> None:
        """Journal `process.on` or `process.off`."""
        ...

    def set_trigger(self, process: str, trigger: str, who: str, why: str, now: datetime) -> None:
        """Journal `process.trigger_frequency`; also switches nothing off."""
        ...


class Leases(Protocol):
    """Compare-and-set on (holder, epoch, seq); see `runtime.leadership` for the meaning."""

    def read(self, name: str) -> Lease | None: ...

    def all(self, family: str) -> list[Lease]:
        """Those whose names begin with `family`, by name."""
        ...

    def take(self, seen: Lease | None, name: str, holder: str) -> Lease | None:
        """Makes `holder` the holder, epoch + 1, if the lease is still exactly as `seen`."""
        ...

    def renew(self, lease: Lease) -> Lease | None:
        """The same with seq + 1, if holder, epoch and seq are still these; None if not."""
        ...

    def renew_all(self, leases: Sequence[Lease]) -> list[Lease]:
        """The same for many in one step, each on its own; returns those that were renewed."""
        ...

    def release(self, lease: Lease) -> bool:
        """Gives it up, if holder and epoch are still these."""
        ...


class Boxes(Protocol):
    """Which process belongs where, and what was observed there."""

    def assign(self, box: str, processes: Sequence[str]) -> list[str]:
        """Adds missing assignments, switched on; returns those added. Changes no other."""
        ...

    def assignments(self, box: str | None = None) -> list[Assignment]: ...

    def switch(self, box: str, process: str, is_on: bool, who: str, now: datetime) -> bool:
        """False if there is no such assignment. Journal `box.process_on` or `box.process_off`."""
        ...

    def report(self, box: str, observed: Sequence[ObservedProcess], now: datetime) -> None:
        """Replaces what was observed on the box, and notes that it was seen."""
        ...

    def observed(self, box: str | None = None) -> list[ObservedProcess]: ...

    def all(self) -> list[Box]: ...


class Facts(Protocol):
    """A few named strings: the timetable's start, the deployment's id, cursors."""

    def get(self, name: str) -> str | None: ...

    def set(self, name: str, value: str) -> None: ...

    def set_default(self, name: str, value: str) -> str:
        """Stores `value` unless there is one; returns the one that is stored."""
        ...


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line that a worker wrote while it carried out a unit."""

    at: datetime
    attempt: int
    level: str
    text: str


class UnitLogs(Protocol):
    """What workers wrote while they carried out units."""

    def append(self, unit: str, lines: Sequence[LogLine]) -> None: ...

    def of_unit(self, unit: str) -> list[LogLine]:
        """Oldest first."""
        ...


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message at rest in the store."""

    seq: int
    queue: str
    body: bytes


@dataclass(frozen=True, slots=True)
class DeadMessage:
    """A message that nobody could make sense of."""

    seq: int
    queue: str
    body: bytes
    reason: str
    at: datetime


class Messages(Protocol):
    """Rows behind the store-backed bus: first in, first out for each queue."""

    def put(self, queue: str, bodies: Sequence[bytes]) -> None: ...

    def take(self, queue: str, limit: int) -> list[StoredMessage]:
        """Takes the oldest away; inside a batch they are back if the batch does not commit.

        Two callers never receive the same message.
        """
        ...

    def depths(self) -> dict[str, int]:
        """How many messages wait in each queue that has any."""
        ...

    def bury(self, queue: str, body: bytes, reason: str, now: datetime) -> None: ...

    def buried(self, limit: int = 100) -> list[DeadMessage]:
        """Newest first."""
        ...

    def replay(self, seqs: Sequence[int] | None = None) -> dict[str, int]:
        """Puts buried messages (None: all) back into their queues; how many into each."""
        ...

    def purge(self, queue: str) -> int:
        """Drops all messages that wait in the queue."""
        ...

    def purge_buried(self, seqs: Sequence[int] | None = None) -> int:
        """Drops buried messages (None: all); how many."""
        ...


Record = dict[str, Any]
"""A part of a store as plain values, the same whatever engine it comes from; see `records`."""

Key = tuple[str | int, ...]
"""What records of a kind are unique and ordered by."""


class Transfer(Protocol):
    """Everything in the store as records, to be written into another one.

    For a store that nobody works with: what others write meanwhile may be read or not.
    """

    def counts(self) -> dict[str, int]:
        """About how many records there are of each kind."""
        ...

    def read(self, kind: str, after: Key) -> Iterator[Record]:
        """The records of a kind that follow a key, in order; few are in memory at a time."""
        ...

    def write(self, kind: str, records: Sequence[Record]) -> None:
        """Writes records into a store that has none but those of the same source.

        Writing them twice is as good as once. Numbers that the store gives afterwards are
        higher than those that were written.
        """
        ...


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """For `store status` and health checks; `rows` by table or collection."""

    engine: str
    location: str
    version: str
    schema: int
    size_bytes: int
    rows: Mapping[str, int]
    warnings: Sequence[str] = ()


class Store(Protocol):
    """Everything that is remembered. One object serves all threads of a process."""

    @property
    def jobs(self) -> Jobs: ...

    @property
    def units(self) -> Units: ...

    @property
    def documents(self) -> Documents: ...

    @property
    def journal(self) -> Journal: ...

    @property
    def controls(self) -> Controls: ...

    @property
    def leases(self) -> Leases: ...

    @property
    def boxes(self) -> Boxes: ...

    @property
    def facts(self) -> Facts: ...

    @property
    def logs(self) -> UnitLogs: ...

    @property
    def messages(self) -> Messages: ...

    @property
    def transfer(self) -> Transfer: ...

    def batch(self) -> AbstractContextManager[Batch]:
        """Writes of this thread within the block become durable together at its end.

        An engine without transactions writes in the order of the calls, so every prefix of a
        batch must be a legal state. Blocks within a block belong to the outermost. If the
        block raises, an engine with transactions undoes all of it.
        """
        ...

    def recover(self) -> int:
        """Finishes what writers left half done; returns how much that was.

        To be called now and then; harmless beside live writers. Engines with transactions have
        nothing to do.
        """
        ...

    def status(self) -> StoreStatus: ...

    def warnings(self) -> Sequence[str]:
        """What this store cannot promise as it is set up, in words for an operator."""
        ...

    def backup(self, target: Path, progress: Callable[[int, int], None] | None = None) -> None:
        """A consistent copy into a new file, while others work; progress(done, total) in pages."""
        ...

    def close(self) -> None: ...


def unique_documents(write: SinkWrite) -> dict[tuple[str, str], Document]:
    """The documents of a sink write by (timeperiod, key).

    Raises InvalidValue for one that comes twice, which would lose a row, and for one outside
    the range that the write replaces.
    """
    found: dict[tuple[str, str], Document] = {}
    for document in write.documents:
        place = (document.timeperiod, document.key)
        if place in found:
            raise InvalidValue(f"two documents {document.key!r} at {document.timeperiod}")
        if not write.start <= document.timeperiod < write.end:
            raise InvalidValue(
                f"document {document.key!r} at {document.timeperiod} lies outside "
                f"{write.start}..{write.end}"
            )
        found[place] = document
    return found
