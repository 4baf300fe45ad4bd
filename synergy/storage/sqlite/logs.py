"""Lines that workers logged while they ran units."""

from __future__ import annotations

from collections.abc import Sequence

from synergy.storage.protocol import LogLine
from synergy.storage.sqlite.database import Database
from synergy.storage.sqlite.queries import queries
from synergy.storage.stored_fields import LINE

_SQL = queries("logs")

_line = LINE.reads_row("at attempt level text")
_line_row = LINE.writes_row("at attempt level text")


class SqliteLogs:
    """See `synergy.storage.protocol.UnitLogs`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def append(self, unit: str, lines: Sequence[LogLine]) -> None:
        rows = [(unit, *_line_row(line)) for line in lines]
        with self._database.writing() as connection:
            connection.executemany(_SQL["append"], rows)

    def of_unit(self, unit: str, after: int = 0, limit: int | None = None) -> list[LogLine]:
        bindings = (unit, -1 if limit is None else limit, after)
        return _line.each(self._database.fetch(_SQL["of_unit"], bindings), self._database.malformed)

    def count(self, unit: str) -> int:
        return int(self._database.fetch(_SQL["count"], (unit,))[0][0])
