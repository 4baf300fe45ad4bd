"""What is decided about a group of schedules, and what became of it in the store."""

from __future__ import annotations

from dataclasses import dataclass, field

from synergy.errors import MessagingUnavailable
from synergy.model.schedule import Run, ScheduleChange


@dataclass(slots=True)
class ScheduleDecision:
    """The changes and runs to be written for a group of schedules."""

    changes: list[ScheduleChange] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)

    def add(self, other: ScheduleDecision) -> None:
        self.changes += other.changes
        self.runs += other.runs


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
