"""Decides about the jobs that an event concerns, and those that a tick has not reached yet.

Each turn considers a bounded number of periods of each process that has work, so that a process
with much to do does not delay the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from synergy.commands.sources import SKIPS
from synergy.lifecycle.decision import (
    Finish,
    Reason,
    Request,
    Situation,
    SourceBounds,
    UnitView,
    Wait,
)
from synergy.lifecycle.machines import decide
from synergy.lifecycle.situations import situation
from synergy.model.job import JobState
from synergy.model.unit_of_work import UnitState
from synergy.scheduler.circuit_breaker import CircuitBreaker
from synergy.scheduler.job_decision import JobDecision
from synergy.scheduler.known_state import KnownState
from synergy.scheduler.process_state import ProcessState
from synergy.scheduler.sources import Sources
from synergy.storage.protocol import Store
from synergy.timetable.readiness import Blocker

BATCH = 4096  # periods considered in a turn, shared by all processes that have work
LEAST = 64  # the least share of a process, however many there are
ENTRIES_SEARCHED = 20  # entries of a skipped job that are searched for its skip


class JobDecider:
    """Decides about the jobs of the processes that are awake."""

    def __init__(self, store: Store, known_state: KnownState, breaker: CircuitBreaker) -> None:
        self._store = store
        self._known = known_state
        self._breaker = breaker
        self._reason: tuple[tuple[str, str], str] | None = None  # the last reason read, by job

    def decide(self, now: datetime) -> list[JobDecision]:
        """The decisions that change something: all except waits."""
        batch: list[JobDecision] = []
        self._reason = None
        left = BATCH
        sources = Sources(self._store)
        states = sorted(self._known.awake, key=lambda state: state.need)
        for behind, state in zip(range(len(states), 0, -1), states, strict=True):
            share = max(min(state.need, left // behind), LEAST)
            left -= share
            with self._breaker.of_tree(state.place.tree):
                batch += self._of_process(state, share, sources, now)
        return batch

    def _of_process(
        self, state: ProcessState, share: int, sources: Sources, now: datetime
    ) -> list[JobDecision]:
        batch: list[JobDecision] = []
        state.resume()
        state.head = state.level.frontier
        for ordinal, refresh, ahead in _due(state, share):
            units = self._units(state, ordinal)
            held = sources.bounds(state.level, ordinal, ahead)
            bounds = None if held is None else SourceBounds(held.low, held.high)
            job = _situation(state, ordinal, units, bounds, now, refresh=refresh)
            decision = decide(state.process.state_machine, job)
            if isinstance(decision, Wait):
                self._postpone(state, ordinal, decision.reason, job.last, now)
                continue
            if isinstance(decision, Finish):
                decision = self._finish(state, ordinal, decision)
            elif isinstance(decision, Request):
                state.busy.add(ordinal)
            high = bounds.high if bounds is not None else 0
            batch.append(JobDecision(state, ordinal, decision, job.units, high))
        if not state.has_work:
            self._known.awake.pop(state, None)
        return batch

    def _finish(self, state: ProcessState, ordinal: int, decision: Finish) -> Finish:
        if ordinal == state.head:
            state.head = state.level.first_unfinished(ordinal + 1, state.level.end)
        if decision.with_ is None:
            return decision
        return replace(decision, why=self._with_reason(decision.why, decision.with_))

    def _with_reason(self, why: str, skipped: Blocker) -> str:
        """The reason of a skip that another skipped job causes, with that job's own reason."""
        key = (skipped.process, skipped.timeperiod)
        if self._reason is None or self._reason[0] != key:
            entries = self._store.journal.of_job(*key, limit=ENTRIES_SEARCHED)
            found = next((e.why for e in entries if e.event in SKIPS and e.why), "")
            self._reason = (key, found)
        return f"{why}: {self._reason[1]}" if self._reason[1] else why

    def _postpone(
        self,
        state: ProcessState,
        ordinal: int,
        reason: Reason,
        last: UnitView | None,
        now: datetime,
    ) -> None:
        """Schedules the next look at a job whose reason for waiting ends without an event."""
        if reason is Reason.NO_SLOT:
            state.postpone(ordinal)
        elif reason is Reason.FAILED and last is not None:
            due = _retry_due(state, ordinal, last, now)
            if due is not None and due > now:
                state.retry_later(ordinal, due)
                self._known.time_due = min(self._known.time_due, due)

    def _units(self, state: ProcessState, ordinal: int) -> list[UnitView]:
        if ordinal not in state.units and state.level.state(ordinal) is not JobState.EMBRYO:
            self._known.read_units(state, state.level.timeperiod(ordinal))
        return state.units.get(ordinal, [])


def _due(state: ProcessState, limit: int) -> Iterator[tuple[int, bool, int]]:
    """The periods that an event concerns, then those that were not considered since the last tick.

    Each comes with whether its trigger fired, and with how many neighbours, itself included, are
    likely to follow.
    """
    seen: set[int] = set()
    while state.candidates and len(seen) < limit:
        ordinal = next(iter(state.candidates))
        refresh = state.candidates.pop(ordinal)
        if state.level.state(ordinal).is_active and not state.level.is_unreadable(ordinal):
            seen.add(ordinal)
            yield ordinal, refresh, 1
    end = state.scan_end
    state.cursor = state.level.first_pending(max(state.cursor, state.level.frontier), end)
    while state.cursor < end and state.free > 0 and len(seen) < limit:
        ordinal = state.cursor
        if ordinal not in seen:
            if state.is_strict and ordinal != state.head:
                return
            seen.add(ordinal)
            yield ordinal, False, limit - len(seen) + 1
        state.cursor = state.level.first_pending(ordinal + 1, end)


def _situation(
    state: ProcessState,
    ordinal: int,
    units: Sequence[UnitView],
    bounds: SourceBounds | None,
    now: datetime,
    *,
    refresh: bool,
) -> Situation:
    return situation(
        state.place,
        ordinal,
        units,
        bounds,
        state.gate(ordinal),
        is_closed=ordinal < state.closed,
        may_refresh=_may_refresh(state, ordinal, ticked=refresh),
        may_retry=_may_retry(state, ordinal, units[-1] if units else None, now),
    )


def _may_refresh(state: ProcessState, ordinal: int, *, ticked: bool) -> bool:
    process = state.process
    by_trigger = process.refresh is None and ordinal >= state.closed
    if process.stored_source is None or by_trigger:
        return ticked
    return ticked or ordinal not in state.refresh_at


def _may_retry(state: ProcessState, ordinal: int, last: UnitView | None, now: datetime) -> bool:
    """Whether the period closed, or `retry_failed` passed, since the unit was given up."""
    if last is None or last.state is not UnitState.CANCELED:
        return False
    due = _retry_due(state, ordinal, last, now)
    return due is not None and due <= now


def _retry_due(state: ProcessState, ordinal: int, last: UnitView, now: datetime) -> datetime | None:
    """The time of the automatic retry of a job whose unit was given up; None for never.

    After the clock was set back, closed periods stay closed, and a retry at a period's close waits
    until the clock shows that time again; a unit's end that lies ahead of the clock counts as now.
    """
    if last.finished_at is None:
        return None
    dues = []
    if ordinal < state.closed and last.finished_at <= (close := state.process.closes_at(ordinal)):
        dues.append(close)
    if (seconds := state.process.retry_failed) is not None:
        dues.append(min(last.finished_at, now) + timedelta(seconds=seconds))
    return min(dues, default=None)
