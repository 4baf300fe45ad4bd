"""The frozen values that command line, pages and metrics show.

States and kinds are the words that documents, commands and pages use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from synergy.errors import InvalidValue
from synergy.model.box import ObservedProcess
from synergy.model.job import JobState
from synergy.model.journal import JournalEntry
from synergy.timeperiod import Qualifier, parse_hour
from synergy.timetable.level import Level

SkipCause = Literal["given_up", "acknowledged"]
"""The failure for which a job is skipped: its unit was given up, acknowledged or not yet."""


def skip_cause(level: Level, ordinal: int) -> SkipCause | None:
    """The failure for which a job is skipped; None if an operator or another job is the cause."""
    if level.state(ordinal) is JobState.GIVEN_UP:
        return "given_up"
    return "acknowledged" if level.is_acknowledged(ordinal) else None


def shown_word(state: str, cause: str | None) -> str:
    """The word for a job in counts and colours; a given-up job has its own."""
    return cause if cause == "given_up" else state


@dataclass(frozen=True, slots=True)
class Placement:
    """A box that a process is assigned to.

    `running` counts the instances seen running there, `wanted` those that shall run while the
    process is on; of a process that the pool serves, they are the members of the pool.
    """

    box: str
    is_on: bool
    running: int
    wanted: int


@dataclass(frozen=True, slots=True)
class ProcessView:
    """The present state of a process: its declaration, and what operators set since.

    `kind` is `managed`, `freerun` or `daemon`. `qualifier` and `tree` are None for all but managed
    processes. `trigger` and `next_due` are None for daemons, and for free-run processes that only
    run on request; `next_due` is also None while the process is switched off or its schedule is
    disabled. `waiting` are messages in its queue, `units` its unfinished units by state.
    `instances` are its own processes on each box: 0 if it `is_pooled`, served by the pool.
    """

    name: str
    kind: str
    qualifier: str | None
    tree: str | None
    is_on: bool
    trigger: str | None
    next_due: datetime | None
    queue: str
    waiting: int
    instances: int
    is_pooled: bool
    boxes: tuple[Placement, ...]
    units: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class JobView:
    """A job in a window. `unit` is the newest one of its generation.

    `cause` is the failure for which it is `skipped`, None for any other skip and state. `reason` is
    why it ended without a result, or what it waits for once its period has closed, else "".
    """

    timeperiod: str
    state: str
    cause: SkipCause | None
    generation: int
    unit: str | None
    reason: str
    is_stale: bool

    @property
    def word(self) -> str:
        """The state as counts and colours name it."""
        return shown_word(self.state, self.cause)


@dataclass(frozen=True, slots=True)
class LevelView:
    """A process in its tree: counts of all its jobs by state, and the jobs of the window.

    `first` and `last` are the ends of its timetable, `frontier` its first unfinished
    timeperiod, None if there is none. `jobs` is None without a window.
    """

    name: str
    qualifier: str
    counts: Mapping[str, int]
    first: str
    last: str
    frontier: str | None
    jobs: tuple[JobView, ...] | None


@dataclass(frozen=True, slots=True)
class TreeView:
    """A tree, its processes from coarse to fine."""

    name: str
    dependent_on: tuple[str, ...]
    processes: tuple[LevelView, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """A half-open span of time between two hours (hourly ordinals); None: without a limit."""

    first: int | None = None
    end: int | None = None

    @staticmethod
    def between(first: str, end: str) -> Window:
        """The window from the start of one timeperiod to that of another; "" for no limit.

        Raises InvalidValue for an empty window.
        """
        begin = parse_hour(first) if first else None
        window = Window(begin, parse_hour(end) if end else None)
        if window.first is not None and window.end is not None and window.end <= window.first:
            raise InvalidValue(f"{first} to {end} is empty: the end is not included")
        return window

    def within(self, level: Level) -> range:
        """The periods of a level that overlap the window."""
        up, qualifier = Qualifier.HOURLY.up, level.process.qualifier
        first = level.start if self.first is None else up(self.first, qualifier)
        end = level.end if self.end is None else up(self.end - 1, qualifier) + 1
        return range(max(first, level.start), min(end, level.end))


@dataclass(frozen=True, slots=True)
class QueueView:
    """A queue; `process` is None if no declared process reads it."""

    name: str
    process: str | None
    waiting: int


@dataclass(frozen=True, slots=True)
class PlannedMove:
    """A change that the collector would make to a unit, and its reason."""

    unit: str
    process: str
    timeperiod: str
    verdict: str
    why: str


@dataclass(frozen=True, slots=True)
class CollectorView:
    """The collector: whether a scheduler leads it, and its last runs, newest first.

    Runs are listed if they were requested or moved units. `units` counts the unfinished ones by
    process and state.
    """

    is_led: bool
    units: Mapping[str, Mapping[str, int]]
    runs: tuple[JournalEntry, ...]


@dataclass(frozen=True, slots=True)
class BoxProcess:
    """A process on a box; `is_on` is None if it is not assigned to the box.

    If it `is_pooled`, the pool of the box serves it, and none of its own is observed.

    `memory` has the resident bytes of each of `observed` at the last report, None for those that
    did not run.
    """

    process: str
    is_on: bool | None
    observed: tuple[ObservedProcess, ...]
    memory: tuple[int | None, ...] = ()
    is_pooled: bool = False


@dataclass(frozen=True, slots=True)
class BoxView:
    """A box; `seen_at` is when its supervisor last reported, `age` seconds ago, None if never.

    The data of a silent box may be out of date: its supervisor has stopped, or is lost.
    """

    id: str
    seen_at: datetime | None
    age: float | None
    is_silent: bool
    processes: tuple[BoxProcess, ...]
