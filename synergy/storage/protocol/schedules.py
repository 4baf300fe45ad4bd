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


class Schedules(Protocol):
    """Schedules by name. Every change is a compare-and-set on the row's `rev`."""

    def create(self, schedules: Sequence[Schedule], who: str) -> list[str]:
        """Stores those whose names are free (journal `schedule.created`); returns the other names.

        Each is kept as its first version too. The first `rev` is 1.
        """
        ...

    def change(self, changes: Sequence[ScheduleChange]) -> list[ScheduleChange]:
        """Writes each whose `rev` is the stored one, which rises by one; returns those refused.

        At most one change a schedule; nor is one written to a schedule that has the name since
        (`created_at` differs). The definition belongs to the version: it is written, and kept in
        the history, when `version` is higher than the stored one. The journal entry names the
        schedule as its process, the versions as before and after.
        """
        ...

    def remove(self, schedule: Schedule, why: str, who: str, now: datetime) -> bool:
        """Forgets a schedule and its versions, not its runs; False if its `rev` has changed.

        Journal `schedule.removed`.
        """
        ...

    def get(self, names: Sequence[str]) -> list[Schedule]:
        """Those that exist, in no particular order."""
        ...

    def find(
        self, limit: int = 100, cursor: str | None = None
    ) -> tuple[list[Schedule], str | None]:
        """A page by name, and the cursor of the next page or None.

        A cursor is the name that the page comes after; whether there is one is of no matter.
        """
        ...

    def due(self, until: datetime, limit: int) -> list[Schedule]:
        """Those whose `wake_at` is not later than `until`, earliest first."""
        ...

    def next_wake(self) -> datetime | None:
        """The earliest `wake_at`; None if there is none."""
        ...

    def listening(self, keys: Sequence[str]) -> list[Schedule]:
        """Those that listen to any of these event keys, each once. The cost is that of theirs."""
        ...

    def versions(self, name: str) -> list[ScheduleVersion]:
        """What it was defined as, newest first."""
        ...

    def count(self) -> int: ...


class Runs(Protocol):
    """Runs of schedules, unique by (schedule, key), and so by id."""

    def create(self, runs: Sequence[Run], who: str) -> list[Run]:
        """Stores those that are new (journal `run.<state>`); returns for each the stored one.

        The first `rev` is 1. The journal entries of runs name the schedule as their process, the
        program if there is none; their time is the newest that the run itself knows.
        """
        ...

    def change(self, changes: Sequence[RunChange]) -> list[RunChange]:
        """Writes each whose `rev` is the stored one, which rises by one; returns those refused.

        At most one change a run. Schedule, key, due time and creation never change. Journal
        `run.<state>` where the state changed.
        """
        ...

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
        """The run of a schedule in one of these states that was launched last."""
        ...

    def prune(self, before: datetime, limit: int) -> int:
        """Forgets at most `limit` finished runs whose `finished_at` is before that."""
        ...


class Events(Protocol):
    """Events that were taken; `seq` rises in the order in which they become visible, without gaps.

    Who has seen number n has missed none numbered below n.
    """

    def append(self, events: Sequence[Event]) -> list[tuple[Event, bool]]:
        """For each: the stored event, and whether it is new; an id that is there is not stored.

        An id that was forgotten is new.
        """
        ...

    def since(self, seq: int, limit: int) -> list[Event]:
        """Events after `seq`, oldest first."""
        ...

    def find(self, limit: int = 100, cursor: str | None = None) -> tuple[list[Event], str | None]:
        """A page of events, newest first, and the cursor of the next page or None."""
        ...

    def last_seq(self) -> int:
        """The number of the newest event; 0 if there never was one."""
        ...

    def prune(self, before: datetime, limit: int) -> int:
        """Forgets at most `limit` events that were taken before that, never the newest one."""
        ...


class Payloads(Protocol):
    """Bodies too long for a row, by a name that is a function of their content."""

    def put(self, content: bytes) -> str:
        """Stores it, at most 16,777,215 bytes, once; returns its name."""
        ...

    def get(self, name: str) -> bytes | None: ...

    def prune(self, kept: Sequence[str]) -> int:
        """Forgets all others; how many.

        One that is put while the caller finds out what is to be kept is forgotten as well.
        """
        ...
