"""A tree as a calendar: time downwards, a row for each parent of the finest periods.

The coarser processes are lanes beside the rows; each of their jobs spans the rows that it covers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from synergy.model.job import JobState
from synergy.timeperiod import Qualifier, covered
from synergy.timetable.timetable import Place

ROWS = 31
_YEARS = 10  # years in a row, where years are the finest periods
_COLUMNS = {
    Qualifier.HOURLY: 24,
    Qualifier.DAILY: 31,
    Qualifier.MONTHLY: 12,
    Qualifier.YEARLY: _YEARS,
}
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]


@dataclass(frozen=True, slots=True)
class Cell:
    """A job in the calendar, over `span` columns, or rows in a lane.

    `state` is the word that colours it. `marks` are `late`, `stale`, `unseen` and `open`. A cell
    without a process only names a time for which the tree has no job.
    """

    process: str
    timeperiod: str
    label: str
    span: int
    state: str = ""
    marks: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """The job in one line, worded as in `timetable_cells.js`."""
        words = ", ".join((self.state.replace("_", " "), *self.marks))
        return f"{self.process} {self.timeperiod}: {words}"


@dataclass(frozen=True, slots=True)
class Row:
    """A row: the lanes that begin in it (None: continued from above), and its periods.

    A period that is None is not in the timetable.
    """

    lanes: tuple[Cell | None, ...]
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True, slots=True)
class Calendar:
    """A window of a tree's calendar, newest first.

    `heads` name the lanes (process, or "" and the word for the time), `columns` the periods of
    a row. `older` and `newer` are the timeperiods at which the neighbouring windows begin.
    """

    heads: tuple[tuple[str, str], ...]
    finest: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    older: str | None
    newer: str | None


def calendar(
    places: Sequence[Place], now: datetime, at: str | None = None, rows: int = ROWS
) -> Calendar:
    """The calendar from the row with timeperiod `at` on; its newest rows without `at`.

    `places` are those of one tree, coarse to fine. Raises InvalidValue for an invalid `at`.
    """
    finest = places[-1]
    axis = _Axis(finest)
    first = axis.last - rows + 1 if at is None else axis.row(finest.process.qualifier.cast(at))
    begin = max(min(first, axis.last), axis.first)
    end = min(begin + rows, axis.last + 1)
    lanes = [_Lane(axis, q, _of(places, q), now, range(begin, end)) for q in axis.coarser]
    fine = _Fine(axis, finest, now)
    return Calendar(
        heads=tuple((lane.process, lane.word) for lane in lanes),
        finest=finest.process.name,
        columns=axis.columns,
        rows=tuple(
            Row(tuple(lane.cell(row) for lane in lanes), tuple(fine.cells(row)))
            for row in reversed(range(begin, end))
        ),
        older=axis.timeperiod(max(begin - rows, axis.first)) if begin > axis.first else None,
        newer=axis.timeperiod(end) if end <= axis.last else None,
    )


class _Axis:
    """The meaning of a row: a day of hours, a month of days, a year of months, or ten years."""

    def __init__(self, finest: Place) -> None:
        self._finest = finest.process.qualifier
        order = list(Qualifier)
        rank = self._finest.rank
        self.unit = order[rank + 1] if rank < Qualifier.YEARLY.rank else None
        self.coarser = tuple(reversed(order[rank + 1 :]))
        self.columns = _names(self._finest)
        self.first = self.row(finest.level.start)
        self.last = self.row(finest.level.end - 1)

    def row(self, ordinal: int) -> int:
        """The row that holds a finest period."""
        return ordinal // _YEARS if self.unit is None else self._finest.up(ordinal, self.unit)

    def periods(self, row: int) -> range:
        if self.unit is None:
            return range(row * _YEARS, (row + 1) * _YEARS)
        return range(*self.unit.down(row, self._finest))

    def timeperiod(self, row: int) -> str:
        """The first finest period of a row."""
        return self._finest.timeperiod(self.periods(row)[0])

    def rows(self, qualifier: Qualifier, first: int, end: int) -> range:
        """The rows of the coarser periods `[first, end)`."""
        assert self.unit is not None
        return range(qualifier.down(first, self.unit)[0], qualifier.down(end, self.unit)[0])


class _Lane:
    """A coarser process beside the rows; only the names of its times, if the tree has none."""

    def __init__(
        self, axis: _Axis, qualifier: Qualifier, place: Place | None, now: datetime, rows: range
    ) -> None:
        self._axis = axis
        self._qualifier = qualifier
        self._jobs = None if place is None else _Jobs(place, now)
        self._rows = rows
        self.process = "" if place is None else place.process.name
        self.word = {"daily": "day"}.get(qualifier.value, qualifier.value.removesuffix("ly"))

    def cell(self, row: int) -> Cell | None:
        """The lane in a row; None if it began in a newer one."""
        assert self._axis.unit is not None
        ordinal = self._axis.unit.up(row, self._qualifier)
        first, end = ordinal, ordinal + 1
        if self._jobs is not None:
            first, end = self._jobs.span(ordinal)
        rows = self._axis.rows(self._qualifier, first, end)
        shown = range(max(rows[0], self._rows[0]), min(rows[-1], self._rows[-1]) + 1)
        if row != shown[-1]:
            return None
        name = label(self._qualifier, end - 1)
        if end - first > 1:
            name = f"{label(self._qualifier, first)} to {name}"
        if self._jobs is None:
            return Cell("", self._qualifier.timeperiod(ordinal), name, len(shown))
        return self._jobs.cell(end - 1, name, len(shown))


class _Fine:
    """The finest process, in the rows."""

    def __init__(self, axis: _Axis, place: Place, now: datetime) -> None:
        self._axis = axis
        self._jobs = _Jobs(place, now)
        self._level = place.level

    def cells(self, row: int) -> Iterator[Cell | None]:
        periods = self._axis.periods(row)
        at = periods[0]
        while at in periods:
            first, end = self._jobs.span(at)
            if self._level.holds(end - 1):
                yield self._jobs.cell(
                    end - 1, self._axis.columns[end - 1 - periods[0]], end - first
                )
            else:
                yield from [None] * (end - first)
            at = end


class _Jobs:
    """The jobs of a process at an instant."""

    def __init__(self, place: Place, now: datetime) -> None:
        self._place = place
        self._closed = place.process.closed_before(now)
        self._late = place.process.late_before(now)

    def span(self, ordinal: int) -> tuple[int, int]:
        """The half-open range of periods that the job of this one covers."""
        process = self._place.process
        job = self._place.level.checkpoint(ordinal)
        return covered(process.qualifier, job, process.time_grouping) or (job, job + 1)

    def cell(self, ordinal: int, name: str, span: int) -> Cell:
        level = self._place.level
        if not level.holds(ordinal):
            return Cell("", level.timeperiod(ordinal), name, span)
        state = level.state(ordinal)
        marks = [
            mark
            for mark, is_so in (
                ("late", state.is_pending and ordinal < self._late),
                ("stale", level.is_stale(ordinal) and state is not JobState.SKIPPED),
                ("unseen", level.is_stale(ordinal) and state is JobState.SKIPPED),
                ("open", state.is_active and ordinal >= self._closed),
            )
            if is_so
        ]
        process = self._place.process.name
        return Cell(process, level.timeperiod(ordinal), name, span, state.word, tuple(marks))


def label(qualifier: Qualifier, ordinal: int) -> str:
    """The name of a period within the next coarser one: 2026, Nov, 21 Sat."""
    start = qualifier.start(ordinal)
    match qualifier:
        case Qualifier.YEARLY:
            return str(start.year)
        case Qualifier.MONTHLY:
            return _MONTHS[start.month - 1]
        case Qualifier.DAILY:
            return f"{start:%d} {_DAYS[start.weekday()]}"
        case Qualifier.HOURLY:
            return f"{start:%H}"


def _names(finest: Qualifier) -> tuple[str, ...]:
    count = _COLUMNS[finest]
    match finest:
        case Qualifier.HOURLY:
            return tuple(f"{hour:02}" for hour in range(count))
        case Qualifier.DAILY:
            return tuple(str(day + 1) for day in range(count))
        case Qualifier.MONTHLY:
            return tuple(_MONTHS)
        case Qualifier.YEARLY:
            return tuple(str(year) for year in range(count))


def _of(places: Sequence[Place], qualifier: Qualifier) -> Place | None:
    return next((place for place in places if place.process.qualifier is qualifier), None)
