"""Boxes: assignments and observations."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from synergy.model.box import Assignment, Box, ObservedProcess
from synergy.storage.encoding import instant_or_none, micros, micros_or_none
from synergy.storage.entries import box_switched
from synergy.storage.sqlite.database import Database
from synergy.storage.sqlite.journal import record_entries
from synergy.storage.sqlite.queries import queries
from synergy.storage.sqlite.rows import Row, fetch, fetch_each, fetch_one

_SQL = queries("boxes")


class SqliteBoxes:
    """See `synergy.storage.protocol.Boxes`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def assign(self, box: str, processes: Sequence[str]) -> list[str]:
        with self._database.writing() as connection:
            connection.execute(_SQL["know"], (box,))
            bindings = [(box, process) for process in processes]
            return [row[0] for row in fetch_each(connection, _SQL["assign"], bindings)]

    def assignments(self, box: str | None = None) -> list[Assignment]:
        with self._database.reading() as connection:
            rows = fetch(connection, _SQL["assignments"], {"box": box})
        return [Assignment(box, process, bool(is_on)) for box, process, is_on in rows]

    def switch(
        self, box: str, process: str, is_on: bool, who: str, now: datetime, why: str = ""
    ) -> bool:
        with self._database.writing() as connection:
            before = fetch_one(connection, _SQL["is_on"], (box, process))
            if before is None:
                return False
            connection.execute(_SQL["switch"], (is_on, box, process))
            entry = box_switched(box, process, bool(before[0]), is_on, who, now, why)
            record_entries(connection, [entry])
        return True

    def report(self, box: str, observed: Sequence[ObservedProcess], now: datetime) -> None:
        with self._database.writing() as connection:
            connection.execute(_SQL["seen"], (box, micros(now)))
            connection.execute(_SQL["forget_observed"], (box,))
            connection.executemany(_SQL["observe"], [_row(box, process) for process in observed])

    def observed(self, box: str | None = None) -> list[ObservedProcess]:
        with self._database.reading() as connection:
            rows = fetch(connection, _SQL["observed"], {"box": box})
        return [_observed(row) for row in rows]

    def all(self) -> list[Box]:
        with self._database.reading() as connection:
            rows = fetch(connection, _SQL["all"])
        return [Box(name, instant_or_none(seen)) for name, seen in rows]


def _observed(row: Row) -> ObservedProcess:
    box, process, instance, state, marker, pid, started, boot_id, since, restarts = row
    return ObservedProcess(
        box, process, instance, state, marker, pid, started, boot_id, instant_or_none(since),
        restarts,
    )  # fmt: skip


def _row(box: str, seen: ObservedProcess) -> Row:
    return (
        box, seen.process, seen.instance, seen.state, seen.marker, seen.pid, seen.started,
        seen.boot_id, micros_or_none(seen.since), seen.restarts,
    )  # fmt: skip
