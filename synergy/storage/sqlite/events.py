"""Events; one whose id is stored already is not stored again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from synergy.model.schedule import Event
from synergy.model.time_range import EVER, TimeRange
from synergy.storage.instants import micros
from synergy.storage.sqlite.columns import array, event, event_row, fetch, fetch_each
from synergy.storage.sqlite.database import Database
from synergy.storage.sqlite.queries import queries
from synergy.storage.sqlite.time_ranges import between

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
        return event.each(
            self._database.fetch(_SQL["since"], (seq, limit)), self._database.malformed
        )

    def find(
        self, limit: int = 100, cursor: str | None = None, within: TimeRange = EVER
    ) -> tuple[list[Event], str | None]:
        times = between(self._database, _SQL["between"], within)
        rows, following = self._database.page(_SQL["find"], limit, cursor, **times)
        return event.each(rows, self._database.malformed), following

    def last_seq(self) -> int:
        return int(self._database.fetch(_SQL["last_seq"])[0][0])

    def prune(self, before: datetime, limit: int) -> int:
        return self._database.execute(_SQL["prune"], {"before": micros(before), "limit": limit})
