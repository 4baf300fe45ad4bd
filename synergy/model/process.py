"""Processes, trees and the deployment that `context.py` declares.

A process also says when its periods are closed: at their end plus `settle` (`closes_at`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, StrEnum

from synergy.errors import NotFound
from synergy.timeperiod import Qualifier

POOLED = 0
"""The number of `instances` of a process that the pool of each box serves."""

_INSTANT = timedelta(microseconds=1)


class BuiltIn(StrEnum):
    """The classnames of Synergy's own daemons."""

    AGENT = "synergy.agent.agent.Agent.start"
    MX = "synergy.mx.server.MX.start"
    POOL = "synergy.worker.pool.Pool.start"
    SCHEDULER = "synergy.scheduler.scheduler.Scheduler.start"


class StateMachine(Enum):
    """How the jobs of a managed process are carried out."""

    DISCRETE = "discrete"
    CONTINUOUS = "continuous"


class Blocking(Enum):
    """What a job waits for before it may run; before it may finish it waits for all of these."""

    NORMAL = "normal"
    DEPENDENCIES = "dependencies"
    CHILDREN = "children"


class LateData(Enum):
    """The effect of a write to a source after its period was finished."""

    REPROCESS = "reprocess"
    MARK = "mark"
    IGNORE = "ignore"


class OnFailure(Enum):
    """What becomes of a closed period whose unit was given up."""

    BLOCK = "block"  # the period is failed until an operator decides
    SKIP = "skip"  # it is given up at once, and shown until an operator acknowledges that


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """The fields of every process. Durations are in seconds.

    `classname` is `package.module.Class.method`, imported at run time, or None for a command;
    `present_on_boxes` are regular expressions for whole box ids.
    """

    name: str
    classname: str | None
    token: str
    present_on_boxes: tuple[str, ...]
    instances: int = 1
    arguments: Mapping[str, object] = field(default_factory=dict)
    is_on: bool = True

    @property
    def queue(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonProcess(Process):
    """A process that always runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingProcess(Process):
    """A process that carries out units of work: a Python worker, or a command.

    `command` is as `command_template` parses it; `option_arguments` are the arguments whose values
    may begin with `-`; `environment` names variables that a command gets from its worker besides
    the usual ones, `variables` sets some. It runs in `cwd` (None: the folder of the project), as
    `user` (None: the worker's), and reads `stdin` (None: nothing). `timeout` is how long an attempt
    may take, None for no limit. A unit is given up when it is not done within `life_support` after
    its first claim. With POOLED `instances` it has no worker of its own: the pool of each box
    carries out its units, at most `max_active` at a time.
    """

    command: tuple[str, ...] | None = None
    option_arguments: frozenset[str] = frozenset()
    environment: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    stdin: str | None = None
    user: str | None = None
    max_attempts: int = 3
    retry_backoff: float = 60.0
    heartbeat_timeout: float = 60.0
    resubmit_after: float = 3600.0
    life_support: float = 48 * 3600.0
    timeout: float | None = None
    max_active: int = 1

    @property
    def is_pooled(self) -> bool:
        """Whether the pool of the box carries out its units."""
        return self.instances == POOLED


@dataclass(frozen=True, slots=True, kw_only=True)
class FreerunProcess(WorkingProcess):
    """A process that runs by schedule, or when it is triggered, and has no timetable.

    With a `trigger_frequency` it has a schedule of its own name. By default a failed run is not
    repeated, because the next due time makes a new one.
    """

    trigger_frequency: str | None = None
    max_attempts: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedProcess(WorkingProcess):
    """A process of the timetable: one job for each period of its qualifier.

    `also_reads` are earlier periods that a job reads besides its own, as negative distances:
    -7 is, for a daily process, the same day a week before. `retry_failed` is the time after which a
    failed period is retried automatically, None for never; `refresh` is the least time between two
    interim runs of an open period, None for one at each due time of the trigger.
    """

    qualifier: Qualifier
    source: str | None = None
    sink: str | None = None
    state_machine: StateMachine = StateMachine.DISCRETE
    blocking: Blocking = Blocking.NORMAL
    trigger_frequency: str = "every 600"
    time_grouping: int = 1
    also_reads: tuple[int, ...] = ()
    settle: float = 300.0
    max_active: int = 8
    late_data: LateData = LateData.REPROCESS
    on_failure: OnFailure = OnFailure.BLOCK
    retry_failed: float | None = None
    refresh: float | None = 10.0

    @property
    def stored_source(self) -> str | None:
        """The source, if it is a collection of the store; None if it lies outside.

        A source with a colon or a slash in it (a URL, a path) lies outside, and has no bounds that
        the scheduler could compare.
        """
        if self.source is None or ":" in self.source or "/" in self.source:
            return None
        return self.source

    def closes_at(self, ordinal: int) -> datetime:
        """The time after which a period is closed: it has ended and settled."""
        return self.qualifier.start(ordinal + 1) + timedelta(seconds=self.settle)

    def closed_before(self, now: datetime) -> int:
        """The first period that is not closed."""
        return self.qualifier.at(now - timedelta(seconds=self.settle) - _INSTANT)

    def late_before(self, now: datetime) -> int:
        """The first period that is not late yet if it is unfinished."""
        return self.closed_before(now - timedelta(seconds=self.resubmit_after))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """Managed processes of falling granularity under one name."""

    name: str
    processes: tuple[str, ...]
    dependent_on: tuple[str, ...] = ()
    mx_name: str = ""
    mx_page: str = ""


@dataclass(frozen=True, slots=True)
class Deployment:
    """What `context.py` declares, checked; `schedules` are in the form of `schedule.format`."""

    processes: Mapping[str, Process]
    trees: Mapping[str, Tree]
    schedules: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    def managed(self) -> dict[str, ManagedProcess]:
        return {name: p for name, p in self.processes.items() if isinstance(p, ManagedProcess)}

    def freerun(self) -> dict[str, FreerunProcess]:
        return {name: p for name, p in self.processes.items() if isinstance(p, FreerunProcess)}

    def pooled(self) -> dict[str, WorkingProcess]:
        """The processes that the pools of their boxes serve."""
        return {
            name: process
            for name, process in self.processes.items()
            if isinstance(process, WorkingProcess) and process.is_pooled
        }

    def agents(self) -> list[Process]:
        """The processes that decide about schedules and deliver their runs."""
        return [p for p in self.processes.values() if p.classname == BuiltIn.AGENT]

    def process(self, name: str) -> Process:
        """The process of that name; raises NotFound."""
        found = self.processes.get(name)
        if found is None:
            raise NotFound("process", name, f"there are: {', '.join(self.processes)}")
        return found

    def working(self, name: str) -> WorkingProcess:
        """The process of that name, if it carries out units of work; raises NotFound."""
        found = self.process(name)
        if not isinstance(found, WorkingProcess):
            raise NotFound("managed or free-run process", name, "it is a daemon: it has no units")
        return found

    def tree(self, name: str) -> Tree:
        """The tree of that name; raises NotFound."""
        found = self.trees.get(name)
        if found is None:
            raise NotFound("tree", name, f"there are: {', '.join(self.trees)}")
        return found
