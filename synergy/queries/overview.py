"""The overview of a deployment: what is late, failing, waiting and running, and its throughput."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from synergy.errors import Refused
from synergy.model.schedule import RunState
from synergy.model.unit_of_work import UnitOfWork, UnitState
from synergy.queries.metrics.throughput import Throughput
from synergy.queries.reads import Reads
from synergy.queries.schedules.reads import ScheduleReads
from synergy.queries.schedules.views import ScheduleView
from synergy.queries.timetable.audit_progress import AuditStanding
from synergy.queries.timetable.causes import Cause
from synergy.queries.timetable.tree_states import late_count
from synergy.queries.views import BoxView, CollectorView, QueueView
from synergy.timetable.timetable import Timetable

SHOWN = 20  # items of a list
MOST = 100  # rows that are counted by reading them


@dataclass(frozen=True, slots=True)
class Late:
    """A process with late jobs: their number, and the first of them."""

    process: str
    tree: str
    count: int
    oldest: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """A process with closed periods that are not done, and the cause of the first."""

    process: str
    tree: str
    count: int
    oldest: str
    cause: Cause


@dataclass(frozen=True, slots=True)
class ScheduleSummary:
    """Schedules: their number, those due next, and those whose last run failed.

    `failing`, `pending` and `failed` are limited to 100.
    """

    total: int
    ahead: tuple[ScheduleView, ...]
    failing: tuple[ScheduleView, ...]
    pending: int
    failed: int


@dataclass(frozen=True, slots=True)
class BoxSummary:
    """A box: how many processes should run there, how many do, and their memory.

    `age` is the seconds since its supervisor reported, None if it never did. Nothing is known to
    run on a silent box.
    """

    id: str
    age: float | None
    is_silent: bool
    wanted: int
    running: int
    restarts: int
    memory: int


@dataclass(frozen=True, slots=True)
class Overview:
    """The state of a deployment at `at`.

    `units` are the unfinished units by state, of which `failing` and `running` list the newest.
    `dead` counts the messages in quarantine. `waiting` includes late processes.
    """

    at: datetime
    late: tuple[Late, ...]
    waiting: tuple[Waiting, ...]
    units: Mapping[str, int]
    failing: tuple[UnitOfWork, ...]
    running: tuple[UnitOfWork, ...]
    queues: tuple[QueueView, ...]
    dead: int
    collector: CollectorView
    throughput: Throughput
    audit: AuditStanding
    schedules: ScheduleSummary
    boxes: tuple[BoxSummary, ...]


def overview(
    reads: Reads,
    schedules: ScheduleReads,
    audit: AuditStanding,
    throughput: Throughput,
    now: datetime,
) -> Overview:
    """The state of a deployment; a deployment that was never started is not late."""
    timetable = _timetable(reads)
    collector = reads.collector()
    return Overview(
        at=now,
        late=tuple(_late(timetable, now)),
        waiting=tuple(_waiting(reads, timetable, now)),
        units=_by_state(collector.units),
        failing=reads.units(None, UnitState.INVALID, SHOWN).items,
        running=reads.units(None, UnitState.IN_PROGRESS, SHOWN).items,
        queues=tuple(queue for queue in reads.queues() if queue.waiting),
        dead=reads.dead_count(),
        collector=collector,
        throughput=throughput,
        audit=audit,
        schedules=_schedules(schedules),
        boxes=tuple(map(_box, reads.boxes())),
    )


def _timetable(reads: Reads) -> Timetable | None:
    try:
        return reads.timetable()
    except Refused:  # it has no start yet
        return None


def _late(timetable: Timetable | None, now: datetime) -> list[Late]:
    places = timetable.places.values() if timetable is not None else ()
    found = [(place, late_count(place.level, now)) for place in places]
    return [
        Late(place.process.name, place.tree, count, place.level.timeperiod(place.level.frontier))
        for place, count in found
        if count
    ]


def _waiting(reads: Reads, timetable: Timetable | None, now: datetime) -> list[Waiting]:
    found: list[Waiting] = []
    for place in timetable.places.values() if timetable is not None else ():
        level, name = place.level, place.process.name
        closed = min(place.process.closed_before(now), level.end)
        if level.frontier < closed and len(found) < SHOWN:
            oldest = level.timeperiod(level.frontier)
            count = sum(1 for _ in level.unfinished(level.frontier, closed))
            cause = reads.why(name, oldest)
            found.append(Waiting(name, place.tree, count, oldest, cause))
    return found


def _by_state(units: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    states = (state.value for state in UnitState if not state.is_finished)
    return {state: sum(counts.get(state, 0) for counts in units.values()) for state in states}


def _schedules(schedules: ScheduleReads) -> ScheduleSummary:
    pending = (RunState.PENDING_CONSTRAINT, RunState.PENDING_LAUNCH)
    return ScheduleSummary(
        total=schedules.count(),
        ahead=tuple(schedules.ahead()),
        failing=tuple(schedules.failing(MOST)),
        pending=min(MOST, sum(len(schedules.runs(None, s, MOST).items) for s in pending)),
        failed=len(schedules.dead(MOST)),
    )


def _box(view: BoxView) -> BoxSummary:
    processes = () if view.is_silent else view.processes
    seen = [one for process in processes for one in process.observed]
    memory = [used or 0 for process in processes for used in process.memory]
    return BoxSummary(
        id=view.id,
        age=view.age,
        is_silent=view.is_silent,
        wanted=sum(bool(process.is_on) for process in view.processes),
        running=len({one.process for one in seen if one.state == "running"}),
        restarts=sum(one.restarts for one in seen),
        memory=sum(memory),
    )
