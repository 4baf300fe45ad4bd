"""Pending jobs in lines, so that a change costs what it may change.

Jobs that wait for the same things under the same rules stand in one line, first by priority,
then by age: while its first must wait, so must all. A line is looked at when something that it
waits for changed; a job when its time came. Nothing else is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from datetime import datetime
from heapq import heapify, heappop, heappush

from synergy.model.schedule import Run

_Order = tuple[int, datetime, datetime, str]


class _WaitQueue:
    """Who stands in it, in order; who left is only forgotten when he would come first."""

    def __init__(self, awaits: frozenset[str]) -> None:
        self.awaits = awaits
        self._members: set[str] = set()
        self._heap: list[_Order] = []
        self._in_heap: set[str] = set()

    def __contains__(self, run: str) -> bool:
        return run in self._members

    def join(self, place: _Order) -> None:
        self._members.add(place[3])
        if place[3] not in self._in_heap:
            self._in_heap.add(place[3])
            heappush(self._heap, place)

    def leave(self, run: str) -> None:
        self._members.discard(run)

    def first(self) -> _Order | None:
        while self._heap and self._heap[0][3] not in self._members:
            self._in_heap.discard(heappop(self._heap)[3])
        return self._heap[0] if self._heap else None


class WaitQueues:
    """Where each pending job stands."""

    def __init__(self) -> None:
        self._lines: dict[Hashable, _WaitQueue] = {}
        self._line_of: dict[str, Hashable] = {}
        self._places: dict[str, _Order] = {}
        self._by_key: defaultdict[str, set[Hashable]] = defaultdict(set)
        self._alarms: list[tuple[datetime, str]] = []
        self._alarm_of: dict[str, datetime] = {}
        self._singled: set[str] = set()  # to be looked at whoever stands before them
        self._stirred: set[Hashable] = set()

    def __len__(self) -> int:
        return len(self._places)

    def enter(self, run: Run) -> None:
        """A job that was not looked at yet, or is to be looked at again."""
        self.leave(run.id)
        self._places[run.id] = order(run)
        self._singled.add(run.id)

    def place(
        self, run: Run, line: Hashable, awaits: frozenset[str], again_at: datetime | None
    ) -> None:
        """Lets a job wait in a line until one of `awaits` changes, or `again_at`."""
        if self._line_of.get(run.id) != line:
            self.leave(run.id)
        self._singled.discard(run.id)
        self._places[run.id] = order(run)
        self._line_of[run.id] = line
        self._open(line, awaits).join(self._places[run.id])
        self._alarm_of.pop(run.id, None)
        if again_at is not None:
            self._alarm_of[run.id] = again_at
            heappush(self._alarms, (again_at, run.id))

    def leave(self, run: str) -> None:
        """The job is pending no more."""
        self._places.pop(run, None)
        self._singled.discard(run)
        self._alarm_of.pop(run, None)
        name = self._line_of.pop(run, None)
        if name is not None:
            self._lines[name].leave(run)
            self._tidy(name)

    def stir(self, keys: Iterable[str]) -> None:
        """Something of these keys changed."""
        for key in keys:
            self._stirred |= self._by_key.get(key, set())

    def awaits(self, key: str) -> bool:
        """Whether anybody waits for the key."""
        return key in self._by_key

    def ring(self, now: datetime) -> None:
        """Has the jobs looked at whose time came."""
        while self._alarms and self._alarms[0][0] <= now:
            at, run = heappop(self._alarms)
            if self._alarm_of.get(run) == at:
                del self._alarm_of[run]
                self._singled.add(run)

    def next_alarm(self) -> datetime | None:
        """When the next job's time comes."""
        if len(self._alarms) > 2 * len(self._alarm_of) + 100:
            self._alarms = [(at, run) for run, at in self._alarm_of.items()]
            heapify(self._alarms)
        while self._alarms and self._alarm_of.get(self._alarms[0][1]) != self._alarms[0][0]:
            heappop(self._alarms)
        return self._alarms[0][0] if self._alarms else None

    @property
    def is_calm(self) -> bool:
        """Whether nobody is to be looked at."""
        return not self._singled and not self._stirred

    def fresh(self) -> list[str]:
        """The jobs to be looked at whoever stands before them."""
        return list(self._singled)

    def heads(self) -> Iterator[str]:
        """The jobs to be looked at, in order; each is to leave or be placed before the next."""
        ready: list[tuple[_Order, Hashable | None]] = [
            (self._places[run], None) for run in self._singled
        ]
        ready += [
            (first, name)
            for name in self._stirred
            if (first := self._lines[name].first()) is not None
        ]
        ready.sort(key=lambda one: one[0])
        heap = _Ready(ready)
        while heap:
            (*_, run), name = heap.pop()
            if name is None:
                if run in self._singled:
                    yield run
                continue
            yield from self._next_of(name, run, heap)

    def _next_of(self, name: Hashable, run: str, heap: _Ready) -> Iterator[str]:
        line = self._lines.get(name)
        if line is not None and run in line:
            yield run
            if run in line:
                self._stirred.discard(name)  # it must wait, so all must
                return
        first = line.first() if line is not None and name in self._stirred else None
        if first is not None:
            heap.push(first, name)
        else:
            self._stirred.discard(name)

    def _open(self, name: Hashable, awaits: frozenset[str]) -> _WaitQueue:
        line = self._lines.get(name)
        if line is None:
            line = self._lines[name] = _WaitQueue(awaits)
            for key in awaits:
                self._by_key[key].add(name)
        return line

    def _tidy(self, name: Hashable) -> None:
        """Forgets a line in which nobody stands."""
        line = self._lines[name]
        if line.first() is not None:
            return
        del self._lines[name]
        self._stirred.discard(name)
        for key in line.awaits:
            self._by_key[key].discard(name)
            if not self._by_key[key]:
                del self._by_key[key]


class _Ready:
    """A heap by place; lines need not be comparable."""

    def __init__(self, ready: list[tuple[_Order, Hashable | None]]) -> None:
        self._heap = [(place, number, name) for number, (place, name) in enumerate(ready)]
        self._number = len(ready)

    def __bool__(self) -> bool:
        return bool(self._heap)

    def pop(self) -> tuple[_Order, Hashable | None]:
        place, _, name = heappop(self._heap)
        return place, name

    def push(self, place: _Order, name: Hashable) -> None:
        self._number += 1
        heappush(self._heap, (place, self._number, name))


def order(run: Run) -> _Order:
    """Who comes first: a higher priority, then the older."""
    return (-run.priority, run.created_at, run.due_at, run.id)
