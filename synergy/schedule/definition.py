"""The definition of a schedule: frozen values without behaviour.

`schedule.format` reads and writes them, `schedule.progress` decides with them. Durations are
`timedelta`, instants UTC.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from enum import Enum

from synergy.schedule.interval import NO_JITTER, Jitter, TimeTrigger

# Triggers


@dataclass(frozen=True, slots=True)
class Times:
    """Due at repeated times in the schedule's zone; `jitter` is the schedule's."""

    trigger: TimeTrigger
    jitter: Jitter | None = None


@dataclass(frozen=True, slots=True)
class Once:
    """Due at an instant; immediately, if that is past."""

    at: datetime


@dataclass(frozen=True, slots=True)
class Elapsed:
    """Due a duration after the schedule's last run, or after it began if it has not run.

    As a leg of `all_of` it counts from when the collected legs were last cleared.
    """

    duration: timedelta


@dataclass(frozen=True, slots=True)
class Partition:
    """Met by at least `n` new partitions of a dataset, summed over the collected events."""

    dataset: str
    n: int = 1


@dataclass(frozen=True, slots=True)
class ProgramEnded:
    """Met when a run, or a job, of another process ended in one of these states."""

    process: str
    statuses: tuple[str, ...]


class Generations(Enum):
    """The generations of a period that count."""

    ALL = "all"
    FIRST = "first"  # a period that is started over does not count again


@dataclass(frozen=True, slots=True)
class PeriodFinished:
    """Met when a period of a managed process ended in one of these states."""

    process: str
    statuses: tuple[str, ...] = ("processed",)
    generations: Generations = Generations.ALL


class EventType(Enum):
    """The types of events with a lifetime."""

    FILE = "FILE"
    TABLE = "TABLE"
    TIME_BASED = "TIME BASED"


@dataclass(frozen=True, slots=True)
class EventTrigger:
    """A dependency on an event that stays alive for `life`; see `progress.event_lifetime`."""

    type: EventType
    resource: str
    life: timedelta


@dataclass(frozen=True, slots=True)
class AllOf:
    """Met when all legs are met, in any order; a leg that was met stays met."""

    legs: tuple[Trigger, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Met when one of the legs is."""

    legs: tuple[Trigger, ...]


Leaf = Times | Once | Elapsed | Partition | ProgramEnded | PeriodFinished | EventTrigger
Trigger = Leaf | AllOf | AnyOf


def leaves(trigger: Trigger, path: str = "") -> Iterator[tuple[str, Leaf]]:
    """The leaves of a trigger with their paths: "" for a lone one, else "0", "1.0", ..."""
    if isinstance(trigger, AllOf | AnyOf):
        for number, leg in enumerate(trigger.legs):
            yield from leaves(leg, f"{path}.{number}" if path else str(number))
    else:
        yield path, trigger


# Run constraints


class WhenUnmet(Enum):
    """The effect of an unmet constraint on a pending job."""

    WAIT = "wait"
    ABORT = "abort"


class Scope(Enum):
    """The runs that a concurrency constraint counts."""

    PROGRAM = "program"
    GROUP = "group"


@dataclass(frozen=True, slots=True)
class Concurrency:
    """Unmet while `n` or more runs of the program, or of the group, are active."""

    n: int
    scope: Scope = Scope.PROGRAM
    when_unmet: WhenUnmet = WhenUnmet.ABORT


@dataclass(frozen=True, slots=True)
class Delay:
    """Unmet until a duration after a due time, or the first event, created the pending job."""

    duration: timedelta


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """Unmet outside of `[start, end)` on the local clock of `zone`; may cross midnight."""

    start: time
    end: time
    zone: str = "UTC"
    when_unmet: WhenUnmet = WhenUnmet.WAIT


@dataclass(frozen=True, slots=True)
class SinceLastRun:
    """Unmet while a run is active, or less than `duration` after one completed successfully."""

    duration: timedelta
    when_unmet: WhenUnmet = WhenUnmet.ABORT


@dataclass(frozen=True, slots=True)
class AtMost:
    """Unmet while `n` or more runs were launched within the last `per`."""

    n: int
    per: timedelta
    when_unmet: WhenUnmet = WhenUnmet.WAIT


class LoadOf(Enum):
    """The load that a constraint refers to."""

    BOX = "box"  # the one-minute load average of the deciding agent's box, per core
    QUEUE = "queue"  # waiting messages in the program's queue


@dataclass(frozen=True, slots=True)
class Load:
    """Unmet while the load is above the limit."""

    maximum: float
    of: LoadOf = LoadOf.BOX
    when_unmet: WhenUnmet = WhenUnmet.WAIT


Constraint = Concurrency | Delay | TimeWindow | SinceLastRun | AtMost | Load


# Programs


@dataclass(frozen=True, slots=True)
class WorkerProgram:
    """A free-run process of `context.py`, with arguments that override its own."""

    process: str
    arguments: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DeliveryProgram:
    """A request that is sent to a target; `payload` may be a template.

    `signing_secret` signs requests to webhooks in place of the deployment's secrets: one, or a new
    and an old one, separated by a comma.
    """

    target: str
    payload: str = ""
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    signing_secret: str = field(default="", repr=False)


Program = WorkerProgram | DeliveryProgram


class CatchUp(Enum):
    """The due times that are run after they were missed."""

    ALL = "all"  # each is run, oldest first, at most the newest `catchup_max`
    LATEST = "latest"
    NONE = "none"


class TimeoutPolicy(Enum):
    """What happens to a pending job that has waited for its timeout."""

    DISCARD = "discard"
    FORCE = "force"


class Overlap(Enum):
    """What becomes of a run that is triggered while another run of its schedule is active."""

    SKIP = "skip"
    BUFFER_ONE = "buffer_one"  # it waits; it is skipped if another one waits already
    BUFFER_ALL = "buffer_all"  # it waits
    CANCEL_OTHER = "cancel_other"  # the active run is canceled
    ALLOW = "allow"  # both are active


class FirstRun(Enum):
    """When a schedule first runs."""

    ON_SCHEDULE = "on_schedule"
    IMMEDIATELY = "immediately"


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A schedule as its users define it.

    Nothing is due before `start` or after `end`, nor after `max_runs` runs. `jitter` delays the
    due times of `Times` and `Elapsed`; those of `Times` on the dates `exclude` are skipped.
    `overlap` None: a due time during a run of a worker is skipped, an event waits; requests
    overlap. With `coalesce` an event joins a run that waits. After so many failed runs in a row
    (`pause_after_failures`) the schedule is disabled. Runs with a higher `priority` are launched
    first. `zone` is the trigger's, `template_zone` the template's. `budget` is how long sending is
    retried. `external_id` and `by` are texts of the user's own.
    """

    name: str
    program: Program
    trigger: Trigger
    constraints: tuple[Constraint, ...] = ()
    timeout: timedelta = timedelta(hours=24)
    timeout_policy: TimeoutPolicy = TimeoutPolicy.DISCARD
    priority: int = 0
    group: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)
    zone: str = "UTC"
    template_zone: str = "America/Los_Angeles"
    catchup: CatchUp = CatchUp.ALL
    catchup_max: int = 60
    first_run: FirstRun = FirstRun.ON_SCHEDULE
    start: datetime | None = None
    end: datetime | None = None
    max_runs: int | None = None
    jitter: timedelta = NO_JITTER
    exclude: tuple[date, ...] = ()
    overlap: Overlap | None = None
    coalesce: bool = False
    pause_after_failures: int | None = None
    budget: timedelta = timedelta(minutes=5)
    external_id: str = ""
    by: str = ""
