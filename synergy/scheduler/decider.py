"""What to do about the jobs that something happened to.

Each turn looks at a bounded number of periods of each process that has work, so that one with
much to do holds up no other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from synergy.commands.sources import SKIPS
from synergy.lifecycle.decision import (
    FAILED,
    Decision,
    Finish,
    Request,
    Situation,
    SourceBounds,
    UnitView,
    Wait,
)
from synergy.lifecycle.machines import decide
from synergy.model.job import JobState
from synergy.model.unit_of_work import UnitState
from synergy.scheduler.apply import JobDecision
from synergy.scheduler.circuit_breaker import CircuitBreaker
from synergy.scheduler.known_state import KnownState
from synergy.scheduler.process_state import ProcessState
from synergy.scheduler.sources import Sources
from synergy.storage.protocol import Store
from synergy.timetable.readiness import Blocker, readiness

BATCH = 4096  # periods looked at in a turn, shared by all processes that have work
LEAST = 64  # the share of each, however many they are
JOURNAL_LOOK = 20  # entries of a skipped job among which the one about its skip is


class JobDecider:
    """Decides about the lanes that are awake."""

    def __init__(self, store: Store, memory: KnownState, troubles: CircuitBreaker) -> None:
        self._store = store
        self._memory = memory
        self._troubles = troubles
        self._reason: tuple[tuple[str, str], str] | None = None  # of the last that was asked for

    def decide(self, now: datetime) -> list[JobDecision]:
        """The decisions that ask for something to be done."""
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
            decision = _consider(lane, ordinal, units, bounds, now, refresh=refresh)
            if decision is FAILED:
                self._try_again_later(lane, ordinal, units[-1], now)
            if isinstance(decision, Finish) and decision.with_ is not None:
                decision = replace(decision, why=self._with_reason(decision.why, decision.with_))
            if isinstance(decision, Finish) and ordinal == lane.head:
                lane.head = lane.level.first_unfinished(ordinal + 1, lane.level.end)
            if not isinstance(decision, Wait):
                high = bounds.high if bounds is not None else 0
                batch.append(JobDecision(lane, ordinal, decision, tuple(units), high))
        if not lane.has_work:
            self._memory.awake.pop(lane, None)
        return batch

    def _with_reason(self, why: str, skipped: Blocker) -> str:
        """Why a job is skipped with another one: for that one's reason."""
        key = (skipped.process, skipped.timeperiod)
        if self._reason is None or self._reason[0] != key:
            story = self._store.journal.of_job(*key, limit=JOURNAL_LOOK)
            found = next((e.why for e in story if e.event in SKIPS and e.why), "")
            self._reason = (key, found)
        return f"{why}: {self._reason[1]}" if self._reason[1] else why

    def _try_again_later(
        self, lane: ProcessState, ordinal: int, last: UnitView, now: datetime
    ) -> None:
        due = _retry_due(lane, ordinal, last, now)
        if due is not None and due > now:
            lane.retry_later(ordinal, due)
            self._memory.time_due = min(self._memory.time_due, due)

    def _units(self, lane: ProcessState, ordinal: int) -> list[UnitView]:
        if ordinal not in lane.units and lane.level.state(ordinal) is not JobState.EMBRYO:
            self._memory.know(lane, lane.level.timeperiod(ordinal))
        return lane.units.get(ordinal, [])


def _due(lane: ProcessState, limit: int) -> Iterator[tuple[int, bool, int]]:
    """The periods that something happened to, then those that were never looked at.

    With each comes whether its trigger ticked, and how many neighbours are likely to follow.
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


def _consider(
    lane: ProcessState, ordinal: int, units: Sequence[UnitView], bounds: SourceBounds | None,
    now: datetime, *, refresh: bool,
) -> Decision:  # fmt: skip
    decision = decide(
        lane.process.state_machine,
        Situation(
            state=lane.level.state(ordinal),
            is_closed=ordinal < lane.closed,
            is_checkpoint=lane.level.covered(ordinal) is not None,
            readiness=readiness(lane.place, ordinal),
            is_measured=lane.process.stored_source is not None,
            bounds=bounds,
            units=tuple(units),
            may_refresh=_may_refresh(lane, ordinal, ticked=refresh),
            may_retry=_may_retry(lane, ordinal, units[-1] if units else None, now),
            on_failure=lane.process.on_failure,
        ),
    )
    if isinstance(decision, Request) and ordinal not in lane.busy:
        if not lane.is_on:
            return Wait("the process is switched off")
        if lane.is_strict and ordinal != lane.head:
            return Wait("its turn comes when the periods before it are finished")
        if lane.free <= 0:
            lane.postpone(ordinal)
            return Wait("all slots are taken")
        lane.busy.add(ordinal)
    return decision


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
    """When a job whose unit was given up is tried again by itself; None for never.

    After the clock was set back, what is closed stays closed, and the close is waited for once
    more; a time ahead of the clock counts as now.
    """
    if last.finished_at is None:
        return None
    dues = []
    if ordinal < lane.closed and last.finished_at <= (close := lane.closed_at(ordinal)):
        dues.append(close)
    if (seconds := lane.process.retry_failed) is not None:
        dues.append(min(last.finished_at, now) + timedelta(seconds=seconds))
    return min(dues, default=None)
