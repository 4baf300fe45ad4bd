"""Wait queues: a change re-evaluates only the pending runs that it can affect.

Runs that wait for the same keys under the same rules share a queue, ordered by priority, then by
age: while the first must wait, all must. A queue is evaluated when one of its keys changed, a
single run when its time has come.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from datetime import datetime
from heapq import heapify, heappop, heappush

from synergy.model.schedule import Run

_Position = tuple[int, datetime, datetime, str]


class _WaitQueue:
    """Runs in order. One that left stays in the heap until it comes first."""

    def __init__(self, awaits: frozenset[str]) -> None:
        self.awaits = awaits
        self._members: set[str] = set()
        self._heap: list[_Position] = []
        self._in_heap: set[str] = set()

    def __contains__(self, run: str) -> bool:
        return run in self._members

    def add(self, position: _Position) -> None:
        run = position[3]
        self._members.add(run)
        if run not in self._in_heap:
            self._in_heap.add(run)
            heappush(self._heap, position)

    def remove(self, run: str) -> None:
        self._members.discard(run)

    def first(self) -> _Position | None:
        while self._heap and self._heap[0][3] not in self._members:
            self._in_heap.discard(heappop(self._heap)[3])
        return self._heap[0] if self._heap else None


class WaitQueues:
    """The queue, the position and the alarm of each pending run."""

    def __init__(self) -> None:
        self._queues: dict[Hashable, _WaitQueue] = {}
        self._queue_of: dict[str, Hashable] = {}
        self._positions: dict[str, _Position] = {}
        self._by_key: defaultdict[str, set[Hashable]] = defaultdict(set)
        self._alarms: list[tuple[datetime, str]] = []
        self._alarm_of: dict[str, datetime] = {}
        self._dirty_runs: set[str] = set()  # evaluated whatever their position
        self._dirty_queues: set[Hashable] = set()

    def __len__(self) -> int:
        return len(self._positions)

    def add(self, run: Run) -> None:
        """Adds a run that is new, or is to be evaluated again."""
        self.remove(run.id)
        self._positions[run.id] = position_of(run)
        self._dirty_runs.add(run.id)

    def enqueue(
        self, run: Run, name: Hashable, awaits: frozenset[str], again_at: datetime | None
    ) -> None:
        """Puts a run into a queue until one of `awaits` changes, or until `again_at`."""
        if self._queue_of.get(run.id) != name:
            self.remove(run.id)
        self._dirty_runs.discard(run.id)
        self._positions[run.id] = position_of(run)
        self._queue_of[run.id] = name
        self._queue(name, awaits).add(self._positions[run.id])
        self._alarm_of.pop(run.id, None)
        if again_at is not None:
            self._alarm_of[run.id] = again_at
            heappush(self._alarms, (again_at, run.id))

    def remove(self, run: str) -> None:
        """Removes a run that is no longer pending."""
        self._positions.pop(run, None)
        self._dirty_runs.discard(run)
        self._alarm_of.pop(run, None)
        name = self._queue_of.pop(run, None)
        if name is not None:
            self._queues[name].remove(run)
            self._drop_if_empty(name)

    def mark_dirty(self, keys: Iterable[str]) -> None:
        """Marks the queues that wait for these keys."""
        for key in keys:
            self._dirty_queues |= self._by_key.get(key, set())

    def awaits(self, key: str) -> bool:
        """Whether a queue waits for the key."""
        return key in self._by_key

    def wake_due(self, now: datetime) -> None:
        """Marks the runs whose alarm is due."""
        while self._alarms and self._alarms[0][0] <= now:
            at, run = heappop(self._alarms)
            if self._alarm_of.get(run) == at:
                del self._alarm_of[run]
                self._dirty_runs.add(run)

    def next_alarm(self) -> datetime | None:
        """The earliest alarm."""
        if len(self._alarms) > 2 * len(self._alarm_of) + 100:
            self._alarms = [(at, run) for run, at in self._alarm_of.items()]
            heapify(self._alarms)
        while self._alarms and self._alarm_of.get(self._alarms[0][1]) != self._alarms[0][0]:
            heappop(self._alarms)
        return self._alarms[0][0] if self._alarms else None

    @property
    def is_clean(self) -> bool:
        """Whether nothing is to be evaluated."""
        return not self._dirty_runs and not self._dirty_queues

    def dirty_runs(self) -> list[str]:
        """The runs to be evaluated whatever their position."""
        return list(self._dirty_runs)

    def to_evaluate(self) -> Iterator[str]:
        """The runs to evaluate, in order; the caller removes or enqueues each before the next."""
        ready: list[tuple[_Position, Hashable | None]] = [
            (self._positions[run], None) for run in self._dirty_runs
        ]
        ready += [
            (first, name)
            for name in self._dirty_queues
            if (first := self._queues[name].first()) is not None
        ]
        ready.sort(key=lambda one: one[0])
        heap = _Ready(ready)
        while heap:
            (*_, run), name = heap.pop()
            if name is None:
                if run in self._dirty_runs:
                    yield run
                continue
            yield from self._next_of(name, run, heap)

    def _next_of(self, name: Hashable, run: str, heap: _Ready) -> Iterator[str]:
        queue = self._queues.get(name)
        if queue is not None and run in queue:
            yield run
            if run in queue:
                self._dirty_queues.discard(name)  # the first must wait, so all must
                return
        first = queue.first() if queue is not None and name in self._dirty_queues else None
        if first is not None:
            heap.push(first, name)
        else:
            self._dirty_queues.discard(name)

    def _queue(self, name: Hashable, awaits: frozenset[str]) -> _WaitQueue:
        queue = self._queues.get(name)
        if queue is None:
            queue = self._queues[name] = _WaitQueue(awaits)
            for key in awaits:
                self._by_key[key].add(name)
        return queue

    def _drop_if_empty(self, name: Hashable) -> None:
        queue = self._queues[name]
        if queue.first() is not None:
            return
        del self._queues[name]
        self._dirty_queues.discard(name)
        for key in queue.awaits:
            self._by_key[key].discard(name)
            if not self._by_key[key]:
                del self._by_key[key]


class _Ready:
    """A heap by position; names of queues need not be comparable."""

    def __init__(self, ready: list[tuple[_Position, Hashable | None]]) -> None:
        self._heap = [(position, number, name) for number, (position, name) in enumerate(ready)]
        self._number = len(ready)

    def __bool__(self) -> bool:
        return bool(self._heap)

    def pop(self) -> tuple[_Position, Hashable | None]:
        position, _, name = heappop(self._heap)
        return position, name

    def push(self, position: _Position, name: Hashable) -> None:
        self._number += 1
        heappush(self._heap, (position, self._number, name))


def position_of(run: Run) -> _Position:
    """A sort key: a higher priority first, then the older run."""
    return (-run.priority, run.created_at, run.due_at, run.id)
