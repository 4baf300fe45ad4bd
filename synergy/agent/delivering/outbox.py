"""Launched runs that were not carried out yet: told of again, and taken from who is gone.

A run is in the outbox from its launch to its end, whatever becomes of messages. A sweep reads the
rows, because agents claim and give back runs without telling the journal. It is due now and then
while there is something in the outbox; earlier when an agent was lost, or when a run whose turn
has come was not taken. Runs of workers have their unit: what it came to is read, and one that is
missing is made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from synergy.agent.context import AgentContext
from synergy.agent.deciding.launcher import DELIVERIES, Launcher
from synergy.agent.deciding.unfinished_runs import UnfinishedRuns
from synergy.agent.delivering.unit_ends import UnitEnds
from synergy.agent.membership import Membership
from synergy.errors import MessagingUnavailable
from synergy.model.schedule import Run, RunChange, RunState

EVERY = 20.0  # seconds between two looks at what is to be sent
UNITS_EVERY = 60.0  # the same for what workers carry out
SETTLES = 5.0  # seconds for which a message of an empty queue may be in somebody's hands
CLAIMED = 1800.0  # seconds that a claim lasts at the longest
AT_ONCE = 5000  # runs of one destination that are told of again at a time
GROUP = 500
_LATE = timedelta(seconds=2)  # who claimed a run takes it up again by itself; others after that


class Outbox:
    """The launched runs, for the agent that decides."""

    def __init__(
        self,
        kit: AgentContext,
        book: UnfinishedRuns,
        launcher: Launcher,
        ending: UnitEnds,
        members: Membership,
    ) -> None:
        self._store = kit.store
        self._bus = kit.bus
        self._clock = kit.clock
        self._meter = kit.meter
        self._who = kit.who
        self._book = book
        self._launcher = launcher
        self._ending = ending
        self._members = members
        self._told: dict[str, float] = {}  # when a run was last told of, monotonic
        self._claims: dict[str, tuple[int, float]] = {}  # attempt, and since when it is known
        self._unsent: dict[str, None] = {}  # to be told of
        self._sweep_at = 0.0
        self._units_at = 0.0
        self._is_new = True  # nothing was looked at yet

    def announced(self, runs: Sequence[str]) -> None:
        """These were told of, for good."""
        now = self._clock.monotonic()
        self._told.update(dict.fromkeys(runs, now))

    def learn(self, run: Run) -> None:
        """A run as it is stored by now."""
        if run.state is not RunState.LAUNCHED:
            self.forget(run.id)
        else:
            self._look_in(EVERY)
            is_waiting = run.owner is None and run.not_before is None
            if is_waiting and run.id not in self._told and run.is_delivery:
                self._unsent[run.id] = None

    def forget(self, run: str) -> None:
        """The run has ended."""
        self._told.pop(run, None)
        self._claims.pop(run, None)
        self._unsent.pop(run, None)

    def due_in(self) -> float | None:
        """Seconds until something is to be done; None while there is nothing in it."""
        if not self._book.launched:
            return None
        if self._unsent or self._is_new or self._members.is_changed:
            return 0.0
        return max(0.0, self._sweep_at - self._clock.monotonic())

    def work(self, now: datetime) -> None:
        """Tells of what was not told of yet, and looks at everything if that is due."""
        if self._unsent:
            self._tell_unsent(now)
        now_at = self._clock.monotonic()
        if not self._book.launched:
            return
        if self._is_new or self._members.is_changed or now_at >= self._sweep_at:
            self._is_new = self._members.is_changed = False
            self._sweep_at = now_at + EVERY
            self._sweep(now)
            if now_at >= self._units_at:
                self._units_at = now_at + UNITS_EVERY
                self._look_at_units(now)

    def _look_in(self, seconds: float) -> None:
        at = self._clock.monotonic() + seconds
        if at < self._sweep_at or len(self._book.launched) == 1:
            self._sweep_at = at

    def _tell_unsent(self, now: datetime) -> None:
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

    # Looking at everything

    def _sweep(self, now: datetime) -> None:
        is_empty = not self._bus.depths([DELIVERIES])
        told: Counter[str] = Counter()
        for ids in _groups(list(self._book.deliveries())):
            rows = self._store.runs.get(ids)
            live = self._members.live() if any(row.owner for row in rows) else frozenset()
            rows = self._take_over(rows, live)
            telling = [row for row in rows if self._is_to_be_told(row, is_empty, now)]
            self._hand_out(self._not_too_many(telling, told), now)

    def _not_too_many(self, rows: Sequence[Run], told: Counter[str]) -> list[Run]:
        """Of each destination some, the oldest: no more could be sent before the next look."""
        some = []
        for row in rows:
            told[row.program] += 1
            if told[row.program] <= AT_ONCE:
                some.append(row)
            else:
                self._look_in(SETTLES)
        return some

    def _take_over(self, rows: Sequence[Run], live: frozenset[str]) -> list[Run]:
        """Frees the runs of agents that are gone; returns all, as they are by now."""
        lost = [row for row in rows if row.owner is not None and self._is_lost(row, live)]
        if not lost:
            return list(rows)
        changes = [
            RunChange(replace(row, owner=None, not_before=None), f"{row.owner} was lost", self._who)
            for row in lost
        ]
        refused = {change.run.id for change in self._store.runs.change(changes)}
        self._meter.count("job_leased_total", "taken over", len(lost) - len(refused))
        freed = {row.id: row for row in self._store.runs.get([row.id for row in lost])}
        for run in freed.keys() - refused:
            self._told.pop(run, None)
        return [freed.get(row.id, row) for row in rows]

    def _is_lost(self, row: Run, live: frozenset[str]) -> bool:
        now = self._clock.monotonic()
        attempt, since = self._claims.get(row.id, (row.attempt, now))
        if attempt != row.attempt:
            since = now
        self._claims[row.id] = (row.attempt, since)
        return row.owner not in live or now - since >= CLAIMED

    def _is_to_be_told(self, row: Run, is_empty: bool, now: datetime) -> bool:
        if row.state is not RunState.LAUNCHED or row.owner is not None:
            return False
        if row.not_before is not None and row.not_before + _LATE > now:
            self._look_in((row.not_before + _LATE - now).total_seconds())
            return False
        told = self._told.get(row.id)
        waited = self._clock.monotonic() - told if told is not None else EVERY
        if waited >= EVERY or (is_empty and waited >= SETTLES):
            return True
        self._look_in(SETTLES if is_empty else EVERY)
        return False

    def _look_at_units(self, now: datetime) -> None:
        for ids in _groups(list(self._book.workers())):
            missing = self._ending.of_units(ids, now)
            self._hand_out(self._store.runs.get(missing) if missing else [], now)


def _is_free(run: Run, now: datetime) -> bool:
    is_due = run.not_before is None or run.not_before <= now
    return run.state is RunState.LAUNCHED and run.owner is None and is_due


def _groups(ids: list[str]) -> Iterator[list[str]]:
    for at in range(0, len(ids), GROUP):
        yield ids[at : at + GROUP]
