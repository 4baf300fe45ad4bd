"""All metrics: what agents counted, what the journal tells, and how everything stands now.

What stands is looked up when somebody asks; the timetable is that which `Reads` has at hand, so
that the cost is that of the processes and boxes, not of the history. No label is a timeperiod, a
unit, a schedule or a person.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime

from synergy import __version__
from synergy.errors import MessagingUnavailable, Refused
from synergy.model.control import ProcessControl
from synergy.model.job import STALE_FLAG, JobState, bytes_of
from synergy.model.process import Deployment, WorkingProcess
from synergy.model.switches import shall_run
from synergy.model.unit_of_work import UnitState
from synergy.queries.health.findings import Trouble
from synergy.queries.health.verdict import Verdict
from synergy.queries.metrics.exposition import Labels, gauge
from synergy.queries.reads import Reads
from synergy.queries.timetable.audit_standing import AuditResult, AuditStanding
from synergy.queries.timetable.tree_states import late_count
from synergy.queries.views import BoxView
from synergy.timetable.level import Level
from synergy.timetable.timetable import Timetable

_OPEN = [state.value for state in UnitState if not state.is_finished]

_UNSEEN = [byte for byte in bytes_of(JobState.SKIPPED) if byte & STALE_FLAG]

Samples = Iterator[tuple[Labels, float]]


def _unseen_count(level: Level) -> int:
    return sum(map(level.states.count, _UNSEEN))


_BAD_NEWS: tuple[tuple[str, str, Callable[[Level], int]], ...] = (
    (
        "jobs_failed",
        "Jobs whose unit was given up, and about which nobody has decided.",
        lambda level: level.counts[JobState.FAILED],
    ),
    (
        "jobs_given_up",
        'Jobs that were given up (on_failure="skip"), which nobody has acknowledged.',
        lambda level: level.counts[JobState.GIVEN_UP],
    ),
    (
        "jobs_skipped_unseen",
        "Skipped jobs whose source changed since, which a reprocess would bring in.",
        _unseen_count,
    ),
)


def exported(
    reads: Reads, deployment: Deployment, audit: AuditStanding, now: datetime
) -> Iterator[str]:
    """Everything but what MX counts of itself, in Prometheus' text form."""
    yield from gauge("build_info", "Which version this is.", [({"version": __version__}, 1)])
    yield from _verdict(reads, audit)
    yield from reads.agent_metrics()
    yield from reads.activity.lines()
    yield from _timetable(reads, now)
    yield from gauge("units", "Unfinished units.", _units(reads, deployment))
    yield from gauge(
        "units_not_served",
        "Units that wait, of which nobody has taken any for too long.",
        _not_served(reads, deployment),
    )
    yield from gauge(
        "queue_messages",
        "Messages that wait in a queue.",
        _waiting(reads),
    )
    yield from gauge(
        "part_led",
        "Whether a scheduler leads a tree, or the collector, as far as can be seen from here.",
        (({"part": part.part}, int(part.is_led)) for part in reads.leaders()),
    )
    yield from _boxes(reads.boxes(), deployment, reads.controls())
    yield from _audit(audit.result)


def _verdict(reads: Reads, audit: AuditStanding) -> Iterator[str]:
    """What cannot be told is not well: so it is while the bus is away."""
    try:
        found: Verdict | None = reads.verdict(is_auditing=audit.is_running)
    except MessagingUnavailable:
        found = None
    is_well = found is not None and found.is_well is True
    yield from gauge(
        "verdict_well", "1 if all is well, as launch.py status says.", [({}, int(is_well))]
    )
    yield from gauge(
        "verdict_findings",
        "What is not well, by kind: periods, units, processes, boxes, messages, runs.",
        (({"kind": kind.value}, number) for kind, number in _counts(found)),
    )


def _counts(found: Verdict | None) -> Iterable[tuple[Trouble, int]]:
    return () if found is None else found.counts().items()


def _timetable(reads: Reads, now: datetime) -> Iterator[str]:
    try:
        timetable = reads.timetable()
    except Refused:  # it has no start yet
        return
    yield from gauge("jobs", "Jobs of a process.", _jobs(timetable))
    for metric, told, count in _BAD_NEWS:
        samples: Samples = (({"process": n}, count(p.level)) for n, p in timetable.places.items())
        yield from gauge(metric, told, samples)
    yield from gauge(
        "jobs_late",
        "Jobs neither finished nor failed whose period closed longer than resubmit_after ago.",
        (({"process": n}, late_count(p.level, now)) for n, p in timetable.places.items()),
    )
    yield from gauge(
        "oldest_unfinished_timestamp_seconds",
        "When the oldest period began that has closed and is not finished; none if there is none.",
        _oldest(timetable, now),
    )


def _jobs(timetable: Timetable) -> Samples:
    for name, place in timetable.places.items():
        for state in JobState:
            yield {"process": name, "state": state.word}, place.level.counts[state]


def _oldest(timetable: Timetable, now: datetime) -> Samples:
    for name, place in timetable.places.items():
        process, frontier = place.process, place.level.frontier
        if frontier < min(process.closed_before(now), place.level.end):
            yield {"process": name}, process.qualifier.start(frontier).timestamp()


def _units(reads: Reads, deployment: Deployment) -> Samples:
    units = reads.collector().units
    for name, process in deployment.processes.items():
        if isinstance(process, WorkingProcess):
            for state in _OPEN:
                yield {"process": name, "state": state}, units.get(name, {}).get(state, 0)


def _not_served(reads: Reads, deployment: Deployment) -> Samples:
    waiting = {one.process: one.waiting for one in reads.unserved()}
    for name, process in deployment.processes.items():
        if isinstance(process, WorkingProcess):
            yield {"process": name}, waiting.get(name, 0)


def _waiting(reads: Reads) -> list[tuple[Labels, float]]:
    """Nothing while the bus is away: all else is known all the same."""
    try:
        return [({"queue": queue.name}, queue.waiting) for queue in reads.queues()]
    except MessagingUnavailable:
        return []


def _boxes(
    boxes: list[BoxView], deployment: Deployment, controls: Mapping[str, ProcessControl]
) -> Iterator[str]:
    up, wanted, memory, restarts = (Counter[_Place]() for _ in range(4))
    for box in boxes:
        for seen in box.processes:
            declared = deployment.processes.get(seen.process)
            place = (box.id, seen.process)
            control = controls.get(seen.process)
            is_wanted = declared is not None and seen.is_on and shall_run(declared, box.id, control)
            wanted[place] = declared.instances if declared is not None and is_wanted else 0
            states = [one.state for one in seen.observed]
            up[place] = 0 if box.is_silent else states.count("running")
            memory[place] = 0 if box.is_silent else sum(filter(None, seen.memory))
            restarts[place] = sum(one.restarts for one in seen.observed)
    yield from gauge("process_up", "Instances of a process that run on a box.", _placed(up))
    yield from gauge("process_wanted", "Instances that shall run there.", _placed(wanted))
    yield from gauge(
        "process_memory_bytes", "Resident memory of those at the last report.", _placed(memory)
    )
    yield from gauge("process_restarts", "Restarts of those after failures.", _placed(restarts))
    yield from gauge(
        "box_seen_timestamp_seconds",
        "When the supervisor of a box last reported.",
        (({"box": b.id}, b.seen_at.timestamp()) for b in boxes if b.seen_at is not None),
    )


_Place = tuple[str, str]  # a box, and a process


def _placed(numbers: Counter[_Place]) -> Samples:
    for (box, process), number in numbers.items():
        yield {"box": box, "process": process}, number


def _audit(result: AuditResult | None) -> Iterator[str]:
    if result is None:
        return
    audit = result.audit
    numbers = {
        "accounted": audit.accounted,
        "unexplained": audit.expected - audit.accounted,
        "unfinished": audit.unfinished,
        "failed": audit.failed,
        "given_up": audit.given_up,
        "acknowledged": audit.acknowledged,
    }
    yield from gauge(
        "audit_periods",
        "Periods at the newest audit; those that are unfinished or failed may be accounted for.",
        (({"result": name}, number) for name, number in numbers.items()),
    )
    yield from gauge(
        "audit_timestamp_seconds", "When the newest audit was done.", [({}, result.at.timestamp())]
    )
    yield from gauge("audit_seconds", "How long it took.", [({}, result.took)])
