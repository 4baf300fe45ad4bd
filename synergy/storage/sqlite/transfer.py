"""Everything in the store as records; see `synergy.storage.records`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import apsw
import orjson

from synergy.storage.protocol import Key, Record
from synergy.storage.records import (
    answer_of,
    entry_of,
    event_of,
    key_of,
    of_answer,
    of_entry,
    of_event,
    of_operation,
    of_run,
    of_schedule,
    of_unit,
    operation_of,
    packed,
    portion,
    run_of,
    schedule_of,
    unit_of,
    unpacked,
)
from synergy.storage.sqlite import operation_rows, rows, schedule_rows
from synergy.storage.sqlite.database import Database
from synergy.storage.sqlite.queries import queries
from synergy.storage.sqlite.rows import Row, fetch

_SQL = queries("transfer")

Codec = tuple[Callable[[Any], Any], Callable[[Any], Any]]
"""From a column to a field of a record, and back."""


@dataclass(frozen=True, slots=True)
class _Table:
    """A kind of which a record is a row: its queries, and how one is made of the other."""

    read: str
    put: str
    record: Callable[[Row], Record]
    row: Callable[[Record], Row]


class SqliteTransfer:
    """See `synergy.storage.protocol.Transfer`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def counts(self) -> dict[str, int]:
        with self._database.reading() as connection:
            return dict(fetch(connection, _SQL["counts"]))

    def read(self, kind: str, after: Key) -> Iterator[Record]:
        """In portions, so that a slow reader keeps no lock and nobody's log from being emptied."""
        while found := self._portion(kind, after):
            yield from found
            after = key_of(kind, found[-1])

    def _portion(self, kind: str, after: Key) -> list[Record]:
        with self._database.reading() as connection:
            table = _TABLES.get(kind)
            query = kind if table is None else table.read
            with closing(connection.execute(_SQL[query], after)) as found:
                if table is not None:
                    return portion(map(table.record, found))
                return portion(_logs(found) if kind == "unit_logs" else _schedules(found))

    def write(self, kind: str, records: Sequence[Record]) -> None:
        with self._database.writing() as connection:
            if kind == "unit_logs":
                _put_logs(connection, records)
                return
            if kind == "schedules":
                _put_schedules(connection, records)
                return
            if kind == "numbers":
                names = [(record["name"],) for record in records]
                connection.executemany(_SQL["forget_numbers"], names)
            table = _TABLES[kind]
            connection.executemany(_SQL[table.put], map(table.row, records))


def _logs(found: Iterable[Row]) -> Iterator[Record]:
    for (unit, attempt), lines in groupby(found, lambda row: row[:2]):
        yield {"unit": unit, "attempt": attempt, "lines": [list(line[2:]) for line in lines]}


def _put_logs(connection: apsw.Connection, records: Sequence[Record]) -> None:
    attempts = [(record["unit"], record["attempt"]) for record in records]
    connection.executemany(_SQL["forget_unit_logs"], attempts)
    lines = [
        (*attempt, *line)
        for attempt, record in zip(attempts, records, strict=True)
        for line in record["lines"]
    ]
    connection.executemany(_SQL["put_unit_logs"], lines)


def _schedules(found: Iterable[Row]) -> Iterator[Record]:
    for _, group in groupby(found, lambda row: row[0]):
        of_one = list(group)
        name, versions = of_one[0][1], [row[12:] for row in of_one]
        yield of_schedule(
            schedule_rows.schedule(of_one[-1][:13]),
            [
                schedule_rows.version((name, number, definition, at, who))
                for definition, number, at, who in versions
            ],
        )


def _put_schedules(connection: apsw.Connection, records: Sequence[Record]) -> None:
    """Those that are there already keep their numbers, by which versions and keys are known."""
    names = rows.array(record["name"] for record in records)
    there = fetch(connection, _SQL["schedules_there"], (names,))
    gone = [(key, number) for number, keys in there for key in orjson.loads(keys)]
    connection.executemany(_SQL["unlisten"], gone)
    schedules = [schedule_of(record) for record in records]
    put = [(*schedule_rows.schedule_row(schedule), schedule.rev) for schedule, _ in schedules]
    numbers = [number for (number,) in rows.fetch_each(connection, _SQL["put_schedules"], put)]
    connection.executemany(_SQL["forget_versions"], [(number,) for number in numbers])
    numbered = list(zip(numbers, schedules, strict=True))
    connection.executemany(
        _SQL["put_versions"],
        [
            (number, *schedule_rows.version_row(version))
            for number, (_, versions) in numbered
            for version in versions
        ],
    )
    connection.executemany(
        _SQL["listen"],
        [(key, number) for number, (schedule, _) in numbered for key in schedule.keys],
    )


def _same(value: Any) -> Any:
    return value


def _flag(value: int | None) -> bool | None:
    return None if value is None else bool(value)


def _pairs(text: str | None) -> list[list[int]]:
    found: dict[str, int] = orjson.loads(text) if text else {}
    return sorted([int(job), number] for job, number in found.items())


def _text(pairs: Sequence[tuple[int, int]]) -> str | None:
    return orjson.dumps({str(job): number for job, number in pairs}).decode() if pairs else None


_SAME: Codec = (_same, _same)
_FLAG: Codec = (_flag, _same)
_BYTES: Codec = (packed, unpacked)
_BODY: Codec = (bytes.decode, str.encode)
_GENERATIONS: Codec = (_pairs, _text)


def _table(read: str, put: str, /, **fields: Codec) -> _Table:
    """A table whose columns are the fields, in order."""
    return _Table(
        read,
        put,
        lambda row: {
            name: decode(value)
            for (name, (decode, _)), value in zip(fields.items(), row, strict=True)
        },
        lambda record: tuple(encode(record[name]) for name, (_, encode) in fields.items()),
    )


_TABLES = {
    "facts": _table("facts", "put_facts", name=_SAME, value=_SAME),
    "controls": _table("controls", "put_controls", process=_SAME, is_on=_FLAG, trigger=_SAME),
    "boxes": _table("boxes", "put_boxes", id=_SAME, seen_at=_SAME),
    "assignments": _table("assignments", "put_assignments", box=_SAME, process=_SAME, is_on=_FLAG),
    "job_blocks": _table(
        "job_blocks", "put_job_blocks",
        process=_SAME, block=_SAME, states=_BYTES, generations=_GENERATIONS,
    ),
    "units": _Table(
        "units",
        "put_units",
        lambda row: of_unit(rows.unit(row), row[0], rows.is_superseded(row)),
        lambda record: rows.whole_unit_row(
            unit_of(record), record["number"], record["is_superseded"]
        ),
    ),
    "runs": _Table(
        "runs",
        "put_runs",
        lambda row: of_run(schedule_rows.run(row), row[0]),
        lambda record: (
            record["number"], record["rev"], *schedule_rows.run_row(run_of(record)),
        ),
    ),
    "events": _Table(
        "events",
        "put_events",
        lambda row: of_event(schedule_rows.event(row)),
        lambda record: (record["seq"], *schedule_rows.event_row(event_of(record))),
    ),
    "payloads": _table("payloads", "put_payloads", name=_SAME, content=_BYTES),
    "operations": _Table(
        "operations",
        "put_operations",
        lambda row: of_operation(operation_rows.operation(row), row[0]),
        lambda record: (
            record["number"], record["rev"], *operation_rows.operation_row(operation_of(record)),
        ),
    ),
    "answers": _Table(
        "answers",
        "put_answers",
        lambda row: of_answer(operation_rows.answer(row)),
        lambda record: (record["rev"], *operation_rows.answer_row(answer_of(record))),
    ),
    "journal": _Table(
        "journal",
        "put_journal",
        lambda row: of_entry(rows.entry(row)),
        lambda record: (record["seq"], *rows.entry_row(entry_of(record))),
    ),
    "marks": _table(
        "marks", "put_marks", collection=_SAME, timeperiod=_SAME, low=_SAME, high=_SAME, rows=_SAME
    ),
    "documents": _table(
        "documents", "put_documents", collection=_SAME, timeperiod=_SAME, key=_SAME, body=_BODY
    ),
    "messages": _table("messages", "put_messages", queue=_SAME, seq=_SAME, body=_BYTES),
    "dead_messages": _table(
        "dead_messages", "put_dead_messages",
        seq=_SAME, queue=_SAME, body=_BYTES, reason=_SAME, at=_SAME,
    ),
    "numbers": _table("numbers", "put_numbers", name=_SAME, n=_SAME),
}  # fmt: skip
