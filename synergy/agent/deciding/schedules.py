"""What becomes of schedules: due times that passed, things that happened.

A decision about a schedule is what to remember of it from now on, and the runs that it makes.
Decisions are made in groups and written in one batch: runs first, which are unique by their
keys, then the rows, by compare-and-set. A refused row was changed meanwhile: it is read and
decided about again, and what was made of the first decision is found, not made twice. What
cannot be decided is disabled with the reason, and holds up no other.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from synergy.agent.context import AgentContext
from synergy.agent.deciding.definitions import Definitions
from synergy.agent.deciding.launcher import Announced, Launcher
from synergy.agent.deciding.lookahead import Lookahead
from synergy.agent.deciding.unfinished_runs import UnfinishedRuns
from synergy.agent.membership import Membership
from synergy.commands.schedule_rows import stopped
from synergy.errors import MessagingUnavailable, StorageUnavailable
from synergy.model.journal_event import JournalEvent
from synergy.model.schedule import Run, Schedule, ScheduleChange
from synergy.schedule.definition import Definition
from synergy.schedule.progress.ended_periods import Ended
from synergy.schedule.progress.old_periods import take_all
from synergy.schedule.progress.transitions import (
    Occurrence,
    ProgressState,
    Step,
    pass_time,
    wake_at,
)

PATIENCE = timedelta(minutes=1)  # until a schedule is looked at again that stays due
TRIES = 10
LOOKED_AHEAD = 2000  # schedules that are decided about before they are due

log = logging.getLogger(__name__)

_Decide = Callable[[Definition, ProgressState], Step]


@dataclass(slots=True)
class ScheduleDecision:
    """What is to be written about a group of schedules."""

    changes: list[ScheduleChange] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)

    def add(self, other: ScheduleDecision) -> None:
        self.changes += other.changes
        self.runs += other.runs


@dataclass(slots=True)
class WrittenDecisions:
    """What a batch came to: the runs as stored, and the schedules that were changed meanwhile.

    `failure` is why the bus did not take all messages although the rest is durable.
    """

    runs: list[Run] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    failure: MessagingUnavailable | None = None


class ScheduleDecisions:
    """Decides about schedules, for the agent that holds the lease."""

    def __init__(
        self,
        kit: AgentContext,
        members: Membership,
        definitions: Definitions,
        launcher: Launcher,
        announced: Announced,
        book: UnfinishedRuns,
    ) -> None:
        """`announced` is told which runs were told of to those who send them."""
        self._store = kit.store
        self._clock = kit.clock
        self._meter = kit.meter
        self._who = kit.who
        self._definitions = definitions
        self._launcher = launcher
        self._announced = announced
        self._members = members
        self._book = book
        self._ahead: Lookahead[ScheduleDecision] = Lookahead()

    def due(self, now: datetime, limit: int) -> tuple[int, WrittenDecisions]:
        """Decides about at most so many schedules that are due; how many there were."""
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
            return self._ahead.of(row, now) or self._pass_time(row, now)

        return len(rows), self._write(rows, decide, {}, now)

    def look_ahead(self, at: datetime | None, now: datetime) -> None:
        """Makes the decisions for `at`, when something is due next, if that is soon."""
        if at is None or not self._ahead.is_to_look(at, now):
            return

        def decide(row: Schedule) -> ScheduleDecision | None:
            decided = self._pass_time(row, at)
            # Whether a worker is free is seen when it is due, and so is what disables a schedule.
            is_sound = all(change.schedule.is_enabled for change in decided.changes)
            is_sent = not any(run.is_of_worker for run in decided.runs)
            return decided if is_sound and is_sent else None

        self._ahead.look(self._store.schedules.due(at, LOOKED_AHEAD), at, decide)

    def _pass_time(self, row: Schedule, now: datetime) -> ScheduleDecision:
        """What has come due; behind due times that still wait for their turn it waits for its."""

        def decide(definition: Definition, progress: ProgressState) -> Step:
            step = pass_time(definition, progress, now)
            if not self._book.has_turns(row.name):
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

        `facts` are written with the decisions, once there is one about each schedule.
        """
        began = self._clock.monotonic()
        rows = self._store.schedules.listening(list(found)) if found else []
        if rows:
            self._leased("event", len(rows), began)

        def decide(row: Schedule) -> ScheduleDecision:
            heard = {one.seq: one for key in row.keys for one in found.get(key, ())}
            if not heard:
                return ScheduleDecision()  # it does not listen any more
            some = [heard[seq] for seq in sorted(heard)]
            return self._decide(row, now, lambda d, progress: take_all(d, progress, some, now))

        written = self._write(rows, decide, facts, now)
        for _ in range(TRIES):
            if not written.refused:
                return written
            rows = self._store.schedules.get(written.refused)
            again = self._write(rows, decide, facts, now)
            written.runs += again.runs
            written.refused = again.refused
            written.failure = written.failure or again.failure
        raise StorageUnavailable(f"schedules keep changing: {', '.join(written.refused[:3])}")

    def _decide(self, row: Schedule, now: datetime, decide: _Decide) -> ScheduleDecision:
        try:
            definition = self._definitions.of(row)
            progress = ProgressState.from_json(row.progress)
            step = decide(definition, progress)
            if step.progress == progress and not step.made and not _is_due(row, now):
                return ScheduleDecision()
            is_free = len(step.made) == 1 and self._book.is_idle(row.name)
            runs = [
                self._launcher.made(row, definition, made, now, is_free=is_free)
                for made in step.made
            ]
            wakes = wake_at(definition, step.progress, now)
            if wakes is not None and wakes <= now and step.progress == progress:
                log.error("Schedule %s stays due", row.name, extra={"event": "schedule.stuck"})
                wakes = now + PATIENCE
            new = replace(row, progress=step.progress.to_json(), wake_at=wakes)
            return ScheduleDecision([ScheduleChange(new, who=self._who)], runs)
        except (StorageUnavailable, MessagingUnavailable):
            raise
        except Exception as error:  # noqa: BLE001 - it is told to the schedule's people
            return self._disable(row, error, now)

    def _disable(self, row: Schedule, error: Exception, now: datetime) -> ScheduleDecision:
        reason = f"it cannot be decided about: {error or type(error).__name__}"
        log.warning(
            "Schedule %s is disabled: %s", row.name, reason,
            extra={"event": JournalEvent.SCHEDULE_DISABLED}, exc_info=True,
        )  # fmt: skip
        self._meter.count("error_total", "schedule")
        change, gone = disabling(row, reason, self._who, now)
        return ScheduleDecision([change], gone)

    def _write(
        self,
        rows: Sequence[Schedule],
        decide: Callable[[Schedule], ScheduleDecision],
        facts: Mapping[str, str],
        now: datetime,
    ) -> WrittenDecisions:
        decided = ScheduleDecision()
        for row in rows:
            decided.add(decide(row))
        try:
            return self._commit(decided, facts, now)
        except (StorageUnavailable, MessagingUnavailable):
            raise
        except Exception:
            log.exception("A group of decisions fails", extra={"event": "schedule.group_failed"})
        return self._one_by_one(rows, decide, facts, now)

    def _one_by_one(
        self,
        rows: Sequence[Schedule],
        decide: Callable[[Schedule], ScheduleDecision],
        facts: Mapping[str, str],
        now: datetime,
    ) -> WrittenDecisions:
        """One of a group cannot be written: found out which."""
        written = WrittenDecisions()
        for row in rows:
            try:
                one = self._commit(decide(row), {}, now)
            except (StorageUnavailable, MessagingUnavailable):
                raise
            except Exception as error:  # noqa: BLE001 - as in `_decide`
                one = self._commit(self._disable(row, error, now), {}, now)
            written.runs += one.runs
            written.refused += one.refused
            written.failure = written.failure or one.failure
        if not written.refused:
            self._commit(ScheduleDecision(), facts, now)
        return written

    def _commit(
        self, decided: ScheduleDecision, facts: Mapping[str, str], now: datetime
    ) -> WrittenDecisions:
        written = WrittenDecisions()
        if not (decided.changes or decided.runs or facts):
            return written
        began = self._clock.monotonic()
        durable: list[bool] = []
        runs = self._launcher.hands.own(decided.runs)
        try:
            with self._store.batch() as batch:
                batch.after_commit(lambda: durable.append(True))
                self._members.assert_decides()
                if runs:
                    written.runs = self._store.runs.create(runs, self._who)
                    self._launcher.hand_out(written.runs, now, batch, self._announced)
                if decided.changes:
                    refused = self._store.schedules.change(decided.changes)
                    written.refused = [change.schedule.name for change in refused]
                if not written.refused:
                    for name, value in facts.items():
                        self._store.facts.set(name, value)
        except MessagingUnavailable as error:
            if not durable:
                self._launcher.hands.doubt(runs)
                raise
            written.failure = error
        except StorageUnavailable:
            self._launcher.hands.doubt(runs)
            raise
        self._launcher.hands.take(written.runs)
        self._count(decided, written, began)
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
            self._meter.observe(
                "schedule_job_started_duration_seconds", "written",
                self._clock.monotonic() - began,
            )  # fmt: skip


def disabling(
    row: Schedule, reason: str, who: str, now: datetime
) -> tuple[ScheduleChange, list[Run]]:
    """The change that disables a schedule for a reason, and the record of what it collected."""
    stop = stopped(row, reason, now)
    change = ScheduleChange(
        stop.schedule, event=JournalEvent.SCHEDULE_DISABLED, why=reason, who=who
    )
    return change, list(stop.gone)


def _is_due(row: Schedule, now: datetime) -> bool:
    return row.wake_at is not None and row.wake_at <= now
