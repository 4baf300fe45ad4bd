"""Finding out how everything stands, for the verdict, at a cost that no history raises.

Units are read that are not finished, of failed runs and of messages in quarantine the newest, and
of the journal a few entries of each process that is behind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from synergy.lifecycle.standing import waiting_behind
from synergy.messaging.protocol import BusView
from synergy.model.box import ObservedProcess
from synergy.model.control import ProcessControl
from synergy.model.journal_event import JournalEvent
from synergy.model.process import DaemonProcess, Deployment, Process
from synergy.model.schedule import Run, RunState
from synergy.model.switches import is_switched_on, shall_run
from synergy.model.unit_of_work import UnitOfWork, UnitState
from synergy.queries.health.periods import PeriodFacts
from synergy.queries.health.situation import (
    Down,
    FailedRuns,
    ProcessPeriods,
    Quarantine,
    SilentBox,
    Situation,
    Stuck,
    SwitchedOff,
)
from synergy.queries.health.staffing import Unserved, unserved
from synergy.queries.processes.boxes import box_views
from synergy.queries.schedules.retries import successor_id, successors
from synergy.queries.timetable.last_audit import last_audit
from synergy.queries.views import BoxProcess, BoxView
from synergy.runtime.leaders import COLLECTOR, DECIDER, is_lease_led, leaders
from synergy.storage.protocol import StoreView
from synergy.timetable.timetable import Timetable

NEW = timedelta(minutes=5)  # a deployment that is younger has only begun
SETTLED = timedelta(seconds=60)  # an instance that starts, or stops, has so long for it
UNSERVED = timedelta(seconds=60)  # that units may wait where no worker of their process lives
STUCK_AFTER = timedelta(minutes=3)  # two runs of the collector, and time for it
MOST = 100  # failed runs and dead messages that are looked at, the newest
RECENT = 20  # entries of a job among which the last of a unit is looked for
AGENTS = "synergy.agent."  # how the classnames of agents begin

_UP = ("running",)
_MOVING = ("starting", "stopping", "killing")
_SUCCEEDED = (RunState.PROCESSED, RunState.NOOP)


class SituationReader:
    """One look at a deployment; `timetable` is None if it has no start yet."""

    def __init__(
        self, store: StoreView, bus: BusView, deployment: Deployment, timetable: Timetable | None,
        now: datetime,
    ) -> None:  # fmt: skip
        self._store = store
        self._bus = bus
        self._deployment = deployment
        self._timetable = timetable
        self._now = now
        self._controls = store.controls.all()
        self._boxes = box_views(store, now)
        self._units = store.units.unfinished()

    def situation(self, *, is_auditing: bool) -> Situation:
        """How everything stands."""
        silent = [box for box in self._boxes if self._is_missed(box)]
        processes = self._processes()
        led = {part.part: part.is_led for part in leaders(self._store, self._deployment)}
        trees = self._deployment.trees
        return Situation(
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
            runs=tuple(self._failed_runs()),
            quarantine=self._quarantine(),
            retrying=sum(unit.state is UnitState.INVALID for unit in self._units),
            audit=last_audit(self._store),
            is_auditing=is_auditing,
        )

    def _processes(self) -> tuple[ProcessPeriods, ...]:
        if self._timetable is None:
            return ()
        return tuple(PeriodFacts(self._store, self._timetable, self._now).all())

    def _is_new(self) -> bool:
        oldest = self._store.journal.since(0, 1)
        return not oldest or self._now - oldest[0].at < NEW

    def _is_on(self, process: Process) -> bool:
        return is_switched_on(process, self._controls.get(process.name))

    def _control(self, process: Process) -> ProcessControl | None:
        return self._controls.get(process.name)

    # Who runs

    def _is_decided(self) -> bool:
        """Whether somebody decides about schedules, if somebody should."""
        agents = [p for p in self._deployment.processes.values() if _is_agent(p)]
        if not any(map(self._is_on, agents)):
            return True
        return is_lease_led(self._store, DECIDER)

    def _is_missed(self, box: BoxView) -> bool:
        """Whether a box is silent where something should run; one that has nothing is missed."""
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
                control = None if process is None else self._control(process)
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
        missing = max(0, process.instances - well - len(died))
        since = [seen.since for seen in one.observed if seen.state not in _UP and seen.since]
        if died:
            yield Down(
                process.name, box, len(died), process.instances,
                min((seen.since for seen in died if seen.since), default=None),
                sum(seen.restarts for seen in died), is_backing_off=True, is_nowhere=is_nowhere,
            )  # fmt: skip
        just_stopped = since and not died and all(map(self._is_fresh, since))
        if missing and not just_stopped and not (not one.observed and self._is_new()):
            yield Down(
                process.name, box, missing, process.instances, min(since, default=None),
                is_nowhere=is_nowhere,
            )  # fmt: skip

    def _is_fresh(self, since: datetime | None) -> bool:
        return since is not None and self._now - since < SETTLED

    # What waits for whom

    def _unserved(self) -> Iterator[Unserved]:
        """Those of the processes that are switched on: the others are told as that."""
        processes = self._deployment.processes
        for one in unserved(self._store, self._deployment, self._now, UNSERVED):
            process = processes[one.process]
            if self._is_on(process) and not self._is_off_on_all_boxes(process):
                yield one

    def _on_units(self) -> list[UnitOfWork]:
        """The units of processes that are switched on."""
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
        """The boxes that have a process, with whether it is switched on there."""
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
        """Units that the collector should have handed out by now, and has not."""
        found: defaultdict[str, list[tuple[datetime, UnitOfWork]]] = defaultdict(list)
        behind = waiting_behind(self._units)
        for unit in self._on_units():
            due = None if unit.id in behind else self._due(unit)
            if due is not None and self._now - due > STUCK_AFTER:
                found[unit.process].append((due, unit))
        for process, some in found.items():
            since, first = min(some, key=lambda pair: pair[0])
            yield Stuck(process, len(some), since, first.id, first.reason)

    def _due(self, unit: UnitOfWork) -> datetime | None:
        """When the collector had to hand a unit out; None if it had not to."""
        if unit.state is UnitState.INVALID:
            return unit.not_before or unit.finished_at or unit.created_at
        if unit.state is not UnitState.REQUESTED or unit.published_at is not None:
            return None
        if unit.attempt == 1:
            return unit.created_at
        # It came back from a worker: when, only the journal knows.
        entries = self._store.journal.of_job(unit.process, unit.timeperiod, limit=RECENT)
        return next((entry.at for entry in entries if entry.unit == unit.id), unit.created_at)

    # What came to nothing

    def _failed_runs(self) -> Iterator[FailedRuns]:
        """The failed runs that nobody launched again, by schedule.

        What was sent stays unsent until somebody sends it again; a run of a worker is made good
        by a later one of its schedule. Those of schedules that were removed are left.
        """
        page, _ = self._store.runs.find(None, RunState.FAILED, MOST)
        again = successors(self._store, page)
        by_schedule: defaultdict[tuple[str, str], list[Run]] = defaultdict(list)
        for run in page:
            if successor_id(run) not in again:
                by_schedule[run.schedule, "" if run.schedule else run.program].append(run)
        names = [schedule for schedule, _ in by_schedule if schedule]
        present = {one.name for one in self._store.schedules.get(names)} if names else set()
        for (schedule, _), runs in by_schedule.items():
            if schedule and schedule not in present:
                continue
            left = self._not_made_good(schedule, runs)
            if left:
                oldest = left[-1]
                yield FailedRuns(
                    schedule, oldest.program, len(left), oldest.id,
                    oldest.finished_at or oldest.created_at, oldest.reason,
                )  # fmt: skip

    def _not_made_good(self, schedule: str, runs: Sequence[Run]) -> list[Run]:
        if not schedule or not any(run.is_of_worker for run in runs):
            return list(runs)
        last = self._store.runs.last(schedule, _SUCCEEDED)
        good_at = None if last is None else last.launched_at
        return [
            run
            for run in runs
            if not run.is_of_worker
            or good_at is None
            or (run.launched_at or run.created_at) > good_at
        ]

    def _quarantine(self) -> Quarantine | None:
        dead = self._bus.dead(MOST)
        if not dead:
            return None
        oldest = dead[-1]
        return Quarantine(len(dead), oldest.at, oldest.queue, oldest.reason)


def _is_backing_off(seen: ObservedProcess) -> bool:
    """Whether it died: one that is being started again may die again, and has not run since."""
    return seen.state == "backoff" or (seen.state == "starting" and seen.restarts > 0)


def _is_agent(process: Process) -> bool:
    return (process.classname or "").startswith(AGENTS)
