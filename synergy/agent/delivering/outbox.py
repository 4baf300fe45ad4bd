"""Launched runs that have not ended: announced again, and freed from agents that are gone.

A run is in the outbox from its launch to its end, whether or not its message is lost. A sweep reads
the rows, because agents claim and release runs without a journal entry. It is due at intervals
while the outbox is not empty, and earlier if an agent is lost or a due run is not claimed. Runs of
workers end with their units; a missing unit is created.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from synergy.agent.context import AgentContext
from synergy.agent.deciding.launcher import Launcher
from synergy.agent.deciding.unfinished_runs import UnfinishedRuns
from synergy.agent.delivering.unit_ends import UnitEnds
from synergy.agent.membership import Membership
from synergy.errors import MessagingUnavailable
from synergy.model.schedule import Run, RunChange, RunState
from synergy.names import DELIVERIES

SWEEP_SECONDS = 20.0  # the time between two sweeps
UNIT_CHECK_SECONDS = 60.0  # the time between two checks of the runs that workers carry out
SETTLE_SECONDS = 5.0  # how long an agent may need to claim a run after it took the message
CLAIM_SECONDS = 1800.0  # the longest time that a claim lasts
MOST_ANNOUNCED = 5000  # runs of one destination that are announced again in one sweep
GROUP = 500
_LATE = timedelta(seconds=2)  # an attempt that is later than this is offered to all agents


class Outbox:
    """The launched runs, for the agent that decides."""

    def __init__(
        self,
        context: AgentContext,
        unfinished: UnfinishedRuns,
        launcher: Launcher,
        unit_ends: UnitEnds,
        members: Membership,
    ) -> None:
        self._store = context.store
        self._bus = context.bus
        self._clock = context.clock
        self._meter = context.meter
        self._name = context.name
        self._unfinished = unfinished
        self._launcher = launcher
        self._unit_ends = unit_ends
        self._members = members
        self._announced_at: dict[str, float] = {}  # by run, monotonic
        self._claims: dict[str, tuple[int, float]] = {}  # attempt, and when it was first seen
        self._unsent: dict[str, None] = {}  # to be announced
        self._sweep_at = 0.0
        self._units_at = 0.0
        self._is_new = True  # no sweep was done yet

    def announced(self, runs: Sequence[str]) -> None:
        """Notes that messages were sent for these runs."""
        now = self._clock.monotonic()
        self._announced_at.update(dict.fromkeys(runs, now))

    def learn(self, run: Run) -> None:
        """Adds or updates a run as stored."""
        if run.state is not RunState.LAUNCHED:
            self.forget(run.id)
        else:
            self._sweep_within(SWEEP_SECONDS)
            is_waiting = run.owner is None and run.not_before is None
            if is_waiting and run.id not in self._announced_at and run.is_delivery:
                self._unsent[run.id] = None

    def forget(self, run: str) -> None:
        """Removes a run that has ended."""
        self._announced_at.pop(run, None)
        self._claims.pop(run, None)
        self._unsent.pop(run, None)

    def due_in(self) -> float | None:
        """Seconds until work is due; None while the outbox is empty."""
        if not self._unfinished.launched:
            return None
        if self._unsent or self._is_new or self._members.is_changed:
            return 0.0
        return max(0.0, self._sweep_at - self._clock.monotonic())

    def work(self, now: datetime) -> None:
        """Announces runs that have not been announced, and sweeps if that is due."""
        if self._unsent:
            self._announce_unsent(now)
        now_at = self._clock.monotonic()
        if not self._unfinished.launched:
            return
        if self._is_new or self._members.is_changed or now_at >= self._sweep_at:
            self._is_new = self._members.is_changed = False
            self._sweep_at = now_at + SWEEP_SECONDS
            self._sweep(now)
            if now_at >= self._units_at:
                self._units_at = now_at + UNIT_CHECK_SECONDS
                self._check_units(now)

    def _sweep_within(self, seconds: float) -> None:
        at = self._clock.monotonic() + seconds
        if at < self._sweep_at or len(self._unfinished.launched) == 1:
            self._sweep_at = at

    def _announce_unsent(self, now: datetime) -> None:
        ids = list(self._unsent)[:GROUP]
        rows = self._store.runs.get(ids)
        for run in ids:
            self._unsent.pop(run, None)
        self._hand_out([run for run in rows if _is_free(run, now)], now)

    def _hand_out(self, runs: Sequence[Run], now: datetime) -> None:
        if not runs:
            return
        try:
            with self._store.batch() as batch:
                self._launcher.hand_out(runs, now, batch, self.announced)
        except MessagingUnavailable:
            self._unsent.update(dict.fromkeys(run.id for run in runs))
            raise

    # Sweeps

    def _sweep(self, now: datetime) -> None:
        is_empty = not self._bus.depths([DELIVERIES])
        counts: Counter[str] = Counter()  # by destination
        for ids in _groups(list(self._unfinished.deliveries())):
            rows = self._store.runs.get(ids)
            live = self._members.live() if any(row.owner for row in rows) else frozenset()
            rows = self._take_over(rows, live)
            unannounced = [row for row in rows if self._is_to_announce(row, is_empty, now)]
            self._hand_out(self._limited(unannounced, counts), now)

    def _limited(self, rows: Sequence[Run], counts: Counter[str]) -> list[Run]:
        """At most `MOST_ANNOUNCED` runs of each destination: more could not be sent soon anyway."""
        some = []
        for row in rows:
            counts[row.program] += 1
            if counts[row.program] <= MOST_ANNOUNCED:
                some.append(row)
            else:
                self._sweep_within(SETTLE_SECONDS)
        return some

    def _take_over(self, rows: Sequence[Run], live: frozenset[str]) -> list[Run]:
        """Frees the runs of agents that are gone; returns all runs as stored."""
        lost = [row for row in rows if row.owner is not None and self._is_lost(row, live)]
        if not lost:
            return list(rows)
        changes: list[RunChange] = []
        for row in lost:
            free = replace(row, owner=None, not_before=None)
            changes.append(RunChange(free, f"{row.owner} was lost", self._name))
        refused = {change.run.id for change in self._store.runs.change(changes)}
        self._meter.count("job_leased_total", "taken over", len(lost) - len(refused))
        freed = {row.id: row for row in self._store.runs.get([row.id for row in lost])}
        for run in freed.keys() - refused:
            self._announced_at.pop(run, None)
        return [freed.get(row.id, row) for row in rows]

    def _is_lost(self, row: Run, live: frozenset[str]) -> bool:
        now = self._clock.monotonic()
        attempt, since = self._claims.get(row.id, (row.attempt, now))
        if attempt != row.attempt:
            since = now
        self._claims[row.id] = (row.attempt, since)
        return row.owner not in live or now - since >= CLAIM_SECONDS

    def _is_to_announce(self, row: Run, is_empty: bool, now: datetime) -> bool:
        if row.state is not RunState.LAUNCHED or row.owner is not None:
            return False
        if row.not_before is not None and row.not_before + _LATE > now:
            self._sweep_within((row.not_before + _LATE - now).total_seconds())
            return False
        announced_at = self._announced_at.get(row.id)
        if announced_at is None:
            return True
        waited = self._clock.monotonic() - announced_at
        if waited >= SWEEP_SECONDS or (is_empty and waited >= SETTLE_SECONDS):
            return True
        self._sweep_within(SETTLE_SECONDS if is_empty else SWEEP_SECONDS)
        return False

    def _check_units(self, now: datetime) -> None:
        for ids in _groups(list(self._unfinished.workers())):
            missing = self._unit_ends.of_units(ids, now)
            self._hand_out(self._store.runs.get(missing) if missing else [], now)


def _is_free(run: Run, now: datetime) -> bool:
    is_due = run.not_before is None or run.not_before <= now
    return run.state is RunState.LAUNCHED and run.owner is None and is_due


def _groups(ids: list[str]) -> Iterator[list[str]]:
    for at in range(0, len(ids), GROUP):
        yield ids[at : at + GROUP]
