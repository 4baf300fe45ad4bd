"""Trees with the jobs of a window, each with its reason in one line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from synergy.lifecycle.decision import Gate
from synergy.lifecycle.situations import unfinished_because
from synergy.model.job import JobState
from synergy.model.journal import JournalEntry, job_event
from synergy.model.journal_event import JournalEvent
from synergy.model.process import Tree
from synergy.model.switches import is_switched_on
from synergy.model.unit_of_work import UnitOfWork
from synergy.queries.timetable.reasons import in_a_line
from synergy.queries.views import JobView, LevelView, TreeView, Window, skip_cause
from synergy.storage.protocol import StoreView
from synergy.timetable.timetable import Place, Timetable

_EXPLAINED = (JobState.NOOP, JobState.SKIPPED, JobState.FAILED, JobState.GIVEN_UP)
_ENOUGH = 20  # entries of a job that are searched for the one about its end


def tree_views(
    store: StoreView,
    timetable: Timetable,
    trees: Iterable[Tree],
    window: Window | None,
    now: datetime,
) -> list[TreeView]:
    """The trees with their processes, and with the jobs of the window if there is one."""
    controls = store.controls.all()

    def level(name: str) -> LevelView:
        place = timetable.place(name)
        is_on = is_switched_on(place.process, controls.get(name))
        return LevelReader(store, place, now, is_on=is_on).view(window)

    return [
        TreeView(tree.name, tree.dependent_on, tuple(map(level, tree.processes))) for tree in trees
    ]


class LevelReader:
    """Reads one process of a loaded timetable."""

    def __init__(self, store: StoreView, place: Place, now: datetime, *, is_on: bool) -> None:
        self._store = store
        self._place = place
        self._gate = Gate(is_on)
        self._closed = place.process.closed_before(now)
        self._known: JournalEntry | None = None

    def view(self, window: Window | None) -> LevelView:
        """The level, with the jobs of the window if there is one."""
        level, name = self._place.level, self._place.level.timeperiod
        return LevelView(
            name=level.process.name,
            qualifier=level.process.qualifier.value,
            counts={state.word: level.counts[state] for state in JobState},
            first=name(level.start),
            last=name(level.end - 1),
            frontier=name(level.frontier) if level.frontier < level.end else None,
            jobs=None if window is None else tuple(self.jobs(window.within(level))),
        )

    def jobs(self, ordinals: Sequence[int]) -> Iterator[JobView]:
        """Some jobs of the level, given in rising order."""
        level = self._place.level
        units = self._newest_units(ordinals)
        for ordinal in ordinals:
            unit = units.get(ordinal)
            yield JobView(
                level.timeperiod(ordinal),
                level.state(ordinal).public,
                skip_cause(level, ordinal),
                level.generation(ordinal),
                None if unit is None else unit.id,
                self._reason(ordinal, unit),
                level.is_stale(ordinal),
            )

    def _newest_units(self, ordinals: Sequence[int]) -> dict[int, UnitOfWork]:
        """The newest unit of each job's present generation."""
        level, found = self._place.level, dict[int, UnitOfWork]()
        for first, last in _neighbours(ordinals):
            for unit in self._units(level.timeperiod(first), level.timeperiod(last)):
                ordinal = level.find(unit.timeperiod)
                if ordinal is not None and unit.generation == level.generation(ordinal):
                    found.setdefault(ordinal, unit)
        return found

    def _units(self, first: str, last: str) -> list[UnitOfWork]:
        process, units = self._place.process.name, self._store.units
        return (
            units.newest(process, first, 1)
            if first == last
            else units.of_jobs(process, first, last)
        )

    def _reason(self, ordinal: int, unit: UnitOfWork | None) -> str:
        level = self._place.level
        state = level.state(ordinal)
        if state is JobState.SKIPPED and level.is_acknowledged(ordinal):
            return self._said(ordinal, JournalEvent.JOB_ACKNOWLEDGED)
        # The reason given for a skip says more than a later change of the source.
        if state.is_finished and level.is_stale(ordinal) and state is not JobState.SKIPPED:
            return self._said(ordinal, JournalEvent.JOB_STALE)
        if state in _EXPLAINED:
            return self._said(ordinal, job_event(state))
        if state.is_finished or ordinal >= self._closed:
            return ""
        units = [] if unit is None else [unit]
        reason = unfinished_because(self._place, ordinal, units, self._gate, is_closed=True)
        return in_a_line(reason, self._place, ordinal, unit)

    def _said(self, ordinal: int, event: JournalEvent) -> str:
        """The reason in the journal; neighbours that moved together share the entry."""
        level = self._place.level
        name = level.timeperiod(ordinal)
        known = self._known
        if (
            known is None
            or known.event != event
            or known.generation != level.generation(ordinal)
            or not known.first <= name <= known.last
        ):
            entries = self._store.journal.of_job(level.process.name, name, _ENOUGH)
            known = next((entry for entry in entries if entry.event == event), None)
            self._known = known
        return "" if known is None else known.why


def _neighbours(ordinals: Iterable[int]) -> Iterator[tuple[int, int]]:
    """The first and the last ordinal of each run of consecutive ones."""
    first = last = None
    for ordinal in ordinals:
        if first is None or last is None:
            first = ordinal
        elif ordinal != last + 1:
            yield first, last
            first = ordinal
        last = ordinal
    if first is not None and last is not None:
        yield first, last
