"""Run constraints: whether a pending job may be launched now, and if not, why.

A job is judged in this order:

1. A run that a person triggered is launched now, regardless of timeout and constraints.
2. A job that has reached its timeout is aborted, or launched, according to the policy.
3. Each run of a catch-up waits for the end of the one before it; constraints are checked only
   after that.
4. The job is aborted if any unmet constraint aborts, and waits if any unmet constraint waits.

A schedule's `overlap` says what becomes of a run during another run of the schedule. Without it,
and without a `concurrency`, a worker program runs once at a time for each schedule: a due time
during a run is skipped, and a run that events triggered waits for its end, because the events would
be lost otherwise. A run that cancels the active one is judged as if that had ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from typing import assert_never

from synergy.model.schedule import Run, RunKind
from synergy.schedule import time_window
from synergy.schedule.definition import (
    AtMost,
    Concurrency,
    Constraint,
    Definition,
    Delay,
    Load,
    LoadOf,
    Overlap,
    Scope,
    SinceLastRun,
    TimeoutPolicy,
    TimeWindow,
    WhenUnmet,
    WorkerProgram,
)
from synergy.schedule.format.literals import readable_duration, readable_earliest, readable_instant

UNDER_WAY = "a run is under way"
ANOTHER_WAITS = "a run is under way, and another one waits for its end"
SKIPPING = frozenset({UNDER_WAY, ANOTHER_WAITS})  # the reasons for which a run is skipped
AWAITED = "the run that is under way has not ended"
CANCELS = "the run before it is being canceled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The facts that constraints depend on.

    Active runs were launched and have not ended. `is_behind_another`: another run of the schedule
    waits, and comes first; known for `overlap: buffer_one` only. `last_success_at` and `launches`
    (newest first) belong to the schedule, `depth` to the program's queue.
    """

    active_of_program: int = 0
    active_of_group: int = 0
    active_of_schedule: int = 0
    is_behind_another: bool = False
    last_success_at: datetime | None = None
    launches: Sequence[datetime] = ()
    load: float = 0.0
    depth: int = 0


class Verdict(Enum):
    """The decision about a pending job."""

    MET = "met"
    WAIT = "wait"
    ABORT = "abort"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with all its reasons.

    A waiting job has to be judged again at `again_at`, the first instant at which time alone
    changes the verdict or a reason, and when one of `awaits` changes: `program:X`, `group:G`,
    `schedule:S` (their runs), `load`. If it `cancels`, the schedule's active runs are canceled.
    """

    verdict: Verdict
    reasons: tuple[str, ...] = ()
    again_at: datetime | None = None
    awaits: frozenset[str] = frozenset()
    cancels: bool = False


@dataclass(frozen=True, slots=True)
class _Unmet:
    """An unmet constraint; from `until` on, if given, time alone has changed that."""

    when: WhenUnmet
    reason: str
    until: datetime | None = None
    awaits: frozenset[str] = field(default=frozenset())


def judge(definition: Definition, run: Run, facts: Facts, now: datetime) -> Judgement:
    """Whether a pending job is launched, waits, or is aborted."""
    if run.kind is RunKind.TRIGGER:
        return Judgement(Verdict.MET)
    ends_at = run.created_at + definition.timeout
    if now >= ends_at:
        if definition.timeout_policy is TimeoutPolicy.FORCE:
            return Judgement(Verdict.MET)
        reason = f"timed out: not launched within {readable_duration(definition.timeout)}"
        return Judgement(Verdict.ABORT, (reason,))
    if run.detail.in_turn and facts.active_of_schedule:
        awaits = frozenset({f"schedule:{run.schedule}"})
        return Judgement(Verdict.WAIT, ("the run before it is under way",), ends_at, awaits)
    is_to_cancel = definition.overlap is Overlap.CANCEL_OTHER and facts.active_of_schedule > 0
    if is_to_cancel:
        facts = _without_own(facts)
    unmet = [*_overlapping(definition, run, facts), *_unmet(definition, run, facts, now)]
    reasons = tuple(one.reason for one in unmet)
    if any(one.when is WhenUnmet.ABORT for one in unmet):
        return Judgement(Verdict.ABORT, reasons)
    if not unmet and is_to_cancel:
        awaits = frozenset({f"schedule:{run.schedule}"})
        return Judgement(Verdict.WAIT, (CANCELS,), ends_at, awaits, cancels=True)
    if not unmet:
        return Judgement(Verdict.MET)
    changes = [ends_at, *(one.until for one in unmet if one.until), *_closing(definition, now)]
    awaits = frozenset().union(*(one.awaits for one in unmet))
    return Judgement(Verdict.WAIT, reasons, min(changes), awaits)


def may_overlap(definition: Definition) -> bool:
    """Whether a run of the schedule is launched beside another one."""
    if definition.overlap is not None:
        return definition.overlap is Overlap.ALLOW
    has_own = any(isinstance(one, Concurrency) for one in definition.constraints)
    return has_own or not isinstance(definition.program, WorkerProgram)


def _overlapping(definition: Definition, run: Run, facts: Facts) -> Iterator[_Unmet]:
    """What keeps a run from being launched during another run of its schedule."""
    if may_overlap(definition) or not facts.active_of_schedule:
        return
    awaits = frozenset({f"schedule:{run.schedule}"})
    is_by_time = run.kind is not None and run.kind.is_by_time
    match definition.overlap:
        case Overlap.SKIP:
            yield _Unmet(WhenUnmet.ABORT, UNDER_WAY)
        case Overlap.BUFFER_ONE if facts.is_behind_another:
            yield _Unmet(WhenUnmet.ABORT, ANOTHER_WAITS)
        case None if is_by_time:
            yield _Unmet(WhenUnmet.ABORT, UNDER_WAY)
        case _:
            yield _Unmet(WhenUnmet.WAIT, AWAITED, awaits=awaits)


def _without_own(facts: Facts) -> Facts:
    """The facts once the active runs of the schedule are canceled."""
    own = facts.active_of_schedule
    return replace(
        facts,
        active_of_program=max(0, facts.active_of_program - own),
        active_of_group=max(0, facts.active_of_group - own),
        active_of_schedule=0,
    )


def _closing(definition: Definition, now: datetime) -> Iterator[datetime]:
    """The ends of the open windows: a job that waits for something else may miss them."""
    for one in definition.constraints:
        if isinstance(one, TimeWindow) and time_window.is_open(one, now):
            yield time_window.next_change(one, now)


def _unmet(definition: Definition, run: Run, facts: Facts, now: datetime) -> Iterator[_Unmet]:
    for constraint in definition.constraints:
        found = _check(constraint, run, facts, now)
        if found is not None:
            yield found


def _check(constraint: Constraint, run: Run, facts: Facts, now: datetime) -> _Unmet | None:
    match constraint:
        case Concurrency():
            return _concurrency(constraint, run, facts)
        case Delay():
            return _delay(constraint, run, now)
        case TimeWindow():
            return _window(constraint, now)
        case SinceLastRun():
            return _since_last_run(constraint, run, facts, now)
        case AtMost():
            return _at_most(constraint, facts, now)
        case Load():
            return _load(constraint, facts)
        case _:
            assert_never(constraint)


def _concurrency(constraint: Concurrency, run: Run, facts: Facts) -> _Unmet | None:
    if constraint.scope is Scope.GROUP:
        active, kind, name = facts.active_of_group, "group", run.group
    else:
        active, kind, name = facts.active_of_program, "program", run.program
    if active < constraint.n:
        return None
    reason = f"{active} of at most {constraint.n} runs of {kind} {name} are active"
    return _Unmet(constraint.when_unmet, reason, awaits=frozenset({f"{kind}:{name}"}))


def _delay(constraint: Delay, run: Run, now: datetime) -> _Unmet | None:
    until = run.created_at + constraint.duration
    if now >= until:
        return None
    return _Unmet(WhenUnmet.WAIT, f"delayed until {readable_earliest(until)}", until)


def _window(constraint: TimeWindow, now: datetime) -> _Unmet | None:
    if time_window.is_open(constraint, now):
        return None
    hours = f"{constraint.start:%H:%M}-{constraint.end:%H:%M} {constraint.zone}"
    return _Unmet(
        constraint.when_unmet, f"outside of {hours}", time_window.next_change(constraint, now)
    )


def _since_last_run(
    constraint: SinceLastRun, run: Run, facts: Facts, now: datetime
) -> _Unmet | None:
    if facts.active_of_schedule:
        awaits = frozenset({f"schedule:{run.schedule}"})
        return _Unmet(constraint.when_unmet, "the last run has not ended", awaits=awaits)
    if facts.last_success_at is None:
        return None
    until = facts.last_success_at + constraint.duration
    if now >= until:
        return None
    last = readable_instant(facts.last_success_at)
    reason = f"the last run succeeded at {last}: not before {readable_earliest(until)}"
    return _Unmet(constraint.when_unmet, reason, until)


def _at_most(constraint: AtMost, facts: Facts, now: datetime) -> _Unmet | None:
    """The window rolls: a launch counts until it is exactly `per` ago."""
    recent = [at for at in facts.launches if at + constraint.per > now]
    if len(recent) < constraint.n:
        return None
    until = recent[constraint.n - 1] + constraint.per
    launched = "1 run was" if constraint.n == 1 else f"{constraint.n:,} runs were"
    reason = (
        f"{launched} launched within {readable_duration(constraint.per)}: "
        f"not before {readable_earliest(until)}"
    )
    return _Unmet(constraint.when_unmet, reason, until)


def _load(constraint: Load, facts: Facts) -> _Unmet | None:
    is_queue = constraint.of is LoadOf.QUEUE
    load = facts.depth if is_queue else facts.load
    if load <= constraint.maximum:
        return None
    if is_queue:
        what = f"{load:,} {'message waits' if load == 1 else 'messages wait'} in the queue"
    else:
        what = f"{load:.2f} is the load of the box"
    reason = f"{what}, above {constraint.maximum:,.15g}"
    return _Unmet(constraint.when_unmet, reason, awaits=frozenset({"load"}))
