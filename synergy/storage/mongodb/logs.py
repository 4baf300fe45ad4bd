"""Lines that workers logged while they ran units.

An attempt is run by one process, whose driver gives rising ids to its lines, so the lines need no
numbers to stay in order.
"""

from __future__ import annotations

from collections.abc import Sequence

from synergy.storage.mongodb.database import Database, first
from synergy.storage.protocol import LogLine
from synergy.storage.stored_fields import LINE

line_of = LINE.reads_document()
_fields_of = LINE.writes_document()


class MongoLogs:
    """See `synergy.storage.protocol.UnitLogs`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lines = database["unit_logs"]

    def append(self, unit: str, lines: Sequence[LogLine]) -> None:
        documents = [{**_fields_of(line), "unit": unit} for line in lines]
        if documents:
            with self._database.calling():
                self._lines.insert_many(documents)

    def of_unit(self, unit: str, after: int = 0, limit: int | None = None) -> list[LogLine]:
        lines = self._lines.find({"unit": unit}).sort([("attempt", 1), ("_id", 1)])
        with self._database.calling():
            found = list(first(lines.skip(after), limit))
        return line_of.each(found, self._database.malformed)

    def count(self, unit: str) -> int:
        with self._database.calling():
            return self._lines.count_documents({"unit": unit})
