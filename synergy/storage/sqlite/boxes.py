"""Boxes: assignments and observations."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from synergy.model.box import Assignment, Box, ObservedProcess
from synergy.storage.instants import micros
from synergy.storage.journal_entries import box_switched
from synergy.storage.sqlite.columns import fetch_each, fetch_one
from synergy.storage.sqlite.database import Database
from synergy.storage.sqlite.journal import record
from synergy.storage.sqlite.queries import queries
from synergy.storage.stored_fields import ASSIGNMENT, BOX, OBSERVED

_SQL = queries("boxes")

_assignment = ASSIGNMENT.reads_row("box process is_on")
_OBSERVED = "process instance state marker pid started boot_id since restarts"
_observed = OBSERVED.reads_row(f"box {_OBSERVED}")
_observed_row = OBSERVED.writes_row(_OBSERVED)
_box = BOX.reads_row("id seen_at")


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
        return _assignment.each(
            self._database.fetch(_SQL["assignments"], {"box": box}), self._database.malformed
        )

    def switch(
        self, box: str, process: str, is_on: bool, who: str, now: datetime, why: str = ""
    ) -> bool:
        with self._database.writing() as connection:
            before = fetch_one(connection, _SQL["is_on"], (box, process))
            if before is None:
                return False
            connection.execute(_SQL["switch"], (is_on, box, process))
            entry = box_switched(box, process, bool(before[0]), is_on, who, now, why)
            record(connection, [entry])
        return True

    def report(self, box: str, observed: Sequence[ObservedProcess], now: datetime) -> None:
        with self._database.writing() as connection:
            connection.execute(_SQL["seen"], (box, micros(now)))
            connection.execute(_SQL["delete_observed"], (box,))
            connection.executemany(
                _SQL["observe"], [(box, *_observed_row(one)) for one in observed]
            )

    def observed(self, box: str | None = None) -> list[ObservedProcess]:
        return _observed.each(
            self._database.fetch(_SQL["observed"], {"box": box}), self._database.malformed
        )

    def all(self) -> list[Box]:
        return _box.each(self._database.fetch(_SQL["all"]), self._database.malformed)
