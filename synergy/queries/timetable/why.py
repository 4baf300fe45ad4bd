"""Why a period is not done: the scheduler's decision about it, down to the leaf causes."""

from __future__ import annotations

from datetime import datetime

from synergy.lifecycle.decision import Gate, Reason
from synergy.lifecycle.situations import unfinished_because
from synergy.model.process import ManagedProcess, StateMachine
from synergy.model.switches import is_switched_on
from synergy.model.unit_of_work import UnitOfWork, UnitState
from synergy.queries.timetable import ended_jobs, remedies
from synergy.queries.timetable.causes import Cause, Job, Kind, instant
from synergy.queries.timetable.reasons import READY, SWITCHED_OFF, UNREADABLE
from synergy.queries.timetable.unit_causes import UnitCauses
from synergy.runtime.shared_parts import is_led, part_of_tree
from synergy.schedule.trigger import Every, Trigger, parse
from synergy.storage.protocol import StoreView
from synergy.timeperiod import Qualifier
from synergy.timetable.readiness import Blocker, Relation, blockers
from synergy.timetable.timetable import Timetable

WIDTH = 3  # children or counterparts that are followed; the others are counted
COUNTED = 1000  # children or counterparts that are counted
UNITS = 32  # the units of a job that are read: those under way are among the newest
_PLURALS = {Relation.CHILD: "children", Relation.COUNTERPART: "counterparts"}


class Why:
    """The causes of one look at the store."""

    def __init__(self, store: StoreView, timetable: Timetable, now: datetime) -> None:
        self._store = store
        self._timetable = timetable
        self._now = now
        self._controls = store.controls.all()
        self._unit_causes = UnitCauses(store, now)

    def ask(self, process: str, timeperiod: str) -> Cause:
        """The causes of one job; raises NotFound for one outside the timetable."""
        place = self._timetable.place(process)
        return self._of(Job(place, place.level.ordinal(timeperiod)))

    def waits_for_trigger(self, process: ManagedProcess) -> bool:
        """Whether only its trigger makes the scheduler consider a period that has closed."""
        return not isinstance(self._trigger(process), Every)

    def _of(self, job: Job) -> Cause:
        if job.state.is_finished:
            return ended_jobs.finished(self._store, job)
        if job.place.level.is_unreadable(job.ordinal):
            return job.cause(Kind.MALFORMED, UNREADABLE, remedies.CHECK_STORE)
        units, is_on = self._units(job), self._is_on(job.process)
        match self._reason(job, units, Gate(is_on)):
            case Reason.FAILED:
                return ended_jobs.failed(self._store, job, self._now)
            case Reason.UNIT_ACTIVE:
                return self._unit_causes.of(job, _active(units), is_on=is_on)
            case Reason.OPEN:
                return self._open(job, has_run=bool(units))
            case Reason.SWITCHED_OFF:
                help_ = remedies.switch_on(job.process.name)
                return job.cause(Kind.SWITCHED_OFF, SWITCHED_OFF, help_)
            case Reason.BLOCKED if behind := blockers(job.place, job.ordinal, limit=COUNTED):
                return self._blocked(job, behind)
            case _:
                return self._gated(job, units)

    def _gated(self, job: Job, units: list[UnitOfWork]) -> Cause:
        """The cause of a job that waits for nothing but its process and its scheduler."""
        process, first = job.process, job.place.level.frontier
        in_flight = self._in_flight(process.name)
        gate = Gate(
            is_led=is_led(self._store, part_of_tree(job.place.tree)),
            is_its_turn=process.max_active > 1 or job.ordinal == first,
            has_slot=len(in_flight) < process.max_active,
        )
        match self._reason(job, units, gate):
            case Reason.NOT_LED:
                text = f"{READY}, but no scheduler leads tree {job.place.tree}"
                return job.cause(Kind.NO_SCHEDULER, text, *remedies.SUPERVISE)
            case Reason.TURN:
                text = f"{READY}; {Reason.TURN.value} (max_active is {process.max_active})"
                return job.cause(Kind.BLOCKED, text, causes=(self._of(Job(job.place, first)),))
            case Reason.NO_SLOT:
                oldest = min(in_flight)
                text = (
                    f"{READY}; {len(in_flight)} periods are in flight and max_active is "
                    f"{process.max_active}; the oldest is {oldest}"
                )
                return job.cause(Kind.NO_SLOT, text, remedies.why(process.name, oldest))
        due = self._trigger(process).next_after(self._now)
        text = f"{READY}; it is considered when its trigger is due, at {instant(due)}"
        return job.cause(Kind.READY, text, remedies.trigger(process.name))

    def _reason(self, job: Job, units: list[UnitOfWork], gate: Gate) -> Reason | None:
        is_closed = self._now > job.closes_at
        return unfinished_because(job.place, job.ordinal, units[::-1], gate, is_closed=is_closed)

    def _open(self, job: Job, *, has_run: bool) -> Cause:
        settles = f"settles until {instant(job.closes_at)}"
        continuous = job.process.state_machine is StateMachine.CONTINUOUS
        kept = "; its rows are kept up to date meanwhile" if continuous and has_run else ""
        if self._now >= job.ends_at:
            return job.cause(Kind.SETTLING, f"{settles}{kept}")
        text = f"the period is open until {instant(job.ends_at)}, then {settles}{kept}"
        return job.cause(Kind.OPEN, text)

    def _blocked(self, job: Job, behind: list[Blocker]) -> Cause:
        words, causes = [], list[Cause]()
        for relation, plural in _PLURALS.items():
            some = [blocker for blocker in behind if blocker.relation is relation]
            if some:
                words.append(f"{len(some)} {relation.value if len(some) == 1 else plural}")
            causes += map(self._behind, some[:WIDTH])
        text = f"waits for {' and '.join(words)} to be finished"
        return job.cause(Kind.BLOCKED, text, causes=tuple(causes))

    def _behind(self, blocker: Blocker) -> Cause:
        place, name = self._timetable.place(blocker.process), blocker.process
        if blocker.state is None:
            start = place.level.timeperiod(place.level.start)
            text = f"impossible: {name} begins at {start}"
            help_ = remedies.extend(_first_hour(blocker.timeperiod))
            return Cause(Kind.IMPOSSIBLE, name, blocker.timeperiod, None, text, (help_,))
        if not place.level.holds(blocker.ordinal):
            text = "has not begun yet"
            return Cause(Kind.OPEN, name, blocker.timeperiod, blocker.state, text)
        return self._of(Job(place, blocker.ordinal))

    # What the store and the controls say

    def _is_on(self, process: ManagedProcess) -> bool:
        return is_switched_on(process, self._controls.get(process.name))

    def _trigger(self, process: ManagedProcess) -> Trigger:
        control = self._controls.get(process.name)
        text = control.trigger_frequency if control is not None else None
        return parse(text or process.trigger_frequency)

    def _in_flight(self, process: str) -> set[str]:
        """The periods of a process that have an unfinished unit."""
        units = self._store.units.unfinished()
        return {unit.timeperiod for unit in units if unit.process == process}

    def _units(self, job: Job) -> list[UnitOfWork]:
        """The units of the job's present generation, newest first."""
        generation = job.place.level.generation(job.ordinal)
        units = self._store.units.newest(job.process.name, job.timeperiod, UNITS)
        return [unit for unit in units if unit.generation == generation]


def _active(units: list[UnitOfWork]) -> UnitOfWork:
    """The unit that runs, or else the newest one to be carried out."""
    active = [unit for unit in units if not unit.state.is_finished]
    return next((unit for unit in active if unit.state is UnitState.IN_PROGRESS), active[0])


def _first_hour(timeperiod: str) -> str:
    hourly = Qualifier.HOURLY
    return hourly.timeperiod(hourly.cast(timeperiod))
