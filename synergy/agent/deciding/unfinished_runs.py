"""The decider's copy of the unfinished runs, updated from the journal.

It counts the active runs of each program, group and schedule, lists the runs of a schedule, and
collects the keys of what changed (`program:X`, `group:G`, `schedule:S`), so that the pending runs
that wait for them are evaluated.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from synergy.model.schedule import Run, RunState


@dataclass(frozen=True, slots=True)
class Launched:
    """The part of a launched run that is kept."""

    id: str
    schedule: str
    program: str
    group: str
    due_at: datetime
    is_delivery: bool


class UnfinishedRuns:
    """The unfinished runs of all schedules."""

    def __init__(self) -> None:
        self.pending: dict[str, Run] = {}
        self.launched: dict[str, Launched] = {}
        self.active: Counter[str] = Counter()  # by key
        self.touched: set[str] = set()  # keys whose runs changed since the set was last taken
        self._of_schedule: defaultdict[str, dict[str, datetime]] = defaultdict(dict)

    def learn(self, run: Run) -> None:
        """Adds or updates a run as stored."""
        self.forget(run.id)
        if run.state.is_pending:
            self.pending[run.id] = run
        elif run.state is RunState.LAUNCHED:
            launched = Launched(
                run.id, run.schedule, run.program, run.group, run.due_at, run.is_delivery
            )
            self.launched[run.id] = launched
            self.active.update(keys_of(launched))
        else:
            return
        if run.schedule:
            self._of_schedule[run.schedule][run.id] = run.due_at

    def forget(self, run: str) -> None:
        """Removes a run that has ended."""
        pending, launched = self.pending.pop(run, None), self.launched.pop(run, None)
        known = pending or launched
        if known is None:
            return
        self.touched.update(keys_of(known))
        if launched is not None:
            for key in keys_of(launched):
                self.active[key] -= 1
                if not self.active[key]:
                    del self.active[key]
        others = self._of_schedule.get(known.schedule)
        if others is not None:
            others.pop(run, None)
            if not others:
                del self._of_schedule[known.schedule]

    def state_of(self, run: str) -> RunState | None:
        """The state of an unfinished run; None for any other."""
        if run in self.launched:
            return RunState.LAUNCHED
        known = self.pending.get(run)
        return known.state if known is not None else None

    def program_of(self, run: str) -> str:
        """The program of an unfinished run; empty for any other."""
        known = self.launched.get(run) or self.pending.get(run)
        return known.program if known is not None else ""

    def is_idle(self, schedule: str) -> bool:
        """Whether no run of the schedule is unfinished."""
        return schedule not in self._of_schedule

    def has_turns(self, schedule: str) -> bool:
        """Whether runs of the schedule wait for the one before them to end."""
        return any(run.detail.in_turn for run in self.pending_of(schedule))

    def pending_of(self, schedule: str) -> list[Run]:
        """The pending runs of a schedule."""
        runs = self._of_schedule.get(schedule, ())
        return [self.pending[run] for run in runs if run in self.pending]

    def active_of(self, schedule: str) -> list[str]:
        """The active runs of a schedule."""
        return [run for run in self._of_schedule.get(schedule, ()) if run in self.launched]

    def before(self, run: Run) -> datetime | None:
        """The due time of the earliest unfinished run of its schedule that is due before it."""
        others = self._of_schedule.get(run.schedule, {})
        first = min(others.values(), default=run.due_at)
        return first if first < run.due_at else None

    def deliveries(self) -> Iterator[str]:
        """The launched runs that agents deliver."""
        return (run.id for run in self.launched.values() if run.is_delivery)

    def workers(self) -> Iterator[str]:
        """The launched runs that workers carry out."""
        return (run.id for run in self.launched.values() if not run.is_delivery)


def keys_of(run: Run | Launched) -> list[str]:
    """The keys that a run counts for."""
    keys = [program_key(run.program)]
    if run.group:
        keys.append(group_key(run.group))
    if run.schedule:
        keys.append(schedule_key(run.schedule))
    return keys


def program_key(program: str) -> str:
    """The key that counts the runs of a program."""
    return f"program:{program}"


def group_key(group: str) -> str:
    """The key that counts the runs of a group."""
    return f"group:{group}"


def schedule_key(schedule: str) -> str:
    """The key that counts the runs of a schedule."""
    return f"schedule:{schedule}"
