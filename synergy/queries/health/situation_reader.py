"""Reads the situation for the verdict, at a cost that does not grow with the history.

It reads the unfinished units, the newest failed runs and messages in quarantine, and a few journal
entries of each process that is behind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from synergy.lifecycle.superseded_units import waiting_behind
from synergy.messaging.protocol import BusView
from synergy.model.box import ObservedProcess
from synergy.model.journal_event import JournalEvent
from synergy.model.process import DaemonProcess, Deployment, Process
from synergy.model.switches import is_switched_on, shall_run
from synergy.model.unit_of_work import UnitOfWork, UnitState
from synergy.queries.health.failed_runs import failed_runs, paused, quarantine
from synergy.queries.health.periods import PeriodFacts
from synergy.queries.health.situation import (
    Down,
    ProcessPeriods,
    SilentBox,
    Situation,
    Stuck,
    SwitchedOff,
)
from synergy.queries.health.staffing import Unserved, unserved
from synergy.queries.malformed_rows import malformed_rows
from synergy.queries.processes.boxes import box_views
from synergy.queries.processes.states import wanted
from synergy.queries.timetable.last_audit import last_audit
from synergy.queries.views import BoxProcess, BoxView
from synergy.runtime.shared_parts import COLLECTOR, DECIDER, is_lease_led, leaders
from synergy.storage.protocol import StoreView
from synergy.timetable.timetable import Timetable

NEW = timedelta(minutes=5)  # a younger deployment is new
SETTLED = timedelta(seconds=60)  # how long an instance may take to start or stop
UNSERVED = timedelta(seconds=60)  # how long units may wait without a running worker
STUCK_AFTER = timedelta(minutes=3)  # two runs of the collector, and time for it
MOST = 100  # failed runs and dead messages that are read, the newest
RECENT = 20  # entries of a job that are searched for the last one of a unit

_UP = ("running", "finishing")
_MOVING = ("starting", "stopping", "killing")


class SituationReader:
    """Reads a deployment from one snapshot; `timetable` is None if it has no start yet."""

    def __init__(
        self,
        store: StoreView,
        bus: BusView,
        deployment: Deployment,
        timetable: Timetable | None,
        now: datetime,
    ) -> None:
        self._store = store
        self._bus = bus
        self._deployment = deployment
        self._timetable = timetable
        self._now = now
        self._controls = store.controls.all()
        self._boxes = box_views(store, deployment, now)
        self._units = store.units.unfinished()

    def situation(self, *, is_auditing: bool) -> Situation:
        silent = [box for box in self._boxes if self._is_missed(box)]
        processes = self._processes()
        led = {part.part: part.is_led for part in leaders(self._store, self._deployment)}
        trees = self._deployment.trees
        facts = Situation(
            has_timetable=None if not trees else self._timetable is not None,
            is_new=self._is_new(),
            unled=tuple(tree for tree in trees if not led[f"tree {tree}"]),
            is_collected=led[COLLECTOR],
            is_decided=self._is_decided(),
            silent=tuple(SilentBox(box.id, box.seen_at) for box in silent),
            is_silent_everywhere=bool(silent) and all(box.is_silent for box in self._boxes),
            down=tuple(self._down()),
            off=tuple(self._off(processes)),
            unserved=tuple(self._unserved()),
            stuck=tuple(self._stuck()) if led[COLLECTOR] else (),
            processes=processes,
            runs=tuple(failed_runs(self._store, MOST)),
            paused=tuple(paused(self._store)),
            quarantine=quarantine(self._bus, MOST),
            retrying=sum(unit.state is UnitState.INVALID for unit in self._units),
            audit=last_audit(self._store),
            is_auditing=is_auditing,
        )
        return replace(facts, malformed=malformed_rows(self._store))  # all reads were made

    def _processes(self) -> tuple[ProcessPeriods, ...]:
        if self._timetable is None:
            return ()
        return tuple(PeriodFacts(self._store, self._timetable, self._now).all())

    def _is_new(self) -> bool:
        oldest = self._store.journal.since(0, 1)
        return not oldest or self._now - oldest[0].at < NEW

    def _is_on(self, process: Process) -> bool:
        return is_switched_on(process, self._controls.get(process.name))

    # Processes that should run

    def _is_decided(self) -> bool:
        """Whether an agent decides about schedules, or none is switched on."""
        is_off = not any(map(self._is_on, self._deployment.agents()))
        return is_off or is_lease_led(self._store, DECIDER)

    def _is_missed(self, box: BoxView) -> bool:
        """Whether a box is silent, and should run something or has no assignments."""
        assigned = [one for one in box.processes if one.is_on is not None]
        return box.is_silent and (not assigned or any(one.is_on for one in assigned))

    def _down(self) -> Iterator[Down]:
        up = {
            one.process
            for box in self._boxes
            if not box.is_silent
            for one in box.processes
            if any(seen.state in _UP for seen in one.observed)
        }
        for box in self._boxes:
            for one in box.processes if not box.is_silent else ():
                process = self._deployment.processes.get(one.process)
                control = self._controls.get(one.process)
                if process is None or not one.is_on or not shall_run(process, box.id, control):
                    continue
                yield from self._missing(process, box.id, one, is_nowhere=process.name not in up)

    def _missing(
        self, process: Process, box: str, one: BoxProcess, *, is_nowhere: bool
    ) -> Iterator[Down]:
        died = [seen for seen in one.observed if _is_backing_off(seen)]
        well = sum(
            seen.state in _UP or (seen.state in _MOVING and self._is_fresh(seen.since))
            for seen in one.observed
            if seen not in died
        )
        slots = wanted(process, one.observed)
        missing = max(0, slots - well - len(died))
        since = [seen.since for seen in one.observed if seen.state not in _UP and seen.since]
        if died:
            yield Down(
                process=process.name,
                box=box,
                missing=len(died),
                wanted=slots,
                since=min((seen.since for seen in died if seen.since), default=None),
                restarts=sum(seen.restarts for seen in died),
                is_backing_off=True,
                is_nowhere=is_nowhere,
            )
        just_stopped = since and not died and all(map(self._is_fresh, since))
        if missing and not just_stopped and not (not one.observed and self._is_new()):
            yield Down(
                process=process.name,
                box=box,
                missing=missing,
                wanted=slots,
                since=min(since, default=None),
                is_nowhere=is_nowhere,
            )

    def _is_fresh(self, since: datetime | None) -> bool:
        return since is not None and self._now - since < SETTLED

    # Units that wait

    def _unserved(self) -> Iterator[Unserved]:
        """The processes without workers that are on, or gone; the others are `SwitchedOff`."""
        for one in unserved(self._store, self._deployment, self._now, UNSERVED):
            process = self._deployment.processes.get(one.process)
            is_off = process is not None and (
                not self._is_on(process) or self._is_off_on_all_boxes(process)
            )
            if not is_off:
                yield one

    def _switched_on_units(self) -> list[UnitOfWork]:
        processes = self._deployment.processes
        return [
            unit
            for unit in self._units
            if unit.process in processes and self._is_on(processes[unit.process])
        ]

    def _off(self, periods: Sequence[ProcessPeriods]) -> Iterator[SwitchedOff]:
        closed = {one.process: one.closed for one in periods}
        units: defaultdict[str, int] = defaultdict(int)
        for unit in self._units:
            units[unit.process] += 1
        off = [
            process
            for process in self._deployment.processes.values()
            if not self._is_on(process) or self._is_off_on_all_boxes(process)
        ]
        depths = self._bus.depths() if off else {}
        for process in off:
            since, box = self._switched_at(process), ""
            if self._is_on(process):
                since, box = None, min(self._places(process))
            if closed.get(process.name):
                yield SwitchedOff(process.name, closed[process.name], "period", since, box)
            elif units[process.name]:
                yield SwitchedOff(process.name, units[process.name], "unit", since, box)
            elif isinstance(process, DaemonProcess) and depths.get(process.queue):
                yield SwitchedOff(process.name, depths[process.queue], "message", since, box)

    def _places(self, process: Process) -> dict[str, bool]:
        """The boxes that have a process, and whether it is switched on there."""
        return {
            box.id: one.is_on
            for box in self._boxes
            for one in box.processes
            if one.process == process.name and one.is_on is not None
        }

    def _is_off_on_all_boxes(self, process: Process) -> bool:
        places = self._places(process)
        return bool(places) and not any(places.values())

    def _switched_at(self, process: Process) -> datetime | None:
        for entry in self._store.journal.find(process.name):
            if entry.event == JournalEvent.PROCESS_OFF:
                return entry.at
        return None

    def _stuck(self) -> Iterator[Stuck]:
        """Units that the collector should have handed out by now, but has not."""
        found: defaultdict[str, list[tuple[datetime, UnitOfWork]]] = defaultdict(list)
        queued = waiting_behind(self._units)
        for unit in self._switched_on_units():
            due = None if unit.id in queued else self._due(unit)
            if due is not None and self._now - due > STUCK_AFTER:
                found[unit.process].append((due, unit))
        for process, some in found.items():
            since, first = min(some, key=lambda pair: pair[0])
            yield Stuck(process, len(some), since, first.id, first.reason)

    def _due(self, unit: UnitOfWork) -> datetime | None:
        """When the collector should have handed out a unit; None if that is not its duty."""
        if unit.state is UnitState.INVALID:
            return unit.not_before or unit.finished_at or unit.created_at
        if unit.state is not UnitState.REQUESTED or unit.published_at is not None:
            return None
        if unit.attempt == 1:
            return unit.created_at
        # A worker returned it; only the journal has the time.
        entries = self._store.journal.of_job(unit.process, unit.timeperiod, limit=RECENT)
        return next((entry.at for entry in entries if entry.unit == unit.id), unit.created_at)


def _is_backing_off(seen: ObservedProcess) -> bool:
    """Whether an instance died; one that is being restarted has not run since."""
    return seen.state == "backoff" or (seen.state == "starting" and seen.restarts > 0)
