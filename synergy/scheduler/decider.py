"""Decisions about the jobs that an event concerns.

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
from synergy.scheduler.apply import JobDecision
from synergy.scheduler.circuit_breaker import CircuitBreaker
from synergy.scheduler.known_state import KnownState
from synergy.scheduler.process_state import ProcessState
from synergy.scheduler.sources import Sources
from synergy.storage.protocol import Store
from synergy.timetable.readiness import Blocker

BATCH = 4096  # periods considered in a turn, shared by all processes that have work
LEAST = 64  # the least share of a process, however many there are
JOURNAL_LOOK = 20  # entries of a skipped job that are searched for its skip


class JobDecider:
    """Decides about the processes that are awake."""

    def __init__(self, store: Store, memory: KnownState, troubles: CircuitBreaker) -> None:
        self._store = store
        self._memory = memory
        self._troubles = troubles
        self._reason: tuple[tuple[str, str], str] | None = None  # the last one read

    def decide(self, now: datetime) -> list[JobDecision]:
        """The decisions to be carried out: all but the waits."""
        batch: list[JobDecision] = []
        self._reason = None
        left = BATCH
        sources = Sources(self._store)
        lanes = sorted(self._memory.awake, key=lambda lane: lane.need)
        for behind, lane in zip(range(len(lanes), 0, -1), lanes, strict=True):
            share = max(min(lane.need, left // behind), LEAST)
            left -= share
            with self._troubles.of_tree(lane.place.tree):
                batch += self._of_lane(lane, share, sources, now)
        return batch

    def _of_lane(
        self, lane: ProcessState, share: int, sources: Sources, now: datetime
    ) -> list[JobDecision]:
        batch: list[JobDecision] = []
        lane.resume()
        lane.head = lane.level.frontier
        for ordinal, refresh, ahead in _due(lane, share):
            units = self._units(lane, ordinal)
            held = sources.bounds(lane.level, ordinal, ahead)
            bounds = None if held is None else SourceBounds(held.low, held.high)
            job = _situation(lane, ordinal, units, bounds, now, refresh=refresh)
            decision = decide(lane.process.state_machine, job)
            if isinstance(decision, Wait):
                self._postpone(lane, ordinal, decision.reason, job.last, now)
                continue
            if isinstance(decision, Finish):
                decision = self._finish(lane, ordinal, decision)
            elif isinstance(decision, Request):
                lane.busy.add(ordinal)
            high = bounds.high if bounds is not None else 0
            batch.append(JobDecision(lane, ordinal, decision, job.units, high))
        if not lane.has_work:
            self._memory.awake.pop(lane, None)
        return batch

    def _finish(self, lane: ProcessState, ordinal: int, decision: Finish) -> Finish:
        if ordinal == lane.head:
            lane.head = lane.level.first_unfinished(ordinal + 1, lane.level.end)
        if decision.with_ is None:
            return decision
        return replace(decision, why=self._with_reason(decision.why, decision.with_))

    def _with_reason(self, why: str, skipped: Blocker) -> str:
        """The reason of a skip that another skipped job causes, with that job's own reason."""
        key = (skipped.process, skipped.timeperiod)
        if self._reason is None or self._reason[0] != key:
            story = self._store.journal.of_job(*key, limit=JOURNAL_LOOK)
            found = next((e.why for e in story if e.event in SKIPS and e.why), "")
            self._reason = (key, found)
        return f"{why}: {self._reason[1]}" if self._reason[1] else why

    def _postpone(
        self, lane: ProcessState, ordinal: int, reason: Reason, last: UnitView | None, now: datetime
    ) -> None:
        """Arranges another look at a job whose reason no event ends."""
        if reason is Reason.NO_SLOT:
            lane.postpone(ordinal)
        elif reason is Reason.FAILED and last is not None:
            due = _retry_due(lane, ordinal, last, now)
            if due is not None and due > now:
                lane.retry_later(ordinal, due)
                self._memory.time_due = min(self._memory.time_due, due)

    def _units(self, lane: ProcessState, ordinal: int) -> list[UnitView]:
        if ordinal not in lane.units and lane.level.state(ordinal) is not JobState.EMBRYO:
            self._memory.know(lane, lane.level.timeperiod(ordinal))
        return lane.units.get(ordinal, [])


def _due(lane: ProcessState, limit: int) -> Iterator[tuple[int, bool, int]]:
    """The periods that an event concerns, then those that were never considered.

    Each comes with whether its trigger ticked, and with how many neighbours are likely to follow.
    """
    seen: set[int] = set()
    while lane.candidates and len(seen) < limit:
        ordinal = next(iter(lane.candidates))
        refresh = lane.candidates.pop(ordinal)
        if lane.level.state(ordinal).is_active:
            seen.add(ordinal)
            yield ordinal, refresh, 1
    end = lane.scan_end
    lane.cursor = lane.level.first_pending(max(lane.cursor, lane.level.frontier), end)
    while lane.cursor < end and lane.free > 0 and len(seen) < limit:
        ordinal = lane.cursor
        if ordinal not in seen:
            if lane.is_strict and ordinal != lane.head:
                return
            seen.add(ordinal)
            yield ordinal, False, limit - len(seen) + 1
        lane.cursor = lane.level.first_pending(ordinal + 1, end)


def _situation(
    lane: ProcessState, ordinal: int, units: Sequence[UnitView], bounds: SourceBounds | None,
    now: datetime, *, refresh: bool,
) -> Situation:  # fmt: skip
    return situation(
        lane.place,
        ordinal,
        units,
        bounds,
        lane.gate(ordinal),
        is_closed=ordinal < lane.closed,
        may_refresh=_may_refresh(lane, ordinal, ticked=refresh),
        may_retry=_may_retry(lane, ordinal, units[-1] if units else None, now),
    )


def _may_refresh(lane: ProcessState, ordinal: int, *, ticked: bool) -> bool:
    process = lane.process
    by_trigger = process.refresh is None and ordinal >= lane.closed
    if process.stored_source is None or by_trigger:
        return ticked
    return ticked or ordinal not in lane.refresh_at


def _may_retry(lane: ProcessState, ordinal: int, last: UnitView | None, now: datetime) -> bool:
    """Whether the period closed, or `retry_failed` passed, since the unit was given up."""
    if last is None or last.state is not UnitState.CANCELED:
        return False
    due = _retry_due(lane, ordinal, last, now)
    return due is not None and due <= now


def _retry_due(lane: ProcessState, ordinal: int, last: UnitView, now: datetime) -> datetime | None:
    """The time of the automatic retry of a job whose unit was given up; None for never.

    After the clock was set back, closed periods stay closed, and their close is waited for again;
    a time ahead of the clock counts as now.
    """
    if last.finished_at is None:
        return None
    dues = []
    if ordinal < lane.closed and last.finished_at <= (close := lane.process.closes_at(ordinal)):
        dues.append(close)
    if (seconds := lane.process.retry_failed) is not None:
        dues.append(min(last.finished_at, now) + timedelta(seconds=seconds))
    return min(dues, default=None)
