"""Operations. Each change is checked against the stored row in its own transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from synergy.model.operation import Operation, OperationState
from synergy.storage import journal_entries
from synergy.storage.instants import micros
from synergy.storage.sqlite.columns import (
    fetch_one,
    operation,
    operation_changes,
    operation_row,
)
from synergy.storage.sqlite.database import Database
from synergy.storage.sqlite.journal import record
from synergy.storage.sqlite.queries import queries

_SQL = queries("operations")


class SqliteOperations:
    """See `synergy.storage.protocol.Operations`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def accept(self, operation_: Operation) -> Operation:
        row = operation_row(operation_)
        with self._database.writing() as connection:
            if fetch_one(connection, _SQL["accept"], row) is not None:
                record(connection, [journal_entries.operation_accepted(operation_)])
            stored = fetch_one(connection, _SQL["get"], (operation_.id,))
        assert stored is not None, "an operation with this id is stored"
        return operation(stored)

    def change(self, operation_: Operation) -> Operation | None:
        with self._database.writing() as connection:
            present = fetch_one(connection, _SQL["present"], (operation_.id, operation_.rev))
            if present is None:
                return None
            before = OperationState(present[0])
            connection.execute(_SQL["change"], (*operation_changes(operation_), operation_.id))
            if operation_.state.is_finished and not before.is_finished:
                record(connection, [journal_entries.operation_finished(operation_, before)])
        return replace(operation_, rev=operation_.rev + 1)

    def get(self, id_: str) -> Operation | None:
        row = self._database.fetch_one(_SQL["get"], (id_,))
        return None if row is None else operation(row)

    def find(
        self, limit: int = 100, cursor: str | None = None
    ) -> tuple[list[Operation], str | None]:
        rows, following = self._database.page(_SQL["find"], limit, cursor)
        return operation.each(rows, self._database.malformed), following

    def unfinished(self) -> Sequence[Operation]:
        return operation.each(self._database.fetch(_SQL["unfinished"]), self._database.malformed)

    def prune(self, before: datetime, limit: int) -> int:
        return self._database.execute(_SQL["prune"], (micros(before), limit))
