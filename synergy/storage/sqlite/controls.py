"""Settings of processes that operators change at run time."""

from __future__ import annotations

from datetime import datetime

from synergy.model.process_control import ProcessControl
from synergy.storage.journal_entries import process_switched, trigger_changed
from synergy.storage.sqlite.columns import fetch_one
from synergy.storage.sqlite.database import Database
from synergy.storage.sqlite.journal import record
from synergy.storage.sqlite.queries import queries
from synergy.storage.stored_fields import CONTROL

_SQL = queries("controls")
_control = CONTROL.reads_row("process is_on trigger_frequency")


class SqliteControls:
    """See `synergy.storage.protocol.Controls`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> dict[str, ProcessControl]:
        rows = self._database.fetch(_SQL["all"])
        return {one.process: one for one in _control.each(rows, self._database.malformed)}

    def set_on(self, process: str, is_on: bool, who: str, why: str, now: datetime) -> None:
        with self._database.writing() as connection:
            before, _ = fetch_one(connection, _SQL["get"], (process,)) or (None, None)
            connection.execute(_SQL["set_on"], (process, is_on))
            was_on = None if before is None else bool(before)
            record(connection, [process_switched(process, was_on, is_on, who, why, now)])

    def set_trigger(self, process: str, trigger: str, who: str, why: str, now: datetime) -> None:
        with self._database.writing() as connection:
            _, before = fetch_one(connection, _SQL["get"], (process,)) or (None, None)
            connection.execute(_SQL["set_trigger"], (process, trigger))
            record(connection, [trigger_changed(process, before, trigger, who, why, now)])
