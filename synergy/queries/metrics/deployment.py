"""Metrics of the current state of a deployment.

The state is read at each scrape, from the timetable that `Reads` holds, so that the cost grows with
the number of processes and boxes, not with the history. No label is a timeperiod, a unit, a
schedule or a person.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from synergy import __version__
from synergy.clock import Clock
from synergy.errors import MessagingUnavailable, Refused
from synergy.model.job import STALE_FLAG, JobState
from synergy.model.process import Deployment, WorkingProcess
from synergy.model.process_control import ProcessControl
from synergy.model.switches import shall_run
from synergy.model.unit_of_work import UnitState
from synergy.program import PROGRAM
from synergy.queries.health.verdict import Verdict
from synergy.queries.metrics.families import Samples, gauge
from synergy.queries.processes.states import wanted as slots
from synergy.queries.reads import Reads
from synergy.queries.timetable.audit_progress import AuditResult, AuditStanding
from synergy.queries.timetable.tree_states import late_count
from synergy.queries.views import BoxView
from synergy.timetable.level import Level

_OPEN = [state.value for state in UnitState if not state.is_finished]

_NOT_WELL: tuple[tuple[str, str, Callable[[Level], int]], ...] = (
    (
        "jobs_failed",
        "Jobs whose unit was given up, and which wait for a decision.",
        lambda level: level.counts[JobState.FAILED],
    ),
    (
        "jobs_given_up",
        'Jobs that were given up (on_failure="skip"), and were not acknowledged.',
        lambda level: level.counts[JobState.GIVEN_UP],
    ),
    (
        "jobs_skipped_unseen",
        "Skipped jobs whose source changed since, which a reprocess would bring in.",
        lambda level: level.skipped_with(STALE_FLAG),
    ),
)


class DeploymentMetrics(Collector):
    """Gauges of everything but agents; may be used by several threads."""

    def __init__(
        self,
        reads: Reads,
        audit: Callable[[], AuditStanding],
        deployment: Deployment,
        clock: Clock,
    ) -> None:
        self._reads = reads
        self._audit = audit
        self._deployment = deployment
        self._clock = clock
        self._working = [
            name
            for name, process in deployment.processes.items()
            if isinstance(process, WorkingProcess)
        ]

    def collect(self) -> Iterator[Metric]:
        reads, audit = self._reads, self._audit()
        yield gauge("build_info", "Which version this is.", [({"version": __version__}, 1)])
        yield from self._verdict(is_auditing=audit.is_running)
        yield from self._timetable()
        yield gauge("units", "Unfinished units.", self._units())
        yield gauge(
            "units_not_served",
            "Waiting units of processes whose workers have taken none for too long.",
            self._not_served(),
        )
        yield gauge("queue_messages", "Messages that wait in a queue.", self._queues())
        yield gauge(
            "part_led",
            "Whether a scheduler leads a tree, or the collector, as far as can be seen from here.",
            (({"part": part.part}, int(part.is_led)) for part in reads.leaders()),
        )
        yield from _boxes(reads.boxes(), self._deployment, reads.controls())
        yield from _audit(audit.result)

    def _verdict(self, *, is_auditing: bool) -> Iterator[Metric]:
        """The verdict; not well while the bus is unavailable."""
        try:
            found: Verdict | None = self._reads.verdict(is_auditing=is_auditing)
        except MessagingUnavailable:
            found = None
        is_well = found is not None and found.is_well is True
        counts = {} if found is None else found.counts()
        yield gauge(
            "verdict_well", f"1 if all is well, as {PROGRAM} status says.", [({}, int(is_well))]
        )
        yield gauge(
            "verdict_findings",
            "What is not well, by kind: periods, units, processes, boxes, messages, runs.",
            (({"kind": kind.value}, number) for kind, number in counts.items()),
        )

    def _timetable(self) -> Iterator[Metric]:
        try:
            places = self._reads.timetable().places
        except Refused:  # it has no start yet
            return
        jobs = (
            ({"process": name, "state": state.word}, place.level.counts[state])
            for name, place in places.items()
            for state in JobState
        )
        yield gauge("jobs", "Jobs of a process.", jobs)
        for metric, description, count in _NOT_WELL:
            samples: Samples = (({"process": n}, count(p.level)) for n, p in places.items())
            yield gauge(metric, description, samples)
        now = self._clock.now()
        yield gauge(
            "jobs_late",
            "Jobs neither finished nor failed whose period closed longer than resubmit_after ago.",
            (({"process": n}, late_count(p.level, now)) for n, p in places.items()),
        )
        oldest = (
            ({"process": name}, place.process.qualifier.start(place.level.frontier).timestamp())
            for name, place in places.items()
            if place.level.frontier < min(place.process.closed_before(now), place.level.end)
        )
        yield gauge(
            "oldest_unfinished_timestamp_seconds",
            "When the oldest period began that has closed and is not finished; none if there is "
            "none.",
            oldest,
        )

    def _units(self) -> Samples:
        units = self._reads.collector().units
        for name in self._working:
            for state in _OPEN:
                yield {"process": name, "state": state}, units.get(name, {}).get(state, 0)

    def _not_served(self) -> Samples:
        waiting = {one.process: one.waiting for one in self._reads.unserved()}
        return (({"process": name}, waiting.get(name, 0)) for name in self._working)

    def _queues(self) -> Samples:
        """Waiting messages by queue; none while the bus is unavailable: other metrics continue."""
        try:
            return [({"queue": queue.name}, queue.waiting) for queue in self._reads.queues()]
        except MessagingUnavailable:
            return []


_Place = tuple[str, str]  # a box, and a process


def _boxes(
    boxes: list[BoxView], deployment: Deployment, controls: Mapping[str, ProcessControl]
) -> Iterator[Metric]:
    up, wanted, memory, restarts = (Counter[_Place]() for _ in range(4))
    for box in boxes:
        for seen in box.processes:
            declared = deployment.processes.get(seen.process)
            place = (box.id, seen.process)
            control = controls.get(seen.process)
            is_wanted = declared is not None and seen.is_on and shall_run(declared, box.id, control)
            wanted[place] = (
                slots(declared, seen.observed) if declared is not None and is_wanted else 0
            )
            states = [one.state for one in seen.observed]
            up[place] = 0 if box.is_silent else states.count("running")
            memory[place] = 0 if box.is_silent else sum(filter(None, seen.memory))
            restarts[place] = sum(one.restarts for one in seen.observed)
    yield gauge("process_up", "Instances of a process that run on a box.", _by_place(up))
    yield gauge("process_wanted", "Instances that shall run there.", _by_place(wanted))
    yield gauge(
        "process_memory_bytes", "Resident memory of those at the last report.", _by_place(memory)
    )
    yield gauge("process_restarts", "Restarts of those after failures.", _by_place(restarts))
    yield gauge(
        "box_seen_timestamp_seconds",
        "When the supervisor of a box last reported.",
        (({"box": b.id}, b.seen_at.timestamp()) for b in boxes if b.seen_at is not None),
    )


def _by_place(numbers: Counter[_Place]) -> Samples:
    return (
        ({"box": box, "process": process}, number) for (box, process), number in numbers.items()
    )


def _audit(result: AuditResult | None) -> Iterator[Metric]:
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
    yield gauge(
        "audit_periods",
        "Periods at the newest audit; those that are unfinished or failed may be accounted for.",
        (({"result": name}, number) for name, number in numbers.items()),
    )
    yield gauge(
        "audit_timestamp_seconds", "When the newest audit was done.", [({}, result.at.timestamp())]
    )
    yield gauge("audit_seconds", "How long it took.", [({}, result.took)])
