"""The state of the agent that decides, and what it does in a turn.

The state is a cache of unfinished runs, dropped when the lease is lost or a turn fails, unless only
the bus failed.
Schedules are not cached: the store finds them by when they are due and what they listen to.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime

from synergy.agent.context import AgentContext
from synergy.agent.deciding.cancellation import cancel_active
from synergy.agent.deciding.clock_guard import ClockGuard
from synergy.agent.deciding.decision_batch import decision_batch
from synergy.agent.deciding.decisions import WrittenDecisions
from synergy.agent.deciding.definitions import Definitions
from synergy.agent.deciding.failure_pauses import FailurePauses
from synergy.agent.deciding.feed import Feed
from synergy.agent.deciding.gauges import Gauges
from synergy.agent.deciding.launcher import Launcher, LocalDeliverer
from synergy.agent.deciding.pending_runs import Judged, PendingRuns, disabled
from synergy.agent.deciding.schedules import ScheduleDecisions
from synergy.agent.deciding.unfinished_runs import UnfinishedRuns
from synergy.agent.delivering.outbox import Outbox
from synergy.agent.delivering.unit_ends import UnitEnds
from synergy.agent.membership import Membership
from synergy.commands.drop_reasons import superseded
from synergy.errors import MessagingUnavailable
from synergy.lifecycle.legal_moves import RunMove
from synergy.lifecycle.state_changes import advance
from synergy.model.journal import JournalEntry
from synergy.model.schedule import Run, RunChange, RunKind, RunState, Schedule
from synergy.model.switches import is_switched_on
from synergy.names import RUN_COUNTS
from synergy.runtime.agent_counters import run_counts

DUE_AT_ONCE = 500  # schedules decided about in one batch
GROUPS = 4  # batches of due schedules in one turn
JUDGED_AT_ONCE = 500  # pending runs decided about in one turn
COUNTS_EVERY_SECONDS = 10.0  # the time between two writes of the numbers of runs
LONGEST_WAIT_SECONDS = 3600.0  # the wait if nothing is due

log = logging.getLogger(__name__)


class AgentDecider:
    """Decides about schedules and pending runs, for as long as the lease is held."""

    def __init__(
        self,
        context: AgentContext,
        members: Membership,
        guard: ClockGuard,
        deliverer: LocalDeliverer,
    ) -> None:
        self._context = context
        self._store = context.store
        self._clock = context.clock
        self._name = context.name
        self._members = members
        self._guard = guard
        self._freerun = context.deployment.freerun()
        self._unfinished = UnfinishedRuns()
        definitions = Definitions(context.deployment)
        self._launcher = Launcher(context, deliverer)
        gauges = Gauges(context.bus, context.clock)
        self._pending = PendingRuns(context, definitions, self._unfinished, gauges)
        self._unit_ends = unit_ends = UnitEnds(context)
        self._outbox = Outbox(context, self._unfinished, self._launcher, unit_ends, members)
        self._schedules = ScheduleDecisions(
            context, members, definitions, self._launcher, self._outbox.announced, self._unfinished
        )
        self._feed = Feed(
            context,
            self._unfinished,
            self._schedules,
            unit_ends,
            FailurePauses(context, members, deliverer),
            self._learn,
            self._forget,
            self._end,
        )
        self._failure: MessagingUnavailable | None = None
        self._count_due_at = 0.0
        self._stored_counts = ""
        self._learn(context.store.runs.unfinished())

    def turn(self) -> float:
        """Does what is due; returns the seconds until the next turn is due.

        Each part does a limited amount; a part that has more to do makes the next turn come at
        once. Raises MessagingUnavailable at the end if messages were not sent: their runs are
        durable, and are announced again. Raises LostLease if another agent may decide meanwhile.
        """
        now = self._clock.now()
        may_fire = self._guard.observe()
        self._failure = None
        is_more = self._follow(now)
        if may_fire:
            is_more |= self._fire(now)
            is_more |= self._launch(now)
        self._outbox.work(now)
        is_more |= self._unit_ends.has_ended_runs
        self._unit_ends.has_ended_runs = False
        self._store_run_counts()
        if self._failure is not None:
            raise self._failure
        return 0.0 if is_more else self._idle_for(now, may_fire=may_fire)

    def _follow(self, now: datetime) -> bool:
        is_more, written = self._feed.journal(now)
        self._note_failure(written)
        if self._feed.is_switched:
            self._feed.is_switched = False
            self._launcher.off = self._switched_off()
        changed, self._feed.schedules = self._feed.schedules, set()
        for name in changed:
            self._pending.learn_schedule(name)
        more_events, written = self._feed.events(now)
        self._note_failure(written)
        return is_more or more_events

    def _fire(self, now: datetime) -> bool:
        """Fires several groups in a row: effects of the first are handled after the last."""
        is_more = True
        for _ in range(GROUPS):
            number, written = self._schedules.due(now, DUE_AT_ONCE)
            self._learn(written.runs)
            self._note_failure(written)
            is_more = number == DUE_AT_ONCE or bool(written.refused)
            if not is_more:
                break
        return is_more

    def _note_failure(self, written: WrittenDecisions) -> None:
        self._failure = self._failure or written.failure

    def _switched_off(self) -> frozenset[str]:
        controls = self._store.controls.all()
        return frozenset(
            name
            for name, process in self._freerun.items()
            if not is_switched_on(process, controls.get(name))
        )

    # Pending runs

    def _launch(self, now: datetime) -> bool:
        if self._pending.is_clean(now):
            return False
        judged = self._pending.judge(now, JUDGED_AT_ONCE)
        if not judged.is_empty:
            self._write(judged, now)
        return not self._pending.is_clean(now)

    def _write(self, judged: Judged, now: datetime) -> None:
        """Writes the decisions about pending runs, then reads the rows of all of them again."""
        deliverer = self._launcher.deliverer
        active = [run for name in judged.cancel for run in self._unfinished.active_of(name)]
        with decision_batch(self._store, self._members, deliverer) as (batch, written):
            canceled = cancel_active(self._store, active, self._name, now) if active else []
            changes = self._changes(judged, now)
            launched = [c.run for c in changes if c.run.state is RunState.LAUNCHED]
            written.claimed = launched
            refused = {change.run.id for change in self._store.runs.change(changes)}
            written.claimed = [run for run in launched if run.id not in refused]
            self._launcher.hand_out(written.claimed, now, batch, self._outbox.announced)
        self._failure = self._failure or written.failure
        self._reload([*canceled, *(change.run.id for change in changes)])
        # A run of a backfill was not counted, so it is not taken off.
        if unused := [run for run in judged.unused if run.kind is not RunKind.BACKFILL]:
            self._note_failure(self._schedules.give_back(unused, now))

    def _changes(self, judged: Judged, now: datetime) -> list[RunChange]:
        names = sorted({run.schedule for run, _ in judged.launch})
        rows = {row.name: row for row in self._store.schedules.get(names)} if names else {}
        changes = [RunChange(run, "", self._name) for run in judged.explained]
        for run, reason in judged.abort:
            changes.append(_ended(run, RunMove.ABORT, reason, now, self._name))
        for run, reason in judged.skip:
            changes.append(_ended(run, RunMove.SKIP, reason, now, self._name))
        launched: list[Run] = []
        for run, definition in judged.launch:
            row = rows.get(run.schedule)
            if row is None or not row.is_enabled or row.version != run.version:
                changes.append(_ended(run, RunMove.ABORT, _why_not(row), now, self._name))
            else:
                launched.append(self._launcher.launched(run, definition, now))
        judged.unused += [run for run in launched if run.state is RunState.ABORTED]
        claimed = self._launcher.deliverer.claim_locally(launched)
        return [*changes, *(RunChange(run, run.reason, self._name) for run in claimed)]

    def _reload(self, ids: list[str]) -> None:
        rows = self._store.runs.get(ids)
        self._learn(rows)
        self._forget(set(ids) - {row.id for row in rows})

    # The cached runs

    def _learn(self, runs: Iterable[Run]) -> None:
        for run in runs:
            self._unfinished.learn(run)
            self._pending.learn(run)
            self._outbox.learn(run)

    def _forget(self, runs: Iterable[str]) -> None:
        for run in runs:
            self._unfinished.forget(run)
            self._pending.forget(run)
            self._outbox.forget(run)

    def _end(self, entries: Iterable[JournalEntry]) -> None:
        """Forgets the runs whose end the journal records."""
        for entry in entries:
            self._pending.ended(entry.process, RunState(entry.after), entry.at)
            self._forget([entry.run])

    def _store_run_counts(self) -> None:
        """Stores how many runs are unfinished, for the metrics."""
        if self._clock.monotonic() < self._count_due_at:
            return
        text = run_counts(len(self._unfinished.pending), len(self._unfinished.launched))
        if text != self._stored_counts:
            self._count_due_at = self._clock.monotonic() + COUNTS_EVERY_SECONDS
            self._stored_counts = text
            self._store.facts.set(RUN_COUNTS, text)

    def _idle_for(self, now: datetime, *, may_fire: bool) -> float:
        waits = [LONGEST_WAIT_SECONDS, self._outbox.due_in()]
        if may_fire:
            wakes = self._store.schedules.next_wake()
            self._schedules.look_ahead(wakes, now)
            now = self._clock.now()
            instants = (wakes, self._pending.next_at())
            waits += [(at - now).total_seconds() for at in instants if at is not None]
            waits.append(self._pending.load_due_in())
        else:
            waits.append(self._guard.opens_in())
        return max(0.0, min(wait for wait in waits if wait is not None))


def _ended(run: Run, move: RunMove, reason: str, now: datetime, agent: str) -> RunChange:
    return RunChange(advance(run, move, now, reason), reason, agent)


def _why_not(row: Schedule | None) -> str:
    if row is None:
        return "its schedule was removed"
    return superseded(row.version) if row.is_enabled else disabled(row)
