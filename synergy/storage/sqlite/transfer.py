"""Everything in the store as records; see `synergy.storage.copy_records`.

Most kinds of records are the rows of a table: the statements that read and write them, and the
conversions, follow from the table's columns. The lines of an attempt and the versions of a
schedule are rows of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import groupby

import apsw
import orjson

from synergy.storage import stored_fields as fields
from synergy.storage.codec import FLAG, Kind, RecordFields
from synergy.storage.copy_records import KINDS, key_of, portion
from synergy.storage.protocol import Key, Record
from synergy.storage.sqlite import columns
from synergy.storage.sqlite.columns import Row, array, fetch, fetch_each
from synergy.storage.sqlite.database import Database
from synergy.storage.sqlite.queries import queries

_SQL = queries("transfer")

_OWN = {"documents": _SQL["put_documents"], "dead_messages": _SQL["put_dead_messages"]}


class _Table:
    """A table whose rows are the records of a kind; `columns` are as in `RecordFields`."""

    def __init__(
        self, kind: str, table: str, columns: str, kinds: Mapping[str, Kind] | None = None
    ) -> None:
        self.fields = RecordFields(columns, kinds or {}, lambda kind: kind.row)
        by_field = dict(zip(self.fields.names, self.fields.stored, strict=True))
        key = ", ".join(by_field[field] for field in KINDS[kind])
        after = ", ".join("?" for _ in KINDS[kind])
        names = ", ".join(f'"{name}"' for name in self.fields.stored)
        values = ", ".join("?" for _ in self.fields.stored)
        self.read = f"SELECT {names} FROM {table} WHERE ({key}) > ({after}) ORDER BY {key}"
        self.put = f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({values})"
        self.count = f"SELECT count(*) FROM {table}"


class SqliteTransfer:
    """See `synergy.storage.protocol.Transfer`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def counts(self) -> dict[str, int]:
        with self._database.reading() as connection:
            counts = {kind: fetch(connection, table.count) for kind, table in _TABLES.items()}
            counts["unit_logs"] = fetch(connection, _SQL["count_unit_logs"])
            counts["numbers"] = fetch(connection, _SQL["count_numbers"])
        return {kind: int(found[0][0]) for kind, found in counts.items()}

    def read(self, kind: str, after: Key) -> Iterator[Record]:
        """Reads in portions, so that a slow reader keeps no read transaction open."""
        while found := self._portion(kind, after):
            yield from found
            after = key_of(kind, found[-1])

    def _portion(self, kind: str, after: Key) -> list[Record]:
        query = _SQL[kind] if kind in _SQL else _TABLES[kind].read  # named queries join tables
        with (
            self._database.reading() as connection,
            closing(connection.execute(query, after)) as found,
        ):
            if kind == "unit_logs":
                return portion(_logs(found))
            if kind == "schedules":
                return portion(_schedules(found))
            return portion(map(_TABLES[kind].fields.record, found))

    def write(self, kind: str, records: Sequence[Record]) -> None:
        with self._database.writing() as connection:
            if kind == "unit_logs":
                _put_logs(connection, records)
                return
            if kind == "schedules":
                _put_schedules(connection, records)
                return
            table = _TABLES[kind]
            if kind == "numbers":
                names = [(record["name"],) for record in records]
                connection.executemany(_SQL["delete_numbers"], names)
            query = _OWN.get(kind, table.put)
            connection.executemany(query, map(table.fields.values, records))


def _logs(found: Iterable[Row]) -> Iterator[Record]:
    for (unit, attempt), lines in groupby(found, lambda row: row[:2]):
        yield {"unit": unit, "attempt": attempt, "lines": [list(line[2:]) for line in lines]}


def _put_logs(connection: apsw.Connection, records: Sequence[Record]) -> None:
    attempts = [(record["unit"], record["attempt"]) for record in records]
    connection.executemany(_SQL["delete_unit_logs"], attempts)
    lines = [
        (*attempt, *line)
        for attempt, record in zip(attempts, records, strict=True)
        for line in record["lines"]
    ]
    connection.executemany(_SQL["put_unit_logs"], lines)


def _schedules(found: Iterable[Row]) -> Iterator[Record]:
    """Records of rows of schedules, each of which ends with the four columns of a version."""
    for _, group in groupby(found, lambda row: row[0]):
        versions = list(group)
        record = _TABLES["schedules"].fields.record(versions[0][1:-4])
        yield record | {"versions": [[*row[-4:-1], orjson.loads(row[-1])] for row in versions]}


def _put_schedules(connection: apsw.Connection, records: Sequence[Record]) -> None:
    """Writes schedules; existing ones keep their numbers, which versions and keys refer to."""
    names = array(record["name"] for record in records)
    present = fetch(connection, _SQL["present_schedules"], (names,))
    old_keys = [(key, number) for number, keys in present for key in orjson.loads(keys)]
    connection.executemany(_SQL["unlisten"], old_keys)
    put = map(_TABLES["schedules"].fields.values, records)
    numbers = [number for (number,) in fetch_each(connection, _SQL["put_schedules"], put)]
    connection.executemany(_SQL["delete_versions"], [(number,) for number in numbers])
    numbered = list(zip(numbers, records, strict=True))
    connection.executemany(
        _SQL["put_versions"],
        [
            (number, *version, orjson.dumps(definition))
            for number, record in numbered
            for *version, definition in record["versions"]
        ],
    )
    connection.executemany(
        _SQL["listen"], [(key, number) for number, record in numbered for key in record["keys"]]
    )


_TABLES = {
    kind: _Table(kind, *described)
    for kind, *described in (
        ("facts", "fact", "name value"),
        ("controls", "control", "process is_on trigger=trigger_frequency", fields.CONTROL.kinds),
        ("boxes", "box", "id seen_at"),
        ("assignments", "assignment", "box process is_on", fields.ASSIGNMENT.kinds),
        ("job_blocks", "job_block", "process block states generations", fields.BLOCK),
        (
            "units", "unit", columns.UNIT_COLUMNS.replace("superseded", "is_superseded=superseded"),
            {**fields.UNIT.kinds, "is_superseded": FLAG},
        ),
        (
            "schedules", "schedule", columns.SCHEDULE_COLUMNS.removeprefix("number "),
            fields.SCHEDULE.kinds,
        ),
        ("runs", "run", columns.RUN_COLUMNS, fields.RUN.kinds),
        ("events", "event", columns.EVENT_COLUMNS, fields.EVENT.kinds),
        ("payloads", "payload", "name content", fields.PAYLOAD),
        ("operations", "operation", columns.OPERATION_COLUMNS, fields.OPERATION.kinds),
        ("answers", "answer", columns.ANSWER_COLUMNS, fields.ANSWER.kinds),
        ("journal", "journal", columns.ENTRY_COLUMNS, fields.ENTRY.kinds),
        ("marks", "mark", "collection timeperiod low high rows"),
        ("documents", "document", "collection timeperiod key body", fields.DOCUMENT),
        ("messages", "message", "queue seq body", fields.MESSAGE),
        ("dead_messages", "dead_message", "seq queue body reason at", fields.DEAD_MESSAGE.kinds),
        ("numbers", "sqlite_sequence", "name n=seq"),
    )
}  # fmt: skip
