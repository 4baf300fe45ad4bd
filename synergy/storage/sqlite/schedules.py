"""Schedules. Each change is checked against the stored row in its own transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import apsw
import orjson

from synergy.model.schedule import Schedule, ScheduleChange, ScheduleVersion
from synergy.storage import journal_entries
from synergy.storage.instants import instant, micros
from synergy.storage.sqlite.columns import (
    Row,
    array,
    fetch,
    fetch_each,
    fetch_one,
    schedule,
    schedule_changes,
    schedule_row,
    version,
    version_row,
)
from synergy.storage.sqlite.database import Database
from synergy.storage.sqlite.journal import record
from synergy.storage.sqlite.queries import queries

_SQL = queries("schedules")


class SqliteSchedules:
    """See `synergy.storage.protocol.Schedules`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, schedules: Sequence[Schedule], who: str) -> list[str]:
        rows = [schedule_row(schedule) for schedule in schedules]
        with self._database.writing() as connection:
            created = fetch_each(connection, _SQL["create"], rows)
            numbers = {name: number for number, name in created}
            new, taken = [], []
            for schedule_ in schedules:
                number = numbers.pop(schedule_.name, None)
                if number is None:
                    taken.append(schedule_.name)
                else:
                    new.append((number, schedule_))
            versions = [_version(number, new_, new_.created_at, who) for number, new_ in new]
            connection.executemany(_SQL["keep_version"], versions)
            keys = [(key, number) for number, new_ in new for key in new_.keys]
            connection.executemany(_SQL["listen"], keys)
            record(connection, [journal_entries.schedule_created(new_, who) for _, new_ in new])
        return taken

    def change(self, changes: Sequence[ScheduleChange]) -> list[ScheduleChange]:
        with self._database.writing() as connection:
            accepted, refused = _split(connection, changes)
            connection.executemany(_SQL["change"], [part.row() for part in accepted])
            connection.executemany(
                _SQL["keep_version"], [part.version() for part in accepted if part.is_edited]
            )
            connection.executemany(
                _SQL["unlisten"], [k for part in accepted for k in part.dropped_keys()]
            )
            connection.executemany(
                _SQL["listen"], [k for part in accepted for k in part.new_keys()]
            )
            record(
                connection,
                [
                    journal_entries.schedule_changed(part.change, part.before, part.after)
                    for part in accepted
                    if part.change.event
                ],
            )
        return refused

    def remove(self, schedule: Schedule, why: str, who: str, now: datetime) -> bool:
        with self._database.writing() as connection:
            row = fetch_one(connection, _SQL["present"], (array([schedule.name]),))
            if row is None or row[:3] != _seen(schedule):
                return False
            number, _, keys = row[3:]
            connection.execute(_SQL["remove"], (number,))
            connection.execute(_SQL["delete_versions"], (number,))
            connection.executemany(_SQL["unlisten"], [(key, number) for key in orjson.loads(keys)])
            record(connection, [journal_entries.schedule_removed(schedule, why, who, now)])
        return True

    def get(self, names: Sequence[str]) -> list[Schedule]:
        return self._schedules("get", (array(names),))

    def find(
        self, limit: int = 100, cursor: str | None = None
    ) -> tuple[list[Schedule], str | None]:
        if cursor is None:
            rows = self._database.fetch(_SQL["find_first"], (limit + 1,))
        else:
            rows = self._database.fetch(_SQL["find"], (cursor, limit + 1))
        page = rows[:limit]
        following = str(page[-1][1]) if len(rows) > limit and page else None
        return schedule.each(page, self._database.malformed), following

    def due(self, until: datetime, limit: int) -> list[Schedule]:
        return self._schedules("due", (micros(until), limit))

    def next_wake(self) -> datetime | None:
        row = self._database.fetch_one(_SQL["next_wake"])
        return None if row is None else instant(row[0])

    def listening(self, keys: Sequence[str]) -> list[Schedule]:
        return self._schedules("listening", (array(keys),))

    def versions(self, name: str) -> list[ScheduleVersion]:
        return version.each(
            self._database.fetch(_SQL["versions"], (name,)), self._database.malformed
        )

    def count(self) -> int:
        return int(self._database.fetch(_SQL["count"])[0][0])

    def _schedules(self, query: str, bindings: Row) -> list[Schedule]:
        return schedule.each(self._database.fetch(_SQL[query], bindings), self._database.malformed)


class _Accepted:
    """An accepted change with the row that it changes."""

    __slots__ = ("_keys", "_number", "after", "before", "change")

    def __init__(self, change: ScheduleChange, number: int, before: int, keys: bytes) -> None:
        self.change = change
        self.before = before
        self.after = max(before, change.schedule.version)
        self._number = number
        self._keys = keys

    @property
    def is_edited(self) -> bool:
        return self.after > self.before

    def row(self) -> Row:
        return (self.after, *schedule_changes(self.change.schedule), self._number)

    def version(self) -> Row:
        schedule = self.change.schedule
        return _version(self._number, schedule, schedule.changed_at, self.change.who)

    def dropped_keys(self) -> list[Row]:
        return self._listening(set(orjson.loads(self._keys)) - set(self.change.schedule.keys))

    def new_keys(self) -> list[Row]:
        return self._listening(set(self.change.schedule.keys) - set(orjson.loads(self._keys)))

    def _listening(self, keys: set[str]) -> list[Row]:
        return [(key, self._number) for key in keys]


def _split(
    connection: apsw.Connection, changes: Sequence[ScheduleChange]
) -> tuple[list[_Accepted], list[ScheduleChange]]:
    """The changes whose schedules are still as they were seen, and the refused ones."""
    names = array(change.schedule.name for change in changes)
    present = {row[:3]: row[3:] for row in fetch(connection, _SQL["present"], (names,))}
    accepted, refused = [], []
    for change in changes:
        row = present.pop(_seen(change.schedule), None)
        if row is None:
            refused.append(change)
        else:
            accepted.append(_Accepted(change, *row))
    return accepted, refused


def _seen(schedule: Schedule) -> Row:
    """Identifies a schedule and its revision; a later one of the same name has another creation."""
    return (schedule.name, micros(schedule.created_at), schedule.rev)


def _version(number: int, schedule: Schedule, at: datetime, who: str) -> Row:
    version = ScheduleVersion(schedule.name, schedule.version, schedule.definition, at, who)
    return (number, *version_row(version))
