"""Decides about schedules whose time has come or whose events have occurred.

A decision about a schedule is its new progress and the runs that it makes. Decisions are made in
groups and written in one batch: runs first, which are unique by their keys, then the rows, by
compare-and-set. A refused row was changed meanwhile: it is read and decided about again, and runs
of the first decision are found, not made twice. A schedule that cannot be decided about is
disabled with the reason, and does not delay others.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from synergy.agent.context import AgentContext
from synergy.agent.deciding.decision_batch import decision_batch
from synergy.agent.deciding.decisions import ScheduleDecision, WrittenDecisions, disabling
from synergy.agent.deciding.definitions import Definitions
from synergy.agent.deciding.joining import joining, waiting_run
from synergy.agent.deciding.launcher import Announced, Launcher
from synergy.agent.deciding.lookahead import Lookahead
from synergy.agent.deciding.unfinished_runs import UnfinishedRuns
from synergy.agent.membership import Membership
from synergy.errors import MessagingUnavailable, StorageUnavailable
from synergy.model.journal_event import JournalEvent
from synergy.model.schedule import Run, RunState, Schedule, ScheduleChange
from synergy.schedule.constraint import may_overlap
from synergy.schedule.definition import Definition
from synergy.schedule.progress.ended_periods import Ended
from synergy.schedule.progress.old_periods import take_all
from synergy.schedule.progress.state import Occurrence, ProgressState, Step
from synergy.schedule.progress.steps import pass_time, wake_at

STUCK_RETRY = timedelta(minutes=1)  # the time until a schedule that stays due is decided again
MOST_ATTEMPTS = 10
MOST_AHEAD = 2000  # schedules decided about before they are due
_UNAVAILABLE = (StorageUnavailable, MessagingUnavailable)

log = logging.getLogger(__name__)

_Decide = Callable[[Definition, ProgressState], Step]
_DecideRow = Callable[[Schedule], ScheduleDecision]


class ScheduleDecisions:
    """Decides about schedules, for the agent that holds the lease."""

    def __init__(
        self,
        context: AgentContext,
        members: Membership,
        definitions: Definitions,
        launcher: Launcher,
        announced: Announced,
        unfinished: UnfinishedRuns,
    ) -> None:
        """`announced` is called with the runs that messages were sent for."""
        self._store = context.store
        self._clock = context.clock
        self._meter = context.meter
        self._name = context.name
        self._definitions = definitions
        self._launcher = launcher
        self._announced = announced
        self._members = members
        self._unfinished = unfinished
        self._lookahead: Lookahead[ScheduleDecision] = Lookahead()

    def due(self, now: datetime, limit: int) -> tuple[int, WrittenDecisions]:
        """Decides about at most `limit` due schedules; returns their number, and the result."""
        began = self._clock.monotonic()
        rows = self._store.schedules.due(now, limit)
        if not rows:
            return 0, WrittenDecisions()
        self._leased("due", len(rows), began)
        for row in rows:
            if row.wake_at is not None:
                delay = (now - row.wake_at).total_seconds()
                self._meter.observe("schedule_executed_delay_seconds", "due", delay)

        def decide(row: Schedule) -> ScheduleDecision:
            return self._lookahead.of(row, now) or self._pass_time(row, now)

        return len(rows), self._write(rows, decide, {}, now)

    def look_ahead(self, at: datetime | None, now: datetime) -> None:
        """Computes the decisions for `at`, the next due time, if that is soon."""
        if at is None or not self._lookahead.is_to_look(at, now):
            return

        def decide(row: Schedule) -> ScheduleDecision | None:
            decided = self._pass_time(row, at)
            # Whether a worker is free, and what disables a schedule, is decided at the due time.
            is_sound = all(change.schedule.is_enabled for change in decided.changes)
            has_workers = any(run.is_of_worker for run in decided.runs)
            is_allowed = row.definition.get("overlap", "allow") == "allow"
            return decided if is_sound and is_allowed and not has_workers else None

        self._lookahead.look(self._store.schedules.due(at, MOST_AHEAD), at, decide)

    def _pass_time(self, row: Schedule, now: datetime) -> ScheduleDecision:
        """Decides about passed due times; their runs queue behind those that wait for a turn."""

        def decide(definition: Definition, progress: ProgressState) -> Step:
            step = pass_time(definition, progress, now)
            if not self._unfinished.has_turns(row.name):
                return step
            turns = (replace(made, in_turn=made.ended_by is None) for made in step.made)
            return replace(step, made=tuple(turns))

        return self._decide(row, now, decide)

    def happened(
        self,
        found: Mapping[str, Sequence[Occurrence | Ended]],
        facts: Mapping[str, str],
        now: datetime,
    ) -> WrittenDecisions:
        """Decides about the schedules that listen to any of these, by event key.

        `facts` are written with the last decisions.
        """
        began = self._clock.monotonic()
        rows = self._store.schedules.listening(list(found)) if found else []
        if rows:
            self._leased("event", len(rows), began)

        def decide(row: Schedule) -> ScheduleDecision:
            by_seq = {one.seq: one for key in row.keys for one in found.get(key, ())}
            if not by_seq:
                return ScheduleDecision()  # it was changed and no longer listens to them
            return self._take(row, [by_seq[seq] for seq in sorted(by_seq)], now)

        return self._write_all(rows, decide, facts, now)

    def _take(
        self, row: Schedule, occurrences: Sequence[Occurrence | Ended], now: datetime
    ) -> ScheduleDecision:
        """Decides about occurrences; with `coalesce` they may join a run that waits."""
        waiting = waiting_run(self._store, self._unfinished, row)
        joined: list[Occurrence] = []

        def decide(definition: Definition, progress: ProgressState) -> Step:
            is_busy = not self._unfinished.is_idle(row.name)
            step = take_all(
                definition,
                progress,
                occurrences,
                now,
                is_waiting=waiting is not None,
                is_held=bool(definition.constraints) or (is_busy and not may_overlap(definition)),
            )
            joined.extend(step.joined)
            return step

        decided = self._decide(row, now, decide)
        if waiting is not None and joined:
            decided.joined.append(joining(waiting, joined, self._name))
        return decided

    def give_back(self, unused: Iterable[Run], now: datetime) -> WrittenDecisions:
        """Takes runs that ended before their launch off the number of runs of their schedules."""
        numbers = Counter((run.schedule, run.version) for run in unused)

        def decide(row: Schedule) -> ScheduleDecision:
            number = numbers[row.name, row.version]
            if not number or not row.is_enabled:
                return ScheduleDecision()
            return self._decide(row, now, lambda _, progress: Step(progress.without_runs(number)))

        rows = self._store.schedules.get(sorted({name for name, _ in numbers}))
        return self._write_all(rows, decide, {}, now)

    def _write_all(
        self, rows: Sequence[Schedule], decide: _DecideRow, facts: Mapping[str, str], now: datetime
    ) -> WrittenDecisions:
        """Writes the decisions about a group, again for schedules that are changed meanwhile."""
        written = self._write(rows, decide, facts, now)
        for _ in range(MOST_ATTEMPTS):
            if not written.refused:
                return written
            rows = self._store.schedules.get(written.refused)
            written.refused = []
            written.add(self._write(rows, decide, facts, now))
        raise StorageUnavailable(f"schedules keep changing: {', '.join(written.refused[:3])}")

    def _decide(self, row: Schedule, now: datetime, decide: _Decide) -> ScheduleDecision:
        try:
            definition = self._definitions.of(row)
            progress = ProgressState.from_json(row.progress)
            step = decide(definition, progress)
            is_due = row.wake_at is not None and row.wake_at <= now
            if step.progress == progress and not step.made and not is_due:
                return ScheduleDecision()
            is_free = len(step.made) == 1 and self._unfinished.is_idle(row.name)
            runs = [
                self._launcher.made(row, definition, made, now, is_free=is_free)
                for made in step.made
            ]
            unused = sum(  # their process is switched off
                made.ended_by is None and run.state is RunState.ABORTED
                for made, run in zip(step.made, runs, strict=True)
            )
            after = step.progress.without_runs(unused)
            wakes = wake_at(definition, after)
            if wakes is not None and wakes <= now and after == progress:
                log.error("Schedule %s stays due", row.name, extra={"event": "schedule.stuck"})
                wakes = now + STUCK_RETRY
            new = replace(row, progress=after.to_json(), wake_at=wakes)
            return ScheduleDecision([ScheduleChange(new, who=self._name)], runs)
        except _UNAVAILABLE:
            raise
        except Exception as error:  # noqa: BLE001 - it is the reason for disabling the schedule
            return self._disable(row, error, now)

    def _disable(self, row: Schedule, error: Exception, now: datetime) -> ScheduleDecision:
        reason = f"it cannot be decided about: {error or type(error).__name__}"
        extra = {"event": JournalEvent.SCHEDULE_DISABLED}
        log.warning("Schedule %s is disabled: %s", row.name, reason, extra=extra, exc_info=True)
        self._meter.count("error_total", "schedule")
        change, gone = disabling(row, reason, self._name, now)
        return ScheduleDecision([change], gone)

    def _write(
        self, rows: Sequence[Schedule], decide: _DecideRow, facts: Mapping[str, str], now: datetime
    ) -> WrittenDecisions:
        """Writes the decisions about a group; if that fails, each on its own."""
        decided = ScheduleDecision()
        for row in rows:
            decided.add(decide(row))
        try:
            return self._commit(decided, facts, now)
        except _UNAVAILABLE:
            raise
        except Exception:
            log.exception("A group of decisions fails", extra={"event": "schedule.group_failed"})
        written = WrittenDecisions()
        for row in rows:
            written.add(self._write_one(row, decide, now))
        if not written.refused:
            self._commit(ScheduleDecision(), facts, now)
        return written

    def _write_one(self, row: Schedule, decide: _DecideRow, now: datetime) -> WrittenDecisions:
        """Writes the decision about one schedule, which is disabled if that fails."""
        try:
            return self._commit(decide(row), {}, now)
        except _UNAVAILABLE:
            raise
        except Exception as error:  # noqa: BLE001 - as in `_decide`
            return self._commit(self._disable(row, error, now), {}, now)

    def _commit(
        self, decided: ScheduleDecision, facts: Mapping[str, str], now: datetime
    ) -> WrittenDecisions:
        written = WrittenDecisions()
        if not (decided.changes or decided.runs or facts):
            return written
        began = self._clock.monotonic()
        deliverer = self._launcher.deliverer
        joined = [change.run.id for change in decided.joined]
        with decision_batch(self._store, self._members, deliverer) as (batch, commit):
            if joined:
                refused_runs = self._store.runs.change(decided.joined)
                written.refused = [change.run.schedule for change in refused_runs]
            rest = decided.without(written.refused)
            runs = commit.claimed = deliverer.claim_locally(rest.runs)
            if runs:
                commit.claimed = written.runs = self._store.runs.create(runs, self._name)
                self._launcher.hand_out(written.runs, now, batch, self._announced)
            if rest.changes:
                refused = self._store.schedules.change(rest.changes)
                written.refused += [change.schedule.name for change in refused]
            if not written.refused:
                for name, value in facts.items():
                    self._store.facts.set(name, value)
        written.failure = commit.failure
        self._count(decided, written, began)
        if joined:
            written.runs = [*written.runs, *self._store.runs.get(joined)]
        return written

    def _leased(self, what: str, number: int, began: float) -> None:
        self._meter.count("schedule_leased_total", what, number)
        self._meter.observe(
            "schedule_leased_duration_seconds", what, self._clock.monotonic() - began
        )

    def _count(self, decided: ScheduleDecision, written: WrittenDecisions, began: float) -> None:
        refused = len(written.refused)
        self._meter.count("schedule_executed_total", "refused", refused)
        self._meter.count("schedule_executed_total", "decided", len(decided.changes) - refused)
        for run in written.runs:
            self._meter.count("schedule_job_started_total", run.state.value)
        if written.runs:
            seconds = self._clock.monotonic() - began
            self._meter.observe("schedule_job_started_duration_seconds", "written", seconds)
