"""Schedules, their runs, events, and bodies too long for a row."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from synergy.model.schedule import (
    Event,
    Run,
    RunChange,
    RunState,
    Schedule,
    ScheduleChange,
    ScheduleVersion,
)


class ReadableSchedules(Protocol):
    """Schedules by name."""

    def get(self, names: Sequence[str]) -> list[Schedule]:
        """Those that exist, in no particular order."""
        ...

    def find(
        self, limit: int = 100, cursor: str | None = None
    ) -> tuple[list[Schedule], str | None]:
        """A page by name, and the cursor of the next page or None.

        A cursor is the name that the page follows; it need not exist any more.
        """
        ...

    def due(self, until: datetime, limit: int) -> list[Schedule]:
        """Those whose `wake_at` is not later than `until`, earliest first."""
        ...

    def next_wake(self) -> datetime | None:
        """The earliest `wake_at`; None if there is none."""
        ...

    def listening(self, keys: Sequence[str]) -> list[Schedule]:
        """Those that listen to any of these event keys, each once.

        The cost is proportional to the result.
        """
        ...

    def versions(self, name: str) -> list[ScheduleVersion]:
        """All versions of its definition, newest first."""
        ...

    def count(self) -> int: ...


class Schedules(ReadableSchedules, Protocol):
    """Schedules, read and changed; every change is a compare-and-set on the row's `rev`."""

    def create(self, schedules: Sequence[Schedule], who: str) -> list[str]:
        """Stores those whose names are free (journal `schedule.created`); returns the other names.

        Each is also stored as its first version. The first `rev` is 1.
        """
        ...

    def change(self, changes: Sequence[ScheduleChange]) -> list[ScheduleChange]:
        """Writes each whose `rev` is the stored one, which rises by one; returns those refused.

        At most one change a schedule. A change to a schedule that was removed and created again
        (`created_at` differs) is refused. The definition belongs to the version: it is written,
        and added to the history, when `version` is higher than the stored one. The journal entry
        names the schedule as its process, the versions as before and after.
        """
        ...

    def remove(self, schedule: Schedule, why: str, who: str, now: datetime) -> bool:
        """Deletes a schedule and its versions, not its runs; False if its `rev` has changed.

        Journal `schedule.removed`.
        """
        ...


class ReadableRuns(Protocol):
    """Runs of schedules, unique by (schedule, key), and so by id."""

    def get(self, ids: Sequence[str]) -> list[Run]:
        """Those that exist, in no particular order."""
        ...

    def find(
        self,
        schedule: str | None = None,
        state: RunState | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> tuple[list[Run], str | None]:
        """A page of runs, newest creation first, and the cursor of the next page or None."""
        ...

    def unfinished(self) -> list[Run]:
        """All that are pending or launched, oldest creation first."""
        ...

    def last(self, schedule: str, states: Sequence[RunState]) -> Run | None:
        """The run of a schedule that was launched last of those in one of these states."""
        ...


class Runs(ReadableRuns, Protocol):
    """Runs, read and changed; every change is a compare-and-set on the row's `rev`."""

    def create(self, runs: Sequence[Run], who: str) -> list[Run]:
        """Stores those that are new (journal `run.<state>`); returns for each the stored one.

        The first `rev` is 1. The journal entries of runs name the schedule as their process, or
        the program if there is no schedule; their time is the newest time in the run.
        """
        ...

    def change(self, changes: Sequence[RunChange]) -> list[RunChange]:
        """Writes each whose `rev` is the stored one, which rises by one; returns those refused.

        At most one change a run. Schedule, key, due time and creation never change. Journal
        `run.<state>` where the state changed.
        """
        ...

    def prune(self, before: datetime, limit: int) -> int:
        """Deletes at most `limit` runs whose `finished_at` is before `before`; returns how many."""
        ...


class ReadableEvents(Protocol):
    """Accepted events; `seq` rises in the order in which they become visible, without gaps.

    A reader that has seen number n has missed none numbered below n.
    """

    def since(self, seq: int, limit: int) -> list[Event]:
        """Events after `seq`, oldest first."""
        ...

    def find(self, limit: int = 100, cursor: str | None = None) -> tuple[list[Event], str | None]:
        """A page of events, newest first, and the cursor of the next page or None."""
        ...

    def last_seq(self) -> int:
        """The number of the newest event; 0 if there never was one."""
        ...


class Events(ReadableEvents, Protocol):
    """Events, read, appended and pruned."""

    def append(self, events: Sequence[Event]) -> list[tuple[Event, bool]]:
        """For each: the stored event, and whether it is new; a known id is not stored again.

        An id that was pruned is new.
        """
        ...

    def prune(self, before: datetime, limit: int) -> int:
        """Deletes at most `limit` events accepted before `before`, never the newest one."""
        ...


class ReadablePayloads(Protocol):
    """Bodies too long for a row, by a name that is a function of the content."""

    def get(self, name: str) -> bytes | None: ...


class Payloads(ReadablePayloads, Protocol):
    """Bodies, read, stored and pruned."""

    def put(self, content: bytes) -> str:
        """Stores it, at most 16,777,215 bytes, once; returns its name."""
        ...

    def prune(self, kept: Sequence[str]) -> int:
        """Deletes all others; returns how many.

        One that is put while the caller computes `kept` is deleted as well.
        """
        ...
