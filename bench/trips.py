"""Round trips to a MongoDB store for a unit: the commands that the driver sends.

They are counted, not timed, so any server is suitable that the engine can use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache

from pymongo import monitoring

from bench.contexts.noop import PROCESS
from bench.figures import BenchFailed, Figure
from bench.history import new_unit
from bench.mongodb import new_database
from bench.stage import Lab
from synergy.clock import SystemClock
from synergy.messaging.message import UnitMessage, encode
from synergy.model.job import JobChange, JobState
from synergy.model.unit_of_work import (
    Conclusion,
    Document,
    Hint,
    SinkWrite,
    UnitOfWork,
    UnitState,
)
from synergy.storage.protocol import Store
from synergy.timeperiod import Qualifier

GROUPS = (1, 10, 100)
ROWS = 10  # the rows of a unit that writes any
OWNER = "bench"
_FIRST = Qualifier.HOURLY.parse("2000010100")
_PLAIN = (
    "create",
    "move jobs to in progress",
    "note that it was published",
    "claim",
    "conclude, no rows",
    "follow the journal",
    "move jobs to processed",
)


class Commands(monitoring.CommandListener):
    """Counts the commands that are sent to the server."""

    def __init__(self) -> None:
        self.count = 0

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        self.count += 1

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        """Does nothing: `started` counted it."""

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        """Does nothing: `started` counted it."""


@cache
def commands() -> Commands:
    """The counter of all clients that are created from now on; it cannot be unregistered."""
    found = Commands()
    monitoring.register(found)
    return found


def measure(lab: Lab, size: int) -> list[Figure]:
    """Commands a unit, at each step of it, for groups of up to `size` units."""
    counted = commands()
    with new_database(lab) as stage:
        life = Life(stage.store, counted)
        life.of(1)  # the first unit creates collections
        found = {group: life.of(group) for group in GROUPS if group <= size}
    return [
        Figure(f"{step}, {_groups(group)}", count / group, "trips/unit")
        for group, counts in found.items()
        for step, count in _with_sum(counts).items()
    ]


def _with_sum(counts: Counter[str]) -> dict[str, int]:
    return {"all, without rows": sum(counts[step] for step in _PLAIN), **counts}


def _groups(size: int) -> str:
    return "one by one" if size == 1 else f"groups of {size}"


class Life:
    """The steps of groups of units, from their creation to the end of their jobs."""

    def __init__(self, store: Store, counted: Commands) -> None:
        self._store = store
        self._counted = counted
        self._next = _FIRST
        self._read = 0
        self._clock = SystemClock()

    def of(self, group: int) -> Counter[str]:
        """The commands of each step, for a group without rows and one with rows."""
        counts: Counter[str] = Counter()
        units = self._units(group)
        self._begin(units, counts)
        self._step(counts, "conclude, no rows", lambda: self._conclude(units, rows=0))
        self._step(counts, "follow the journal", self._follow)
        self._step(counts, "move jobs to processed", lambda: self._finish(units))
        others = self._units(group)
        self._begin(others, Counter())
        self._step(counts, f"conclude, {ROWS} rows", lambda: self._conclude(others, ROWS))
        self._follow()
        self._messages(others, counts)
        return counts

    def _step(self, counts: Counter[str], name: str, act: Callable[[], object]) -> None:
        before = self._counted.count
        with self._store.batch():
            act()
        counts[name] += self._counted.count - before

    def _units(self, group: int) -> list[UnitOfWork]:
        first, self._next = self._next, self._next + group
        return [
            new_unit(PROCESS, ordinal, self._clock.now()) for ordinal in range(first, first + group)
        ]

    def _begin(self, units: Sequence[UnitOfWork], counts: Counter[str]) -> None:
        store, now = self._store, self._clock.now()
        hints = [Hint(unit.id, unit.attempt) for unit in units]
        first = Qualifier.HOURLY.parse(units[0].timeperiod)
        move = _move(first, first + len(units) - 1, JobState.EMBRYO, JobState.IN_PROGRESS)
        self._step(counts, "create", lambda: store.units.create(units, OWNER))
        self._step(counts, "move jobs to in progress", lambda: store.jobs.move([move], now))
        self._step(counts, "note that it was published", lambda: store.units.published(hints, now))
        self._step(counts, "claim", lambda: store.units.claim(hints, OWNER, now))

    def _conclude(self, units: Sequence[UnitOfWork], rows: int) -> None:
        ends = [
            Conclusion(
                unit.id, unit.attempt, OWNER, UnitState.PROCESSED, writes=_writes(unit, rows)
            )
            for unit in units
        ]
        if self._store.units.conclude(ends, self._clock.now()):
            raise BenchFailed("the store refused conclusions")

    def _follow(self) -> None:
        """Reads the journal as the scheduler does."""
        newest = self._store.journal.last_seq()
        self._store.journal.since(self._read, 5000, besides="the scheduler")
        self._read = newest

    def _finish(self, units: Sequence[UnitOfWork]) -> None:
        moves = [
            _move(ordinal, ordinal, JobState.IN_PROGRESS, JobState.PROCESSED, unit.id)
            for unit in units
            for ordinal in [Qualifier.HOURLY.parse(unit.timeperiod)]
        ]
        if self._store.jobs.move(moves, self._clock.now()):
            raise BenchFailed("the store refused moves")

    def _messages(self, units: Sequence[UnitOfWork], counts: Counter[str]) -> None:
        """Puts and takes messages, as if the store were the bus."""
        messages = self._store.messages
        bodies = [encode(UnitMessage(unit.id, unit.attempt)) for unit in units]
        self._step(counts, "put its message, if kept here", lambda: messages.put(PROCESS, bodies))
        self._step(
            counts, "take its message, if kept here", lambda: messages.take(PROCESS, len(units))
        )


def _move(
    first: int, last: int, before: JobState, after: JobState, unit: str | None = None
) -> JobChange:
    return JobChange(PROCESS, Qualifier.HOURLY, first, last, before, after, 1, "", OWNER, unit=unit)


def _writes(unit: UnitOfWork, rows: int) -> tuple[SinkWrite, ...]:
    hour = unit.timeperiod
    documents = tuple(Document(str(number), hour, {"number": number}) for number in range(rows))
    return (SinkWrite("bench_rows", hour, unit.end_timeperiod, documents),) if rows else ()
