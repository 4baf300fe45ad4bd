"""What a schedule waits for, or why nothing starts, with what helps; and what events did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from synergy.model.process import Deployment
from synergy.model.schedule import Run, RunState, Schedule
from synergy.model.switches import is_switched_on
from synergy.queries.schedules.event_why import EventEffect, EventEffects
from synergy.queries.schedules.next_due import next_due, why_over
from synergy.queries.schedules.pending import pending_runs, progress_of, read_stored
from synergy.queries.schedules.trigger_progress import legs_of
from synergy.queries.schedules.views import LegView
from synergy.queries.timetable import remedies
from synergy.queries.timetable.remedies import Remedy
from synergy.runtime.shared_parts import DECIDER, is_lease_led
from synergy.schedule.definition import (
    Definition,
    PeriodFinished,
    ProgramEnded,
    TimeoutPolicy,
    leaves,
)
from synergy.schedule.format.literals import readable_instant as readable
from synergy.schedule.progress.state import ProgressState
from synergy.storage.protocol import StoreView

WIDTH = 3  # runs of a kind that are shown; the others are counted
COUNTED = 1000

_SECOND = timedelta(seconds=1)
_NOT_RUN = (RunState.SKIPPED, RunState.ABORTED, RunState.CANCELED, RunState.FAILED)


class WhyKind(Enum):
    """The kind of a cause, for programs."""

    DISABLED = "disabled"
    INVALID = "invalid"  # the stored definition cannot be read any more
    SWITCHED_OFF = "switched_off"  # its process, which may be gone
    NO_AGENT = "no_agent"
    RUNNING = "running"  # a run was launched and has not ended
    CONSTRAINT = "constraint"  # a run waits for its constraints, or its turn
    MET = "met"  # a leg of the trigger
    UNMET = "unmet"
    UNKNOWN = "unknown"  # a leg waits for a process that there is not
    OVER = "over"  # its end has come, or all its runs are made
    DUE = "due"  # it is due next by time
    ENDED = "ended"  # the newest run did not succeed, for the reason given


@dataclass(frozen=True, slots=True)
class WhyCause:
    """One cause, since when it holds, and what would help."""

    kind: WhyKind
    text: str
    since: datetime | None = None
    helps: tuple[Remedy, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleWhy:
    """What a schedule waits for: what holds it back first, then what it waits for.

    `events` are the newest events of the types that it listens to, newest first.
    """

    name: str
    is_enabled: bool
    next_due: datetime | None
    causes: tuple[WhyCause, ...]
    events: tuple[EventEffect, ...]


class WhySchedule:
    """The causes of one look at the store."""

    def __init__(
        self, store: StoreView, deployment: Deployment, schedule: Schedule, now: datetime
    ) -> None:
        self._store = store
        self._deployment = deployment
        self._schedule = schedule
        self._now = now

    def ask(self) -> ScheduleWhy:
        """What the schedule waits for."""
        schedule = self._schedule
        definition, mistakes = read_stored(schedule)
        progress = progress_of(schedule)
        legs: Sequence[LegView] = ()
        events: tuple[EventEffect, ...] = ()
        if definition is not None:
            legs = legs_of(definition, progress, self._now)
            events = EventEffects(self._store, schedule, definition, progress, legs).newest()
        due = next_due(schedule, definition)
        causes = (
            *self._held_back(mistakes),
            *self._runs(definition),
            *(self._legs(definition, legs) if definition is not None else ()),
            *self._over(definition, progress),
            *self._due(due),
            *self._ended(),
        )
        return ScheduleWhy(
            name=schedule.name,
            is_enabled=schedule.is_enabled,
            next_due=due,
            causes=causes,
            events=events,
        )

    def _held_back(self, mistakes: Sequence[str]) -> Iterator[WhyCause]:
        name = self._schedule.name
        if not self._schedule.is_enabled:
            reason = self._schedule.reason or "it was never enabled"
            text = f"it is disabled: {reason}"
            since = self._schedule.changed_at
            yield WhyCause(WhyKind.DISABLED, text, since, (remedies.enable_schedule(name),))
        for mistake in mistakes:
            helps = (remedies.edit_schedule(name),)
            yield WhyCause(WhyKind.INVALID, f"it cannot be read: {mistake}", None, helps)
        process = self._schedule.process
        if process is not None and (why := self._why_off(process)):
            is_gone = process not in self._deployment.freerun()
            helps = (remedies.edit_schedule(name),) if is_gone else (remedies.switch_on(process),)
            yield WhyCause(WhyKind.SWITCHED_OFF, why, None, helps)
        if not is_lease_led(self._store, DECIDER):
            text = "no agent is at work, so nothing is triggered or sent"
            yield WhyCause(WhyKind.NO_AGENT, text, None, remedies.SUPERVISE)

    def _why_off(self, name: str) -> str:
        process = self._deployment.freerun().get(name)
        if process is None:
            return f"{name} is no free-run process of context.py any more"
        is_on = is_switched_on(process, self._store.controls.all().get(name))
        return "" if is_on else f"{name} is switched off"

    # Runs

    def _runs(self, definition: Definition | None) -> Iterator[WhyCause]:
        name = self._schedule.name
        launched, _ = self._store.runs.find(name, RunState.LAUNCHED, COUNTED)
        yield from _some(WhyKind.RUNNING, map(self._running, launched[::-1][:WIDTH]), launched)
        pending = sorted(pending_runs(self._store, name), key=lambda run: run.due_at)
        shown = (self._pending(run, definition) for run in pending[:WIDTH])
        yield from _some(WhyKind.CONSTRAINT, shown, pending)

    def _running(self, run: Run) -> WhyCause:
        text = f"run {run.id}, due {readable(run.due_at)}, is under way"
        if run.not_before is not None:
            text += f"; attempt {run.attempt} failed, the next one is at {readable(run.not_before)}"
        return WhyCause(WhyKind.RUNNING, text, run.launched_at, (remedies.look_at_run(run.id),))

    def _pending(self, run: Run, definition: Definition | None) -> WhyCause:
        waits = "; ".join(run.detail.waits) or "an agent has yet to judge it"
        text = f"run {run.id}, due {readable(run.due_at)}, waits: {waits}"
        if definition is not None:
            is_forced = definition.timeout_policy is TimeoutPolicy.FORCE
            ends = "launched anyway" if is_forced else "dropped"
            text += f"; it is {ends} at {readable(run.created_at + definition.timeout)}"
        return WhyCause(WhyKind.CONSTRAINT, text, run.created_at, (remedies.cancel_run(run.id),))

    def _ended(self) -> Iterator[WhyCause]:
        newest, _ = self._store.runs.find(self._schedule.name, limit=1)
        for run in newest:
            if run.state in _NOT_RUN:
                due, state = readable(run.due_at), run.state.value
                text = f"the newest run, due {due}, is {state}: {run.reason}"
                helps = (remedies.look_at_run(run.id),)
                yield WhyCause(WhyKind.ENDED, text, run.finished_at, helps)

    # The trigger

    def _legs(self, definition: Definition, legs: Sequence[LegView]) -> Iterator[WhyCause]:
        waits_for = dict(leaves(definition.trigger))
        for leg in legs:
            leaf, place = waits_for[leg.path], f"leg {leg.path}: " if leg.path else ""
            text = f"{place}{leg.words}: {leg.how}"
            if isinstance(leaf, ProgramEnded | PeriodFinished) and self._is_unknown(leaf.process):
                yield WhyCause(WhyKind.UNKNOWN, f"{text}; there is no process {leaf.process}")
            else:
                yield WhyCause(WhyKind.MET if leg.is_met else WhyKind.UNMET, text, leg.at)

    def _is_unknown(self, process: str) -> bool:
        return process not in self._deployment.processes

    def _over(
        self, definition: Definition | None, progress: ProgressState | None
    ) -> Iterator[WhyCause]:
        if definition is not None:
            for text in why_over(definition, progress, self._now):
                helps = (remedies.edit_schedule(self._schedule.name),)
                yield WhyCause(WhyKind.OVER, text, None, helps)

    def _due(self, due: datetime | None) -> Iterator[WhyCause]:
        if due is not None:
            text = f"it is due next at {readable(due)}"
            if self._now - due > _SECOND:
                text = f"it was due at {readable(due)}, and no agent has decided about it yet"
            yield WhyCause(WhyKind.DUE, text)


def _some(kind: WhyKind, shown: Iterator[WhyCause], runs: Sequence[Run]) -> Iterator[WhyCause]:
    """The causes of the first runs, and the number of the others."""
    yield from shown
    if len(runs) > WIDTH:
        yield WhyCause(kind, f"and {len(runs) - WIDTH:,} more runs")
