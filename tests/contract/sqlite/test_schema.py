"""The schema of SQLite is the sum of its migrations; every query compiles and uses an index."""

from __future__ import annotations

import dataclasses
import re

import apsw
import pytest

from synergy.model.unit_of_work import UnitOfWork
from synergy.storage.sqlite import upgrade
from synergy.storage.sqlite.queries import SQL, queries

NOUNS = sorted(path.stem for path in SQL.glob("*.sql") if path.stem != "schema")


def by_schema() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    connection.execute((SQL / "schema.sql").read_text())
    return connection


def objects(connection: apsw.Connection) -> set[tuple[str, ...]]:
    """Returns all objects of the schema, without comments and spacing."""
    rows = connection.execute("SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema")
    return {(*names, _bare(sql)) for *names, sql in rows}


def _bare(sql: str) -> str:
    words = " ".join(re.sub(r"--.*", "", sql).split())
    return re.sub(r" ?([(),]) ?", r"\1", words)


def test_the_schema_is_the_sum_of_the_migrations() -> None:
    migrated = apsw.Connection(":memory:")
    for migration in upgrade.migrations():
        migrated.execute(migration)
    assert objects(migrated) == objects(by_schema())


def test_the_columns_of_a_unit_are_its_fields() -> None:
    columns = [row[1] for row in by_schema().execute("PRAGMA table_info(unit)")]
    *fields, last = [field.name for field in dataclasses.fields(UnitOfWork)]
    assert columns == ["number", *fields, "superseded", last]


@pytest.mark.parametrize("noun", NOUNS)
def test_every_query_compiles(noun: str) -> None:
    connection = by_schema()
    for name, query in queries(noun).items():
        names = re.findall(r"[:](\w+)", query)
        bindings = dict.fromkeys(names) if names else (None,) * _positions(query)
        try:
            connection.execute(f"EXPLAIN {query}", bindings)
        except apsw.SQLError as error:
            pytest.fail(f"{noun}.{name}: {error}")


def _positions(query: str) -> int:
    """Returns the number of positional parameters: `?3` is the third, the next `?` the fourth."""
    highest = 0
    for number in re.findall(r"\?(\d*)", query):
        highest = max(highest, int(number) if number else highest + 1)
    return highest


def test_no_query_is_unused() -> None:
    """The queries of a noun are used in its module, those of the engine in several modules."""
    for noun in NOUNS:
        users = [f"{noun}.py"] if noun != "engine" else ["engine.py", "database.py", "upgrade.py"]
        source = "".join((SQL.parent / user).read_text() for user in users)
        unused = {name for name in queries(noun) if f'"{name}"' not in source}
        assert unused == set(), noun


GROWS = re.compile(
    r"SCAN (unit|journal|document|schedule|schedule_version|listening|run|event|payload"
    r"|operation|answer)\b"
)


def test_searches_use_an_index() -> None:
    """No frequent query scans a table that keeps growing."""
    walks = {  # exceptions: they read a page in order, or every row
        ("units", "find"), ("journal", "newest"), ("runs", "find"), ("events", "find"),
        ("schedules", "find_first"), ("schedules", "count"), ("payloads", "prune"),
        ("schedules", "next_wake"), ("journal", "prune"), ("events", "prune"),
        ("operations", "find"), ("operations", "unfinished"),
    }  # fmt: skip
    connection = by_schema()
    nouns = ("schedules", "runs", "events", "payloads", "operations", "answers")
    for noun in ("units", "jobs", "journal", "documents", "messages", *nouns):
        for name, query in queries(noun).items():
            bindings = dict.fromkeys(re.findall(r"[:](\w+)", query)) or (None,) * _positions(query)
            plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {query}", bindings)]
            walked = [step for step in plan if GROWS.match(step)]
            if (noun, name) not in walks:
                assert walked == [], f"{noun}.{name}"


@pytest.mark.parametrize(
    ("noun", "name", "expected"),
    [
        ("units", "find", "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        ("units", "find_in_process", "INDEX unit_process (process=? AND rowid>? AND rowid<?)"),
        ("units", "find_in_state", "INDEX unit_state (state=? AND rowid>? AND rowid<?)"),
        (
            "runs",
            "find_of_schedule_in_state",
            "INDEX run_schedule_state (schedule=? AND state=? AND",
        ),
        (
            "journal",
            "newest_of_process",
            "INDEX journal_process (process=? AND rowid>? AND rowid<?)",
        ),
        ("journal", "of_job", "INDEX journal_job (process=? AND first=? AND rowid>? AND rowid<?)"),
        ("units", "between", "COVERING INDEX unit_created (created_at>? AND created_at<?)"),
        ("runs", "between", "COVERING INDEX run_created (created_at>? AND created_at<?)"),
        ("events", "between", "COVERING INDEX event_at (at>? AND at<?)"),
        ("journal", "between", "COVERING INDEX journal_at (at>? AND at<?)"),
    ],
)
def test_a_page_is_read_by_the_index_of_its_filter(noun: str, name: str, expected: str) -> None:
    """The limits of a range of time do not change the index that a filter is read by."""
    query = queries(noun)[name]
    bindings = dict.fromkeys(re.findall(r"[:](\w+)", query))
    plan = [row[3] for row in by_schema().execute(f"EXPLAIN QUERY PLAN {query}", bindings)]
    assert any(expected in step for step in plan), plan
