"""What is decided about a group of schedules, and what became of it in the store."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime

from synergy.commands.schedule_rows import stopped
from synergy.errors import MessagingUnavailable
from synergy.model.journal_event import JournalEvent
from synergy.model.schedule import Run, RunChange, Schedule, ScheduleChange


@dataclass(slots=True)
class ScheduleDecision:
    """The changes and runs to be written for a group of schedules.

    `joined` are pending runs that events joined.
    """

    changes: list[ScheduleChange] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    joined: list[RunChange] = field(default_factory=list)

    def add(self, other: ScheduleDecision) -> None:
        self.changes += other.changes
        self.runs += other.runs
        self.joined += other.joined

    def without(self, schedules: Collection[str]) -> ScheduleDecision:
        """The decisions about other schedules; the joined runs are written before."""
        return ScheduleDecision(
            [change for change in self.changes if change.schedule.name not in schedules],
            [run for run in self.runs if run.schedule not in schedules],
        )


@dataclass(slots=True)
class WrittenDecisions:
    """The result of a batch: the runs as stored, and the schedules that were changed meanwhile.

    `failure` is why the bus did not take all messages although the rest is durable.
    """

    runs: list[Run] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    failure: MessagingUnavailable | None = None

    def add(self, other: WrittenDecisions) -> None:
        self.runs += other.runs
        self.refused += other.refused
        self.failure = self.failure or other.failure


def disabling(
    row: Schedule, reason: str, agent: str, now: datetime
) -> tuple[ScheduleChange, list[Run]]:
    """The change that disables a schedule, and the records of the occurrences it collected."""
    stop = stopped(row, reason, now)
    change = ScheduleChange(
        stop.schedule, event=JournalEvent.SCHEDULE_DISABLED, why=reason, who=agent
    )
    return change, list(stop.gone)
