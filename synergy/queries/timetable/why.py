"""Why a period is not done: down to the leaf causes, and what would help."""

from __future__ import annotations

from datetime import datetime, timedelta

from synergy.model.control import ProcessControl
from synergy.model.job import JobState
from synergy.model.journal import JournalEntry
from synergy.model.process import ManagedProcess, StateMachine
from synergy.model.unit_of_work import UnitOfWork, UnitState
from synergy.queries.health.staffing import Staff
from synergy.queries.timetable import remedies
from synergy.queries.timetable.causes import Cause, Kind
from synergy.queries.timetable.coverage import uncovered
from synergy.queries.timetable.remedies import Remedy
from synergy.runtime import identity
from synergy.runtime.leaders import COLLECTOR, is_led, part_of_tree
from synergy.schedule.trigger import Every, parse
from synergy.storage.protocol import StoreView
from synergy.timeperiod import Qualifier
from synergy.timetable.readiness import Blocker, Relation, blockers, skipped_counterparts
from synergy.timetable.timetable import Place, Timetable

WIDTH = 3  # how many children or counterparts are followed; the others are counted
UNITS = 32  # of a job that are looked at: those under way are among the newest


class Why:
    """Answers for one look at the store."""

    def __init__(self, store: StoreView, timetable: Timetable, now: datetime) -> None:
        self._store = store
        self._timetable = timetable
        self._now = now
        self._controls = store.controls.all()
        self._depths: dict[str, int] | None = None

    def ask(self, process: str, timeperiod: str) -> Cause:
        """The causes of one job; raises NotFound for one outside the timetable."""
        place = self._timetable.place(process)
        return self._of(place, place.level.ordinal(timeperiod))

    def _of(self, place: Place, ordinal: int) -> Cause:
        state = place.level.state(ordinal)
        if state.is_finished:
            return self._finished(place, ordinal, state)
        if state is JobState.FAILED:
            return self._failed(place, ordinal)
        units = self._units(place, ordinal)
        active = [unit for unit in units if not unit.state.is_finished]
        if active:
            running = [unit for unit in active if unit.state is UnitState.IN_PROGRESS]
            return self._unit(place, ordinal, (running or active)[0])
        not_closed = self._open(place, ordinal, has_run=bool(units))
        if not_closed is not None:
            return not_closed
        if not self._is_on(place.process):
            return self._off(place, ordinal)
        behind = blockers(place, ordinal, limit=1000)
        if behind:
            return self._blocked(place, ordinal, behind)
        return self._ready(place, ordinal)

    def _is_on(self, process: ManagedProcess) -> bool:
        control = self._controls.get(process.name, ProcessControl(process.name))
        return process.is_on if control.is_on is None else control.is_on

    def _off(self, place: Place, ordinal: int, also: str = "") -> Cause:
        text, help_ = f"the process is switched off{also}", remedies.switch_on(place.process.name)
        return self._cause(Kind.SWITCHED_OFF, place, ordinal, text, help_)

    def _no_scheduler(self, place: Place, ordinal: int, text: str) -> Cause:
        return self._cause(Kind.NO_SCHEDULER, place, ordinal, text, *remedies.supervise())

    def _finished(self, place: Place, ordinal: int, state: JobState) -> Cause:
        name = place.level.timeperiod(ordinal)
        again = remedies.reprocess(place.process.name, name)
        late = next(uncovered(self._store, place, ordinal, ordinal + 1), None)
        if late is not None:
            return self._cause(
                Kind.LATE_DATA,
                place,
                ordinal,
                f"{state.word}, but its source was written to since: it is started over after a "
                "quiet time of 10 s",
                again,
            )
        last = self._entry(place, ordinal, f"job.{state.word}")
        word = state.word.replace("_", " ")
        said = f"{word} at {_instant(last.at)}" if last is not None else word
        why = (
            f": {last.why} ({identity.short_name(last.who)})"
            if last is not None and last.why
            else ""
        )
        stale = self._stale(place, ordinal)
        if state is JobState.GIVEN_UP:
            acknowledge = remedies.acknowledge(place.process.name, name)
            return self._cause(
                Kind.GIVEN_UP, place, ordinal, f"{said}{why}{stale}", acknowledge, again
            )
        if place.level.is_acknowledged(ordinal):
            taken = self._entry(place, ordinal, "job.acknowledged")
            told = f": {taken.why} ({identity.short_name(taken.who)})" if taken is not None else ""
            said, why = "given up, and acknowledged", told
        text = f"{said}{why}{stale}"
        if state is JobState.SKIPPED:
            return self._cause(Kind.SKIPPED, place, ordinal, text, self._back(place, ordinal))
        return self._cause(Kind.FINISHED, place, ordinal, text, *((again,) if stale else ()))

    def _back(self, place: Place, ordinal: int) -> Remedy:
        """What brings a skipped job back: often the job because of which it is skipped."""
        behind = next(skipped_counterparts(place, ordinal), None)
        if behind is not None and place.level.is_derived(ordinal):
            return remedies.reprocess(behind.process, behind.timeperiod)
        return remedies.reprocess(place.process.name, place.level.timeperiod(ordinal))

    def _stale(self, place: Place, ordinal: int) -> str:
        if not place.level.is_stale(ordinal):
            return ""
        if place.level.state(ordinal) is JobState.SKIPPED:
            return "; its source changed since, which a reprocess brings in"
        return "; its source changed since (stale)"

    def _failed(self, place: Place, ordinal: int) -> Cause:
        name, process = place.level.timeperiod(ordinal), place.process
        last = self._entry(place, ordinal, "job.failed")
        said = "failed" if last is None else f"failed at {_instant(last.at)}: {last.why}"
        canceled = self._entry(place, ordinal, "unit.canceled")
        by = "" if canceled is None else f" ({identity.short_name(canceled.who)})"
        again = [] if process.stored_source is None else ["when its source grows"]
        if self._now <= _settled(place, ordinal):
            again.append("when its period closes")
        if process.retry_failed is not None and last is not None:
            due = last.at + timedelta(seconds=process.retry_failed)
            again.append(f"by itself at {_instant(due)}")
        hope = f"it is tried again {', or '.join(again)}" if again else "somebody has to decide"
        log = () if last is None or last.unit is None else (remedies.unit_log(last.unit),)
        return self._cause(
            Kind.FAILED,
            place,
            ordinal,
            f"{said}{by}; {hope}",
            remedies.retry_job(process.name, name),
            remedies.reprocess(process.name, name),
            remedies.skip(process.name, name),
            *log,
        )

    def _entry(self, place: Place, ordinal: int, event: str) -> JournalEntry | None:
        """The newest entry of that event among those of a job."""
        name = place.level.timeperiod(ordinal)
        entries = self._store.journal.of_job(place.process.name, name, limit=20)
        return next((entry for entry in entries if entry.event == event), None)

    def _open(self, place: Place, ordinal: int, *, has_run: bool) -> Cause | None:
        end, settled = place.process.qualifier.start(ordinal + 1), _settled(place, ordinal)
        if self._now > settled:
            return None
        continuous = place.process.state_machine is StateMachine.CONTINUOUS
        kept = "; its rows are kept up to date meanwhile" if continuous and has_run else ""
        if self._now < end:
            return self._cause(
                Kind.OPEN,
                place,
                ordinal,
                f"the period is open until {_instant(end)}, then settles until "
                f"{_instant(settled)}{kept}",
            )
        return self._cause(
            Kind.SETTLING, place, ordinal, f"settles until {_instant(settled)}{kept}"
        )

    def _unit(self, place: Place, ordinal: int, unit: UnitOfWork) -> Cause:
        if unit.state is UnitState.IN_PROGRESS:
            owner = identity.parse(unit.owner or "")
            where = f"on {owner.host}, pid {owner.pid}" if owner is not None else str(unit.owner)
            text = f"unit {unit.id} runs {where} since {_instant(unit.started_at)}"
            help_ = [remedies.unit_log(unit.id)]
            limit = timedelta(seconds=place.process.resubmit_after)
            if unit.started_at is not None and self._now - unit.started_at > limit:
                help_.append(remedies.cancel(unit.id, unit.timeperiod))
            return self._cause(Kind.RUNNING, place, ordinal, text, *help_)
        needs_collector = unit.state is UnitState.INVALID or unit.published_at is None
        failed = f"unit {unit.id} failed: {unit.reason}" if unit.reason else f"unit {unit.id} waits"
        if needs_collector and not self._is_on(place.process):
            return self._off(place, ordinal, f"; {failed}")
        if needs_collector and not is_led(self._store, COLLECTOR):
            return self._no_scheduler(place, ordinal, f"{failed}, but no scheduler collects")
        if unit.state is UnitState.INVALID:
            again = f"tried again at {_instant(unit.not_before)}" if unit.not_before else ""
            return self._cause(
                Kind.RETRYING,
                place,
                ordinal,
                f"unit {unit.id} failed {unit.failures} of {place.process.max_attempts} times: "
                f"{unit.reason}; {again}",
                remedies.unit_log(unit.id),
                remedies.retry(unit.id),
                remedies.skip(place.process.name, unit.timeperiod),
            )
        return self._waiting(place, ordinal, unit)

    def _waiting(self, place: Place, ordinal: int, unit: UnitOfWork) -> Cause:
        name, queue = place.process.name, place.process.queue
        if self._depths is None:
            self._depths = self._store.messages.depths()
        held = [
            other
            for other in self._store.units.unfinished()
            if other.process == name and other.state is UnitState.IN_PROGRESS
        ]
        serving = Staff(self._store, self._now).of(name, held)
        retried = f" (attempt {unit.attempt}; before: {unit.reason})" if unit.reason else ""
        text = (
            f"unit {unit.id} waits for a worker{retried}: {serving.text}; "
            f"{self._depths.get(queue, 0)} messages in its queue"
        )
        kind = Kind.WORKERS_BUSY if serving.busy else Kind.WAITS_FOR_WORKER
        return self._cause(kind, place, ordinal, text, *serving.helps)

    def _blocked(self, place: Place, ordinal: int, behind: list[Blocker]) -> Cause:
        words = []
        for relation, plural in (
            (Relation.CHILD, "children"),
            (Relation.COUNTERPART, "counterparts"),
        ):
            count = sum(blocker.relation is relation for blocker in behind)
            if count:
                words.append(f"{count} {relation.value if count == 1 else plural}")
        followed = [b for r in Relation for b in [b for b in behind if b.relation is r][:WIDTH]]
        causes = tuple(self._behind(blocker) for blocker in followed)
        return self._cause(
            Kind.BLOCKED,
            place,
            ordinal,
            f"waits for {' and '.join(words)} to be finished",
            causes=causes,
        )

    def _behind(self, blocker: Blocker) -> Cause:
        other = self._timetable.place(blocker.process)
        if blocker.state is None:
            start = other.level.timeperiod(other.level.start)
            return Cause(
                Kind.IMPOSSIBLE,
                blocker.process,
                blocker.timeperiod,
                None,
                f"impossible: {blocker.process} begins at {start}",
                (remedies.extend(_first_hour(blocker.timeperiod)),),
            )
        if not other.level.holds(blocker.ordinal):
            return Cause(
                Kind.OPEN, blocker.process, blocker.timeperiod, blocker.state, "has not begun yet"
            )
        return self._of(other, blocker.ordinal)

    def _ready(self, place: Place, ordinal: int) -> Cause:
        if not is_led(self._store, part_of_tree(place.tree)):
            text = f"ready, but no scheduler leads tree {place.tree}"
            return self._no_scheduler(place, ordinal, text)
        process, first = place.process, place.level.frontier
        if process.max_active == 1 and first < ordinal:
            return self._cause(
                Kind.BLOCKED,
                place,
                ordinal,
                "ready; its turn comes when the periods before it are finished (max_active is 1)",
                causes=(self._of(place, first),),
            )
        active = [
            unit.timeperiod
            for unit in self._store.units.unfinished()
            if unit.process == process.name
        ]
        if len(set(active)) >= process.max_active:
            return self._cause(
                Kind.NO_SLOT,
                place,
                ordinal,
                f"ready; {len(set(active))} periods are in flight and max_active is "
                f"{process.max_active}; the oldest is {min(active)}",
                remedies.why(process.name, min(active)),
            )
        due = self._due(process)
        return self._cause(
            Kind.READY,
            place,
            ordinal,
            f"ready; looked at when its trigger is due, at {_instant(due)}",
            remedies.trigger(process.name),
        )

    def _due(self, process: ManagedProcess) -> datetime:
        control = self._controls.get(process.name)
        text = control.trigger_frequency if control is not None else None
        return parse(text or process.trigger_frequency).next_after(self._now)

    def waits_for_trigger(self, process: ManagedProcess) -> bool:
        """Whether nothing but its trigger makes the process look at a period that has closed."""
        control = self._controls.get(process.name)
        text = control.trigger_frequency if control is not None else None
        return not isinstance(parse(text or process.trigger_frequency), Every)

    def _units(self, place: Place, ordinal: int) -> list[UnitOfWork]:
        name = place.level.timeperiod(ordinal)
        generation = place.level.generation(ordinal)
        units = self._store.units.newest(place.process.name, name, UNITS)
        return [unit for unit in units if unit.generation == generation]

    def _cause(
        self,
        kind: Kind,
        place: Place,
        ordinal: int,
        text: str,
        *help_: Remedy,
        causes: tuple[Cause, ...] = (),
    ) -> Cause:
        level = place.level
        state, name = level.state(ordinal), level.timeperiod(ordinal)
        return Cause(kind, place.process.name, name, state, text, help_, causes)


def _instant(at: datetime | None) -> str:
    return "an unknown time" if at is None else f"{at:%Y-%m-%d %H:%M:%S} UTC"


def _settled(place: Place, ordinal: int) -> datetime:
    """When a period is over and has settled."""
    end = place.process.qualifier.start(ordinal + 1)
    return end + timedelta(seconds=place.process.settle)


def _first_hour(timeperiod: str) -> str:
    """The first hour of any timeperiod."""
    hourly = Qualifier.HOURLY
    return hourly.timeperiod(hourly.cast(timeperiod))
