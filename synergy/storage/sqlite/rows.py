"""Checks all rows; the statements follow from the columns of the tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import apsw

from synergy.storage import plain_rows as plain
from synergy.storage import stored_fields as fields
from synergy.storage.codec import Codec
from synergy.storage.malformed import MalformedRow, Name
from synergy.storage.protocol.rows import CheckedRows
from synergy.storage.sqlite import columns
from synergy.storage.sqlite.columns import Row, fetch
from synergy.storage.sqlite.database import Database

_SCHEDULES = (
    "schedule LEFT JOIN schedule_version "
    "ON schedule = number AND schedule_version.version = schedule.version"
)
Value = TypeVar("Value")
_BLOB = re.compile("X'[0-9A-F]*'")
_VERSIONS = "schedule_version LEFT JOIN schedule ON schedule = number"


class _Table(Generic[Value]):
    """A kind of rows: `key` orders them, `name` identifies one in messages.

    `also` raises ValueError for a value that is malformed although each of its fields is sound.
    """

    def __init__(
        self,
        codec: Codec[Value],
        table: str,
        columns: str,
        key: str = "",
        name: str = "",
        also: Callable[[Value], object] = lambda _: None,
    ) -> None:
        self._reader = codec.reads_row(re.sub(r"\w+\.", "", columns))
        self._also = also
        self.kind = self._reader.kind
        keys = [_quoted(column) for column in (key or " ".join(codec.name)).split()]
        names = [_quoted(column) for column in name.split()] or keys
        self._width = len(keys), len(keys) + len(names)
        named = ", ".join([*keys, *names])
        self._select_names = f"SELECT {named} FROM {table}"
        self._select = f"SELECT {named}, {', '.join(map(_quoted, columns.split()))} FROM {table}"
        order = ", ".join(keys)
        marks = ", ".join("?" for _ in keys)
        self._page = f" ORDER BY {order} LIMIT ?"
        self._next_page = f" WHERE ({order}) > ({marks}) ORDER BY {order} LIMIT ?"
        self._of_name = " WHERE " + " AND ".join(f"{one} IS ?" for one in names)

    def check(self, connection: apsw.Connection, after: Name | None, limit: int) -> CheckedRows:
        """Checks the rows after a key."""
        where = self._page if after is None else self._next_page
        bindings = (*(after or ()), limit)
        try:
            rows = fetch(connection, self._select + where, bindings)
            checked = [self._check(row) for row in rows]
        except UnicodeDecodeError:
            try:
                rows = fetch(connection, self._select_names + where, bindings)
            except UnicodeDecodeError as error:
                problem = f"a name is not UTF-8 ({error.reason}): from there on no row is checked"
                return CheckedRows(1, [MalformedRow(self.kind, ("?",), problem)], None)
            width, end = self._width
            checked = [self.find(connection, row[width:end]) for row in rows]
        last = tuple(rows[-1][: self._width[0]]) if len(rows) == limit else None
        return CheckedRows(len(rows), [one for one in checked if one is not None], last)

    def find(self, connection: apsw.Connection, name: Name) -> MalformedRow | None:
        """The row of this name if it is malformed."""
        try:
            rows = fetch(connection, self._select + self._of_name, [*map(_stored, name)])
        except UnicodeDecodeError as error:
            return MalformedRow(self.kind, _parts(name), f"a text is not UTF-8: {error.reason}")
        return next(filter(None, map(self._check, rows)), None)

    def _check(self, row: Row) -> MalformedRow | None:
        width, end = self._width
        found = self._reader.check(row[end:], self._also)
        if found is None:
            return None
        return MalformedRow(self.kind, _parts(row[width:end]), found.problem)


def _parts(name: Sequence[object]) -> Name:
    """A name as text and numbers; a part that is neither is written as SQL."""
    return tuple(one if isinstance(one, int | str) else apsw.format_sql_value(one) for one in name)


def _stored(part: str | int) -> object:
    """The stored form of a part of a name."""
    if isinstance(part, str) and _BLOB.fullmatch(part):
        return bytes.fromhex(part[2:-1])
    return None if part == "NULL" else part


def _quoted(column: str) -> str:
    """A column, quoted because some are words of SQL, with its table if it is given."""
    return ".".join(f'"{part}"' for part in column.split("."))


_ALL: Sequence[_Table[Any]] = (
    _Table(plain.FACT_ROW, "fact", "name value"),
    _Table(fields.CONTROL, "control", "process is_on trigger_frequency"),
    _Table(fields.LEASE, "lease", "name holder epoch seq released"),
    _Table(fields.BOX, "box", "id seen_at"),
    _Table(fields.ASSIGNMENT, "assignment", "box process is_on"),
    _Table(
        fields.OBSERVED,
        "observed",
        "box process instance state marker pid started boot_id since restarts",
    ),
    _Table(plain.BLOCK_ROW, "job_block", "process block states generations"),
    _Table(fields.UNIT, "unit", columns.UNIT_COLUMNS, "number", "id"),
    _Table(fields.LINE, "unit_log", "at attempt level text", "number"),
    _Table(
        fields.SCHEDULE,
        _SCHEDULES,
        columns.SCHEDULE_COLUMNS.replace("version", "schedule.version") + " definition",
    ),
    _Table(
        fields.VERSION,
        _VERSIONS,
        "name schedule_version.version definition at who",
        "schedule schedule_version.version",
        "name schedule_version.version",
    ),
    _Table(fields.RUN, "run", columns.RUN_COLUMNS, "number", "id"),
    _Table(fields.EVENT, "event", columns.EVENT_COLUMNS, "seq", "id"),
    _Table(plain.PAYLOAD_ROW, "payload", "name content"),
    _Table(fields.OPERATION, "operation", columns.OPERATION_COLUMNS, "number", "id"),
    _Table(fields.ANSWER, "answer", columns.ANSWER_COLUMNS),
    _Table(fields.ENTRY, "journal", columns.ENTRY_COLUMNS, also=plain.checked_entry),
    _Table(plain.MARK_ROW, "mark", "collection timeperiod low high rows"),
    _Table(plain.DOCUMENT_ROW, "document", "collection timeperiod key seq body"),
    _Table(plain.MESSAGE_ROW, "message", "queue seq body"),
    _Table(fields.DEAD_MESSAGE, "dead_message", "seq queue body reason at"),
)
TABLES: Mapping[str, _Table[Any]] = {table.kind: table for table in _ALL}


class SqliteRows:
    """See `synergy.storage.protocol.Rows`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def kinds(self) -> Sequence[str]:
        return list(TABLES)

    def check(self, kind: str, after: Name | None, limit: int) -> CheckedRows:
        with self._database.reading() as connection:
            return TABLES[kind].check(connection, after, limit)

    def find(self, kind: str, name: Name) -> MalformedRow | None:
        with self._database.reading() as connection:
            return TABLES[kind].find(connection, name)

    def met(self) -> Sequence[MalformedRow]:
        return self._database.malformed.all()
