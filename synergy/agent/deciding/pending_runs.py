"""Pending runs and their run constraints.

`judge` evaluates only the runs whose verdict may have changed: new runs, runs whose time has come
or whose schedule was changed, and runs for which another run that was launched or ended counts.
The decider writes what it decides. Runs are launched by priority, then age (`wait_queues`); what a
run waits for is decided in `schedule.constraint`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from synergy.agent.context import AgentContext
from synergy.agent.deciding.definitions import Definitions
from synergy.agent.deciding.gauges import Gauges
from synergy.agent.deciding.run_facts import RunFacts
from synergy.agent.deciding.unfinished_runs import UnfinishedRuns, schedule_key
from synergy.agent.deciding.wait_queues import WaitQueues
from synergy.commands.drop_reasons import off, superseded
from synergy.errors import InvalidValue
from synergy.lifecycle.legal_moves import RunMove
from synergy.lifecycle.state_changes import advance
from synergy.model.schedule import Run, RunState, Schedule
from synergy.schedule.constraint import SKIPPING, Judgement, Verdict, judge
from synergy.schedule.definition import Concurrency, Definition, TimeWindow

LOAD = "load"
VERSION_LAG = timedelta(minutes=1)  # a run may be seen this long before its schedule's new version
SCHEDULES_KEPT = 10_000


@dataclass(slots=True)
class Judged:
    """Runs to launch, to abort or to skip for a reason, and those with new reasons for waiting.

    `cancel` are the schedules whose active runs are to be canceled for a new one. `unused` are
    dropped runs of schedules with `max_runs`, where such runs do not count.
    """

    launch: list[tuple[Run, Definition]] = field(default_factory=list)
    abort: list[tuple[Run, str]] = field(default_factory=list)
    skip: list[tuple[Run, str]] = field(default_factory=list)  # they came due during a run
    explained: list[Run] = field(default_factory=list)
    cancel: set[str] = field(default_factory=set)
    unused: list[Run] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not (self.launch or self.abort or self.skip or self.explained or self.cancel)


@dataclass(frozen=True, slots=True)
class _Current:
    """A schedule as stored; `reason` says why none of its runs may be launched."""

    version: int
    definition: Definition | None
    reason: str


class PendingRuns:
    """The pending runs of all schedules, by what they wait for."""

    def __init__(
        self,
        context: AgentContext,
        definitions: Definitions,
        unfinished: UnfinishedRuns,
        gauges: Gauges,
    ) -> None:
        self._store = context.store
        self._definitions = definitions
        self._unfinished = unfinished
        self._gauges = gauges
        self._queues = WaitQueues()
        self._facts = RunFacts(context.store, unfinished, gauges)
        self._current: dict[str, _Current] = {}

    def learn(self, run: Run) -> None:
        """Updates the queues with a run as stored, pending or not."""
        if run.state.is_pending:
            self._queues.add(run)
        else:
            self._queues.remove(run.id)
            self._facts.launched(run)

    def ended(self, schedule: str, state: RunState, at: datetime) -> None:
        """Notes that a run of the schedule has ended."""
        self._facts.ended(schedule, state, at)

    def forget(self, run: str) -> None:
        """Removes a run that has ended."""
        self._queues.remove(run)

    def learn_schedule(self, name: str) -> None:
        """Has the pending runs of a changed schedule evaluated again."""
        self._current.pop(name, None)
        self._facts.forget(name)
        for run in self._unfinished.pending_of(name):
            self._queues.add(run)

    def next_at(self) -> datetime | None:
        """When the next run is to be evaluated by the clock."""
        return self._queues.next_alarm()

    def load_due_in(self) -> float | None:
        """Seconds until the load is read again; None if no run waits for it."""
        return self._gauges.due_in() if self._queues.awaits(LOAD) else None

    def is_clean(self, now: datetime) -> bool:
        """Whether no run is to be evaluated at this moment."""
        self._mark_dirty(now)
        return self._queues.is_clean

    def judge(self, now: datetime, limit: int) -> Judged:
        """Decides about at most so many runs, the rest in the next turn.

        Those to be launched count as active from here on.
        """
        self._mark_dirty(now)
        judged = Judged()
        pending = self._unfinished.pending
        dirty = [pending[run] for run in self._queues.dirty_runs() if run in pending]
        self._read_schedules(run.schedule for run in dirty)
        for number, run_id in enumerate(self._queues.to_evaluate(), 1):
            run = pending.get(run_id)
            if run is None:
                self._queues.remove(run_id)
            else:
                self._judge(run, now, judged)
            if number >= limit:
                break
        return judged

    def _mark_dirty(self, now: datetime) -> None:
        touched, self._unfinished.touched = self._unfinished.touched, set()
        self._queues.mark_dirty(touched)
        if self._queues.awaits(LOAD) and self._gauges.due_in() <= 0:
            self._queues.mark_dirty([LOAD])
        self._queues.wake_due(now)

    def _judge(self, run: Run, now: datetime, judged: Judged) -> None:
        current = self._of(run.schedule)
        definition = current.definition
        until = run.created_at + VERSION_LAG
        if current.version < run.version and now < until:
            self._queues.enqueue(run, run.id, frozenset(), until)
        elif definition is None:
            self._drop(run, current.reason, judged.abort)
        elif current.version != run.version:
            self._drop(run, superseded(current.version), judged.abort)
        else:
            self._decide(run, definition, now, judged)

    def _decide(self, run: Run, definition: Definition, now: datetime, judged: Judged) -> None:
        found = self._judgement(run, definition, now)
        match found.verdict:
            case Verdict.MET:
                judged.launch.append((run, definition))
                launched = advance(run, RunMove.LAUNCH, now)
                self._unfinished.learn(launched)
                self.learn(launched)
            case Verdict.ABORT:
                gone = judged.abort if SKIPPING.isdisjoint(found.reasons) else judged.skip
                self._drop(run, "; ".join(found.reasons), gone)
                judged.unused += [run] * (definition.max_runs is not None)
            case Verdict.WAIT:
                queue = _queue_key(run, definition, found.awaits)
                self._queues.enqueue(run, queue, found.awaits, found.again_at)
                self._explain(run, found.reasons, judged)
                if found.cancels:
                    judged.cancel.add(run.schedule)

    def _judgement(self, run: Run, definition: Definition, now: datetime) -> Judgement:
        if run.state is RunState.PENDING_LAUNCH:
            return Judgement(Verdict.MET, (), None, frozenset())
        before = self._unfinished.before(run) if run.detail.in_turn else None
        ends_at = run.created_at + definition.timeout
        if before is not None and now < ends_at:
            why = f"comes after the run that is due at {before:%Y-%m-%dT%H:%M:%SZ}"
            awaits = frozenset([schedule_key(run.schedule)])
            return Judgement(Verdict.WAIT, (why,), ends_at, awaits)
        return judge(definition, run, self._facts.of(run, definition, now), now)

    def _drop(self, run: Run, reason: str, gone: list[tuple[Run, str]]) -> None:
        self._queues.remove(run.id)
        self._unfinished.forget(run.id)
        gone.append((run, reason))

    def _explain(self, run: Run, reasons: tuple[str, ...], judged: Judged) -> None:
        if reasons != run.detail.waits:
            judged.explained.append(replace(run, detail=replace(run.detail, waits=reasons)))

    # Schedules

    def _of(self, schedule: str) -> _Current:
        if schedule not in self._current:
            self._read_schedules([schedule])
        return self._current[schedule]

    def _read_schedules(self, names: Iterable[str]) -> None:
        wanted = sorted({name for name in names if name not in self._current})
        if not wanted:
            return
        if len(self._current) > SCHEDULES_KEPT:
            self._current.clear()
        rows = {row.name: row for row in self._store.schedules.get(wanted)}
        for name in wanted:
            self._current[name] = self._read(rows.get(name))

    def _read(self, row: Schedule | None) -> _Current:
        if row is None:
            return _Current(0, None, "its schedule was removed")
        if not row.is_enabled:
            return _Current(row.version, None, disabled(row))
        try:
            return _Current(row.version, self._definitions.of(row), "")
        except InvalidValue as error:
            return _Current(row.version, None, f"its schedule cannot be read: {error}")


def _queue_key(run: Run, definition: Definition, awaits: frozenset[str]) -> Hashable:
    """The name of the queue of a waiting run; similar runs that await the same keys share one."""
    alike = all(isinstance(c, Concurrency | TimeWindow) for c in definition.constraints)
    if alike and not run.detail.in_turn:
        return (definition.constraints, run.program, run.group, awaits)
    return run.id


def disabled(row: Schedule) -> str:
    """Why a pending run of a disabled schedule is aborted."""
    return off(row.reason) if row.reason else "its schedule was disabled"
