"""Schedules, their runs, events, and bodies that are too long for a row."""

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
from synergy.model.time_range import EVER, TimeRange


class ReadableSchedules(Protocol):
    """Schedules by name."""

    def get(self, names: Sequence[str]) -> list[Schedule]:
        """Those that exist, in no particular order."""
        ...

    def find(
        self, limit: int = 100, cursor: str | None = None
    ) -> tuple[list[Schedule], str | None]:
        """A page by name, and the cursor of the next page or None.

        A cursor is the last name of the page before; its schedule may be removed since.
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

        At most one change per schedule is written. A change to a schedule that was removed and
        created again (`created_at` differs) is refused. The definition is written, and added to
        the history, only if `version` is higher than the stored one. The journal entry holds the
        schedule as its process, and the versions as before and after.
        """
        ...

    def remove(self, schedule: Schedule, why: str, who: str, now: datetime) -> bool:
        """Deletes a schedule and its versions, not its runs. Journal `schedule.removed`.

        False if its `rev` has changed, or it was removed, and perhaps created again.
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
        within: TimeRange = EVER,
    ) -> tuple[list[Run], str | None]:
        """A page of runs, newest creation first, and the cursor of the next page or None.

        Only those created `within` a range of time.
        """
        ...

    def unfinished(self) -> list[Run]:
        """All unfinished runs, oldest creation first."""
        ...

    def last(self, schedule: str, states: Sequence[RunState]) -> Run | None:
        """The most recently launched run of a schedule among those in these states."""
        ...


class Runs(ReadableRuns, Protocol):
    """Runs, read and changed; every change is a compare-and-set on the row's `rev`."""

    def create(self, runs: Sequence[Run], who: str) -> list[Run]:
        """Stores those that are new (journal `run.<state>`); returns for each the stored one.

        The first `rev` is 1. The journal entries of runs hold the schedule as their process, or
        the program if there is no schedule; their time is the newest time in the run.
        """
        ...

    def change(self, changes: Sequence[RunChange]) -> list[RunChange]:
        """Writes each whose `rev` is the stored one, which rises by one; returns those refused.

        At most one change per run is written. Schedule, key, due time and creation never change.
        Journal `run.<state>` if the state changed.
        """
        ...

    def prune(self, before: datetime, limit: int) -> int:
        """Deletes at most `limit` runs with `finished_at` before `before`; returns their number."""
        ...


class ReadableEvents(Protocol):
    """Accepted events; `seq` rises in the order in which they become visible, without gaps.

    A reader that sees number n sees all events with lower numbers.
    """

    def since(self, seq: int, limit: int) -> list[Event]:
        """Events after `seq`, oldest first."""
        ...

    def find(
        self, limit: int = 100, cursor: str | None = None, within: TimeRange = EVER
    ) -> tuple[list[Event], str | None]:
        """A page of events, newest first, and the cursor of the next page or None.

        Only those accepted (`at`) `within` a range of time.
        """
        ...

    def last_seq(self) -> int:
        """The number of the newest event; 0 if there never was one."""
        ...


class Events(ReadableEvents, Protocol):
    """Events, read, appended and pruned."""

    def append(self, events: Sequence[Event]) -> list[tuple[Event, bool]]:
        """Stores events whose ids are new; a pruned id is new again.

        Returns for each given event the stored one, and whether it is new.
        """
        ...

    def prune(self, before: datetime, limit: int) -> int:
        """Deletes at most `limit` events accepted before `before`, never the newest event.

        Returns their number.
        """
        ...


class ReadablePayloads(Protocol):
    """Bodies that are too long for a row, by a name that is a hash of the content."""

    def get(self, name: str) -> bytes | None: ...


class Payloads(ReadablePayloads, Protocol):
    """Bodies, read, stored and pruned."""

    def put(self, content: bytes) -> str:
        """Stores a body of at most 16,777,215 bytes if it is new; returns its name."""
        ...

    def prune(self, kept: Sequence[str]) -> int:
        """Deletes all bodies but the named ones; returns their number.

        A body that is stored while the caller computes `kept` is deleted as well.
        """
        ...
