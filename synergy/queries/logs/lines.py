"""Slices of a log by line number, forward and backward, of all lines or of matching ones.

Lines are numbered from 1 in the order in which they were written. One call reads and returns a
bounded amount, however long the log is, with the position to continue from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

MOST_SHOWN = 1_000_000  # characters (or bytes) of the lines of one answer with several lines
MOST_SEARCHED = 32_000_000  # characters (or bytes) that are read for one answer
LEVELS = ("debug", "info", "warning", "error", "critical")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a log.

    `at` is an ISO 8601 instant and `level` one of LEVELS; both are "" for a line that is not JSON,
    which is all `message`. `more` are its other fields.
    """

    number: int
    at: str
    level: str
    event: str
    message: str
    more: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a rotated log; its `id` stays the same until its lines are deleted."""

    id: str
    lines: int


@dataclass(frozen=True, slots=True)
class LogSlice:
    """Neighbouring lines, oldest first, of `total`.

    Older lines are those before `previous`, newer ones those after `next`; None where there are
    none now. With a filter there may be a `next` although `items` is empty: as many lines were
    searched as one answer allows.
    """

    total: int
    parts: tuple[Part, ...]
    items: tuple[Line, ...]
    previous: int | None
    next: int | None


@dataclass(frozen=True, slots=True)
class Matches:
    """The numbers of matching lines; `next` as in LogSlice."""

    total: int
    parts: tuple[Part, ...]
    numbers: tuple[int, ...]
    next: int | None


@dataclass(frozen=True, slots=True)
class Wanted:
    """A filter: lines with `text`, in any case, of at least `level`; "" means any."""

    text: str = ""
    level: str = ""

    @property
    def levels(self) -> tuple[str, ...]:
        """The wanted levels; all of them if `level` is ""."""
        return LEVELS[LEVELS.index(self.level) :] if self.level else LEVELS


Raw = TypeVar("Raw")


class Log(Protocol[Raw]):
    """A log as it was when it was opened."""

    @property
    def total(self) -> int: ...

    @property
    def parts(self) -> tuple[Part, ...]: ...

    def after(self, number: int) -> Iterator[Raw]:
        """The lines after that number, oldest first."""
        ...

    def before(self, number: int) -> Iterator[Raw]:
        """The lines before that number, newest first."""
        ...

    def matcher(self, wanted: Wanted) -> Callable[[Raw], bool]:
        """A function that returns whether a line is wanted."""
        ...

    def size(self, raw: Raw) -> int: ...

    def line(self, number: int, raw: Raw) -> Line: ...


def after(log: Log[Raw], number: int, limit: int, wanted: Wanted = Wanted()) -> LogSlice:
    """The first `limit` lines after that number."""
    number = min(number, log.total)
    scan = _Scan(log, wanted, limit, MOST_SHOWN)
    for at, raw in enumerate(log.after(number), number + 1):
        if not scan.takes(at, raw):
            break
    reached = number if scan.last is None else scan.last
    return LogSlice(
        total=log.total,
        parts=log.parts,
        items=tuple(log.line(*one) for one in scan.found),
        previous=number + 1 if number else None,
        next=reached if reached < log.total else None,
    )


def before(log: Log[Raw], number: int, limit: int, wanted: Wanted = Wanted()) -> LogSlice:
    """The last `limit` lines before that number."""
    number = min(number, log.total + 1)
    scan = _Scan(log, wanted, limit, MOST_SHOWN)
    for distance, raw in enumerate(log.before(number), 1):
        if not scan.takes(number - distance, raw):
            break
    reached = number if scan.last is None else scan.last
    return LogSlice(
        total=log.total,
        parts=log.parts,
        items=tuple(log.line(*one) for one in reversed(scan.found)),
        previous=reached if reached > 1 else None,
        next=number - 1 if number <= log.total else None,
    )


def matches(log: Log[Raw], number: int, limit: int, wanted: Wanted) -> Matches:
    """The numbers of the first `limit` wanted lines after that number."""
    number = min(number, log.total)
    scan = _Scan(log, wanted, limit, MOST_SEARCHED)
    for at, raw in enumerate(log.after(number), number + 1):
        if not scan.takes(at, raw):
            break
    reached = number if scan.last is None else scan.last
    numbers = tuple(at for at, _ in scan.found)
    return Matches(log.total, log.parts, numbers, reached if reached < log.total else None)


class _Scan(Generic[Raw]):
    """Collects wanted lines until the limits of one answer are reached."""

    def __init__(self, log: Log[Raw], wanted: Wanted, limit: int, most_shown: int) -> None:
        self.found: list[tuple[int, Raw]] = []
        self.last: int | None = None
        self._size = log.size
        self._is_wanted = None if wanted == Wanted() else log.matcher(wanted)
        self._limit = limit
        self._may_show = most_shown
        self._may_look = MOST_SEARCHED

    def takes(self, number: int, raw: Raw) -> bool:
        """Examines a line, and collects it if wanted; False if a limit ends the scan before it."""
        size = self._size(raw)
        if len(self.found) >= self._limit or self._may_look <= 0:
            return False
        if self._is_wanted is None or self._is_wanted(raw):
            if self.found and size > self._may_show:
                return False
            self.found.append((number, raw))
            self._may_show -= size
        self._may_look -= size
        self.last = number
        return True
