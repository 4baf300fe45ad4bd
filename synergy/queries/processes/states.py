"""The present state of processes: as declared, set by operators, and reported by boxes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import orjson

from synergy.messaging.protocol import BusView
from synergy.model.box import Assignment, ObservedProcess
from synergy.model.process import BuiltIn, Deployment, FreerunProcess, ManagedProcess, Process
from synergy.model.process_control import ProcessControl
from synergy.model.schedule import Schedule
from synergy.model.switches import is_switched_on
from synergy.names import POOL
from synergy.queries.schedules.listing import own_schedules
from synergy.queries.views import Placement, ProcessView
from synergy.schedule.trigger import parse
from synergy.storage.protocol import StoreView


class ProcessReader:
    """Reads processes from one snapshot of the store."""

    def __init__(
        self, store: StoreView, bus: BusView, deployment: Deployment, now: datetime
    ) -> None:
        self._now = now
        self._controls = store.controls.all()
        self._schedules = own_schedules(store, list(deployment.freerun()))
        self._depths = bus.depths()
        self._units = by_process(store)
        self._pooled = deployment.pooled()
        self._tree_of = {p: tree.name for tree in deployment.trees.values() for p in tree.processes}
        self._assignments = store.boxes.assignments()
        self._observed = by_place(store.boxes.observed())
        self._silent = {box.id for box in store.boxes.all() if box.is_silent(now)}

    def view(self, process: Process) -> ProcessView:
        """A process as it is in the snapshot."""
        name = process.name
        is_on = is_switched_on(process, self._controls.get(name))
        trigger, next_due = self._due(process)
        return ProcessView(
            name=name,
            kind=_kind(process),
            qualifier=process.qualifier.value if isinstance(process, ManagedProcess) else None,
            tree=self._tree_of.get(name),
            is_on=is_on,
            trigger=trigger,
            next_due=next_due if is_on else None,
            queue=process.queue,
            waiting=self._depths.get(process.queue, 0),
            instances=process.instances,
            is_pooled=name in self._pooled,
            boxes=tuple(
                self._placement(a, process) for a in self._assignments if a.process == name
            ),
            units=self._units.get(name, {}),
        )

    def _due(self, process: Process) -> tuple[str | None, datetime | None]:
        """The trigger of a process, and its next due time."""
        schedule = self._schedules.get(process.name)
        trigger = trigger_of(process, self._controls.get(process.name), schedule)
        if isinstance(process, ManagedProcess) and trigger is not None:
            return trigger, parse(trigger).next_after(self._now)
        if schedule is None or not schedule.is_enabled:
            return trigger, None
        return trigger, schedule.wake_at

    def _placement(self, place: Assignment, process: Process) -> Placement:
        is_pooled = process.name in self._pooled
        seen = self._observed.get((place.box, POOL if is_pooled else process.name), ())
        running = 0 if place.box in self._silent else sum(one.state == "running" for one in seen)
        slots = max(1, len(seen)) if is_pooled else wanted(process, seen)
        return Placement(place.box, place.is_on, running, slots)


def wanted(process: Process, observed: Sequence[ObservedProcess]) -> int:
    """The instances of a process that shall run on a box where these were observed.

    The size of the pool differs by box, so its supervisor's report says it.
    """
    if process.classname == BuiltIn.POOL and observed:
        return len(observed)
    return process.instances


def _kind(process: Process) -> str:
    match process:
        case ManagedProcess():
            return "managed"
        case FreerunProcess():
            return "freerun"
        case _:
            return "daemon"


def trigger_of(
    process: Process, control: ProcessControl | None, schedule: Schedule | None
) -> str | None:
    """The trigger of a process, in one line; `schedule` is the process's own one, if any."""
    if isinstance(process, ManagedProcess):
        return str(parse((control and control.trigger_frequency) or process.trigger_frequency))
    if isinstance(process, FreerunProcess) and schedule is not None:
        trigger = schedule.definition.get("trigger")
        return trigger if isinstance(trigger, str) else orjson.dumps(trigger).decode()
    return process.trigger_frequency if isinstance(process, FreerunProcess) else None


def by_process(store: StoreView) -> dict[str, Mapping[str, int]]:
    """The number of unfinished units of each process, by state."""
    counts: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for (process, state), number in store.units.counts().items():
        counts[process][state.value] = number
    return dict(counts)


def by_place(
    observed: Iterable[ObservedProcess],
) -> dict[tuple[str, str], tuple[ObservedProcess, ...]]:
    """The observed processes by box and process."""
    found: defaultdict[tuple[str, str], list[ObservedProcess]] = defaultdict(list)
    for one in observed:
        found[one.box, one.process].append(one)
    return {place: tuple(sorted(some, key=lambda o: o.instance)) for place, some in found.items()}
