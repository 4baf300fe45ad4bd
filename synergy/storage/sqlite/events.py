"""Events that were taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from synergy.model.schedule import Event
from synergy.storage.encoding import micros
from synergy.storage.sqlite.database import Database
from synergy.storage.sqlite.queries import queries
from synergy.storage.sqlite.rows import array, event, event_row, fetch, fetch_each, place

_SQL = queries("events")


class SqliteEvents:
    """See `synergy.storage.protocol.Events`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def append(self, events: Sequence[Event]) -> list[tuple[Event, bool]]:
        rows = [event_row(event) for event in events]
        with self._database.writing() as connection:
            new = {id_: seq for seq, id_ in fetch_each(connection, _SQL["append"], rows)}
            others = {event.id for event in events if event.id not in new}
            stored = {
                row[1]: event(row) for row in fetch(connection, _SQL["known"], (array(others),))
            }
        found = []
        for event_ in events:
            is_new = event_.id not in stored
            if is_new:
                stored[event_.id] = replace(event_, seq=new[event_.id])
            found.append((stored[event_.id], is_new))
        return found

    def since(self, seq: int, limit: int) -> list[Event]:
        with self._database.reading() as connection:
            rows = fetch(connection, _SQL["since"], (seq, limit))
        return [event(row) for row in rows]

    def find(self, limit: int = 100, cursor: str | None = None) -> tuple[list[Event], str | None]:
        with self._database.reading() as connection:
            rows = fetch(connection, _SQL["find"], (place(cursor), limit + 1))
        page = [event(row) for row in rows[:limit]]
        return page, str(page[-1].seq) if len(rows) > limit and page else None

    def last_seq(self) -> int:
        with self._database.reading() as connection:
            return int(connection.execute(_SQL["last_seq"]).get)

    def prune(self, before: datetime, limit: int) -> int:
        with self._database.writing() as connection:
            connection.execute(_SQL["prune"], {"before": micros(before), "limit": limit})
            return connection.changes()
