"""The progress of the processes of a tree, and the states of a window, run-length encoded.

For trees of many years, states are counted in the bytes of a level, never one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from synergy.model.job import STALE_FLAG, JobState, bytes_of
from synergy.model.process import Tree
from synergy.queries.views import Window
from synergy.timetable.level import Level
from synergy.timetable.timetable import Timetable

STALE = "stale"

Run = tuple[str, int] | tuple[str, int, str]
"""A state, the number of neighbours in it, and STALE if they are marked so."""

_BYTES = {byte: (state.word, byte & STALE_FLAG) for state in JobState for byte in bytes_of(state)}
_ALIKE = [bytes(byte for byte, run in _BYTES.items() if run == one) for one in set(_BYTES.values())]
_RUN = re.compile(b"|".join(b"[" + re.escape(some) + b"]+" for some in _ALIKE))


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a process; `counts` are all its jobs by state.

    `first` and `last` are the ends of its timetable; `frontier` is its first unfinished
    timeperiod, None if there is none. `late` of its jobs are late: neither finished nor failed,
    although their period closed (it ended, and has settled) more than the process's
    `resubmit_after` ago. `unseen` of its skipped jobs have a source that changed since, which is
    ignored until they are reprocessed.
    """

    name: str
    qualifier: str
    counts: Mapping[str, int]
    first: str
    last: str
    frontier: str | None
    late: int
    unseen: int


@dataclass(frozen=True, slots=True)
class TreeProgress:
    """A tree, its processes from coarse to fine."""

    name: str
    mx_name: str
    mx_page: str
    dependent_on: tuple[str, ...]
    processes: tuple[Progress, ...]


@dataclass(frozen=True, slots=True)
class ProcessStates(Progress):
    """A process of a tree with the states of the window, whose first job is that of `begin`.

    `closed` is the first timeperiod that has not closed. Jobs before `late_before` that are
    neither finished nor failed are late.
    """

    time_grouping: int
    closed: str
    late_before: str
    begin: str
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class TreeStates:
    """A tree with the states of a window; its processes from coarse to fine."""

    name: str
    mx_name: str
    mx_page: str
    dependent_on: tuple[str, ...]
    now: datetime
    processes: tuple[ProcessStates, ...]


def late_count(level: Level, now: datetime) -> int:
    """The number of late jobs; failed ones are not, because time alone will not finish them."""
    begin, end = level.frontier - level.start, level.process.late_before(now) - level.start
    if end <= begin:
        return 0
    return sum(level.states.count(state, begin, end) for state in JobState if state.is_pending)


def tree_progress(tree: Tree, timetable: Timetable, now: datetime) -> TreeProgress:
    """The progress of the processes of a tree."""
    processes = (_progress(timetable.places[name].level, now) for name in tree.processes)
    return TreeProgress(tree.name, tree.mx_name, tree.mx_page, tree.dependent_on, tuple(processes))


def tree_states(tree: Tree, timetable: Timetable, window: Window, now: datetime) -> TreeStates:
    """The states of the periods that overlap a window."""
    levels = (timetable.places[name].level for name in tree.processes)
    processes = tuple(_process_states(level, window, now) for level in levels)
    return TreeStates(tree.name, tree.mx_name, tree.mx_page, tree.dependent_on, now, processes)


def runs_of(states: bytes | bytearray) -> Iterable[Run]:
    """The states, run-length encoded: neighbours in the same state with the same mark are a run."""
    for run in _RUN.findall(states):
        word, is_stale = _BYTES[run[0]]
        yield (word, len(run), STALE) if is_stale else (word, len(run))


def _progress(level: Level, now: datetime) -> Progress:
    name = level.timeperiod
    return Progress(
        name=level.process.name,
        qualifier=level.process.qualifier.value,
        counts={state.word: level.counts[state] for state in JobState},
        first=name(level.start),
        last=name(level.end - 1),
        frontier=name(level.frontier) if level.frontier < level.end else None,
        late=late_count(level, now),
        unseen=level.skipped_with(STALE_FLAG),
    )


def _process_states(level: Level, window: Window, now: datetime) -> ProcessStates:
    process, name, progress = level.process, level.timeperiod, _progress(level, now)
    shown = window.within(level)
    states = level.states[shown.start - level.start : max(shown.stop, shown.start) - level.start]
    return ProcessStates(
        **{field: getattr(progress, field) for field in Progress.__slots__},
        time_grouping=process.time_grouping,
        closed=name(process.closed_before(now)),
        late_before=name(process.late_before(now)),
        begin=name(shown.start),
        runs=tuple(runs_of(states)),
    )
