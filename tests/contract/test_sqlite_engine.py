"""What only the SQLite engine has: its schema, its queries, its file and its disk."""

from __future__ import annotations

import dataclasses
import os
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import apsw
import pytest

from synergy.errors import Refused, StorageUnavailable
from synergy.model.unit_of_work import Hint, UnitOfWork
from synergy.storage.encoding import instant_or_none, micros
from synergy.storage.sqlite import SqliteStore, engine, filesystem, schema
from synergy.storage.sqlite.queries import SQL, queries
from tests.contract.concurrency import in_processes, in_the_midst
from tests.factories import HOUR, NOW, a_move, a_unit, an_entry, some_units

NOUNS = sorted(path.stem for path in SQL.glob("*.sql") if path.stem != "schema")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "synergy.db"


@pytest.fixture
def opened(path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore.open(path)
    yield store
    store.close()


def by_schema() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    connection.execute((SQL / "schema.sql").read_text())
    return connection


def objects(connection: apsw.Connection) -> set[tuple[str, ...]]:
    """Everything in the schema, without comments and spacing."""
    rows = connection.execute("SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema")
    return {(*names, _bare(sql)) for *names, sql in rows}


def _bare(sql: str) -> str:
    words = " ".join(re.sub(r"--.*", "", sql).split())
    return re.sub(r" ?([(),]) ?", r"\1", words)


# Schema and queries


def test_the_schema_is_the_sum_of_the_migrations() -> None:
    migrated = apsw.Connection(":memory:")
    for migration in schema.migrations():
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
    """How many positional parameters there are: `?3` is the third, the next `?` the fourth."""
    highest = 0
    for number in re.findall(r"\?(\d*)", query):
        highest = max(highest, int(number) if number else highest + 1)
    return highest


def test_no_query_is_unused() -> None:
    """A noun's queries are used in its module; those of the engine, by several."""
    for noun in NOUNS:
        users = [f"{noun}.py"] if noun != "engine" else ["engine.py", "database.py", "schema.py"]
        source = "".join((SQL.parent / user).read_text() for user in users)
        unused = {name for name in queries(noun) if f'"{name}"' not in source}
        assert unused == set(), noun


GROWS = re.compile(
    r"SCAN (unit|journal|document|schedule|schedule_version|listening|run|event|payload"
    r"|operation|answer)\b"
)


def test_searches_go_by_an_index() -> None:
    """No query of daily work walks through a table that grows with the years."""
    walks = {  # a page at a time, from the newest or the first, or all there is
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


# Opening


def test_a_store_is_made_once_and_found_again(path: Path) -> None:
    with closing(SqliteStore.open(path / "deep" / "down.db")) as store:
        store.facts.set("a", "1")
    with closing(SqliteStore.open(path / "deep" / "down.db", create=False)) as store:
        assert store.facts.get("a") == "1"


def test_a_store_that_is_not_there_is_not_made_without_being_asked(path: Path) -> None:
    with pytest.raises(StorageUnavailable, match="no store at"):
        SqliteStore.open(path, create=False)
    assert list(path.parent.iterdir()) == []


def test_a_newer_schema_is_refused_and_left_alone(opened: SqliteStore, path: Path) -> None:
    opened.close()
    with closing(apsw.Connection(str(path))) as connection:
        connection.pragma("user_version", schema.VERSION + 1)
    with pytest.raises(StorageUnavailable, match="newer Synergy"):
        SqliteStore.open(path)
    with closing(apsw.Connection(str(path))) as connection:
        assert connection.pragma("user_version") == schema.VERSION + 1


def test_an_older_schema_is_migrated(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SqliteStore.open(path).close()
    steps = [*schema.migrations(), "CREATE TABLE added (x)", "INSERT INTO added VALUES (1)"]
    monkeypatch.setattr(schema, "migrations", lambda: steps)
    monkeypatch.setattr(schema, "VERSION", len(steps))
    for _ in range(2):
        with closing(SqliteStore.open(path)) as store:
            assert store.status().schema == len(steps)
    with closing(apsw.Connection(str(path))) as connection:
        assert connection.execute("SELECT x FROM added").fetchall() == [(1,)]


def test_a_file_of_the_first_schema_keeps_its_units(path: Path) -> None:
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute(schema.migrations()[0])
        connection.pragma("user_version", 1)
        for number in (1, 2):
            columns = (str(number), "P", "2026112110", 1, "a", "b", number, 0, 0, 2 - number)
            connection.execute(
                "INSERT INTO unit VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
                " 1, 0, NULL, NULL, NULL, 0, NULL, NULL, NULL, '', 0)",
                columns,
            )
    with closing(SqliteStore.open(path)) as store:
        assert store.status().schema == schema.VERSION
        assert [unit.state.value for unit in store.units.unfinished()] == [
            "in_progress", "requested",
        ]  # fmt: skip
        assert store.units.claim([Hint("2", 1)], "worker", NOW) == []  # the first is in progress
        assert (store.schedules.count(), store.events.last_seq()) == (0, 0)
        assert store.operations.find() == ([], None)


def test_a_file_from_before_first_claims_knows_what_was_ever_claimed(path: Path) -> None:
    before = (Path(schema.__file__).parent / "sql/migrations/004_first_claims.sql").read_text()
    older = schema.migrations()[: schema.migrations().index(before)]
    created, claimed = micros(NOW), micros(NOW + timedelta(minutes=1))
    units = {
        "requested": (created, 0, 0, None, None),
        "running": (created, 1, 0, claimed, claimed),
        "failed": (created, 2, 1, claimed, claimed),
        "handed out again": (created, 0, 2, None, created),
        "done": (created, 3, 0, claimed, None),
    }
    with closing(apsw.Connection(str(path))) as connection:
        for migration in older:
            connection.execute(migration)
        connection.pragma("user_version", len(older))
        for number, (name, (at, state, failures, started, _)) in enumerate(units.items()):
            connection.execute(
                "INSERT INTO unit VALUES (NULL, ?, 'P', ?, 1, 'a', 'b', 0, 0, ?, ?,"
                " 1, ?, NULL, NULL, NULL, 0, ?, NULL, NULL, '', 0)",
                (name, f"20261121{number:02}", at, state, failures, started),
            )
    with closing(SqliteStore.open(path)) as store:
        found = {unit.id: unit.first_claimed_at for unit in store.units.get(list(units))}
    assert found == {name: instant_or_none(first) for name, (*_, first) in units.items()}


def test_a_migration_that_fails_leaves_the_file_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    SqliteStore.open(path).close()
    steps = [*schema.migrations(), "CREATE TABLE added (x); SELECT nonsense FROM nowhere"]
    with monkeypatch.context() as patch:
        patch.setattr(schema, "migrations", lambda: steps)
        patch.setattr(schema, "VERSION", len(steps))
        with pytest.raises(apsw.SQLError):
            SqliteStore.open(path)
    with closing(SqliteStore.open(path)) as store:
        assert store.status().schema == schema.VERSION


def _nothing(store: SqliteStore) -> str | None:
    return store.facts.set_default("opened", "yes")


def test_processes_that_open_a_new_store_together_all_find_it_whole(path: Path) -> None:
    found = in_processes(f"sqlite:{path}", _nothing, [(), (), ()])
    assert found == ["yes"] * 3


@pytest.mark.parametrize("content", [b"this is no database at all" * 100, os.urandom(8192)])
def test_a_file_that_is_no_store_is_refused_and_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(StorageUnavailable, match="damaged"):
        SqliteStore.open(path)
    assert path.read_bytes() == content


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageUnavailable, match="file"):
        SqliteStore.open(tmp_path / "file" / "synergy.db")
    (tmp_path / "folder.db").mkdir()
    with pytest.raises(StorageUnavailable, match=r"folder\.db"):
        SqliteStore.open(tmp_path / "folder.db")


def test_a_network_file_system_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filesystem, "_kind", lambda _: "nfs4")
    with pytest.raises(StorageUnavailable, match="nfs4"):
        SqliteStore.open(path)


def test_an_old_sqlite_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.51.2")
    with pytest.raises(StorageUnavailable, match=r"3\.51\.3"):
        SqliteStore.open(path)


def test_every_connection_has_the_settings_that_safety_rests_on(opened: SqliteStore) -> None:
    found = []

    def look() -> None:
        with opened._database.reading() as connection:
            names = ("journal_mode", "synchronous", "foreign_keys", "mmap_size")
            found.append([connection.pragma(name) for name in names])

    look()
    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert found == [["wal", 2, 1, 0]] * 2


# After a crash


def _write_some(store: SqliteStore) -> None:
    store.jobs.move([a_move()], NOW)


def damage(path: Path) -> None:
    """Overwrites the last pages of the file, as a failing disk might."""
    with path.open("r+b") as file:
        for page in range(1, 6):
            file.seek(-page * 4096, os.SEEK_END)
            file.write(b"\xde\xad" * 2048)


def crash(path: Path) -> None:
    """Leaves a store behind whose last process was killed, everything in the main file."""
    with closing(SqliteStore.open(path)) as store:
        store.units.create(some_units(300), "scheduler")
    with in_the_midst(f"sqlite:{path}", _write_some) as process:
        process.kill()
        process.join()
    assert Path(f"{path}-wal").stat().st_size > 0


def test_a_file_that_a_crash_left_damaged_is_found_out_at_once(path: Path) -> None:
    crash(path)
    damage(path)
    with pytest.raises(StorageUnavailable, match="damaged"):
        SqliteStore.open(path)


def test_only_the_first_to_open_after_a_crash_looks_for_damage(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = []
    monkeypatch.setattr(engine, "_check_file", lambda *_: looked.append(1))
    SqliteStore.open(path).close()
    SqliteStore.open(path).close()
    assert looked == [], "after a clean stop there is nothing to look for"
    crash(path)
    assert looked == []
    with closing(SqliteStore.open(path)):
        assert looked == [1]
        SqliteStore.open(path).close()
    SqliteStore.open(path).close()
    assert looked == [1]


def test_the_search_for_damage_ends_by_its_limit(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash(path)
    damage(path)
    monkeypatch.setattr(engine, "CHECK_LIMIT", -1.0)
    monkeypatch.setattr(engine, "CHECK_EVERY", 1)
    SqliteStore.open(path).close()


# A full disk


def fill(store: SqliteStore, pages: int) -> None:
    """Lets this thread's connection grow the file by so many pages only."""
    with store._database.reading() as connection:
        connection.pragma("max_page_count", int(str(connection.pragma("page_count"))) + pages)


def test_a_full_disk_is_told_and_forgotten_when_there_is_room_again(opened: SqliteStore) -> None:
    opened.facts.set("a", "1")
    fill(opened, 2)
    units = some_units(400)
    with pytest.raises(StorageUnavailable, match="no space is left"):
        opened.units.create(units, "scheduler")
    assert opened.facts.get("a") == "1"
    assert opened.units.unfinished() == []
    assert opened.journal.last_seq() == 0
    fill(opened, 10_000)
    assert opened.units.create(units, "scheduler") == units


def test_a_disk_that_fills_up_within_a_batch_undoes_all_of_it(opened: SqliteStore) -> None:
    """SQLite ends the transaction by itself then: nothing after it may be written alone."""
    fill(opened, 2)

    def go_on_regardless() -> None:
        with opened.batch():
            opened.facts.set("before", "1")
            with pytest.raises(StorageUnavailable, match="no space"):
                opened.units.create(some_units(400), "scheduler")
            opened.facts.set("after", "1")

    with pytest.raises(StorageUnavailable, match="undone"):
        go_on_regardless()
    assert (opened.facts.get("before"), opened.facts.get("after")) == (None, None)
    opened.facts.set("later", "1")


# Who writes next


def _write_in_a_row(store: SqliteStore, who: str, times: int) -> None:
    for _ in range(times):
        with store.batch():
            store.journal.append([an_entry(who=who)])
            store.units.create(some_units(20), who)


def test_nobody_writes_over_and_over_while_others_wait(opened: SqliteStore, path: Path) -> None:
    in_processes(f"sqlite:{path}", _write_in_a_row, [("a", 150), ("b", 150)])
    order = [entry.who for entry in opened.journal.since(0, 10_000) if not entry.process]
    ends = {who: len(order) - 1 - order[::-1].index(who) for who in "ab"}
    begin, end = max(order.index("a"), order.index("b")), min(ends.values())
    runs = [len(run.group()) for run in re.finditer(r"a+|b+", "".join(order[begin:end]))]
    assert end - begin > 100, "they wrote at the same time"
    assert max(runs) <= 30


def test_threads_that_have_ended_leave_no_more_files_open(opened: SqliteStore) -> None:
    def in_a_thread() -> int:
        thread = threading.Thread(target=opened.facts.set, args=("n", "1"))
        thread.start()
        thread.join()
        return len(os.listdir("/proc/self/fd"))

    after_the_first = in_a_thread()
    assert [in_a_thread() for _ in range(10)] == [after_the_first] * 10


def test_a_fork_leaves_the_parents_connections_alone(opened: SqliteStore) -> None:
    opened.facts.set("a", "1")
    with opened._database.reading() as parents:
        pass
    child = os.fork()
    if child == 0:
        status = 1
        try:
            opened.facts.set("b", str(opened.facts.get("a")))
            with opened._database.reading() as connection:
                status = int(connection is parents)
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert opened.facts.get("b") == "1"
    opened.facts.set("a", "2")


# Status and backup


def test_a_store_that_is_moved_away_is_not_made_anew_and_found_when_it_is_back(
    opened: SqliteStore, path: Path, tmp_path: Path
) -> None:
    opened.facts.set("timetable.start", "2026112000")
    away = tmp_path / "away"
    away.mkdir()
    with ThreadPoolExecutor(1) as thread:
        _move(tmp_path, away)
        with pytest.raises(StorageUnavailable):
            thread.submit(opened.facts.get, "timetable.start").result()
        assert not path.exists()
        _move(away, tmp_path)
        assert thread.submit(opened.facts.get, "timetable.start").result() == "2026112000"


def _move(folder: Path, target: Path) -> None:
    for name in ("synergy.db", "synergy.db-wal", "synergy.db-shm"):
        (folder / name).rename(target / name)


def test_the_status_says_what_is_where(opened: SqliteStore, path: Path) -> None:
    opened.units.create([a_unit()], "scheduler")
    opened.documents.update("c", [("k", HOUR)], lambda *_: {})
    status = opened.status()
    assert (status.engine, status.location, status.schema) == (
        "sqlite",
        str(path),
        schema.VERSION,
    )
    assert status.size_bytes > 4096
    assert (status.rows["unit"], status.rows["journal"], status.rows["document"]) == (1, 1, 1)


def test_a_backup_is_a_store_and_tells_how_far_it_is(opened: SqliteStore, tmp_path: Path) -> None:
    opened.units.create(some_units(3_000), "scheduler")
    steps: list[tuple[int, int]] = []
    opened.backup(tmp_path / "copy.db", lambda done, total: steps.append((done, total)))
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)
    assert steps[-1][0] == steps[-1][1] > 0
    with closing(SqliteStore.open(tmp_path / "copy.db", create=False)) as copy:
        assert copy.units.unfinished() == opened.units.unfinished()
    assert not (tmp_path / "copy.db.partial").exists()


def test_a_backup_is_of_one_instant_though_others_write_meanwhile(
    opened: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_STEP", 1)
    opened.units.create(some_units(50), "scheduler")
    steps = []

    def write(done: int, _total: int) -> None:
        steps.append(done)
        opened.facts.set("n", str(len(steps)))

    opened.backup(tmp_path / "copy.db", write)
    assert steps == list(range(1, len(steps) + 1)), "it never starts again"
    with closing(SqliteStore.open(tmp_path / "copy.db")) as copy:
        assert copy.facts.get("n") is None
        assert len(copy.units.unfinished()) == 50


def test_a_backup_never_overwrites(opened: SqliteStore, tmp_path: Path) -> None:
    (tmp_path / "copy.db").write_text("mine")
    with pytest.raises(Refused, match="there already"):
        opened.backup(tmp_path / "copy.db")
    with pytest.raises(StorageUnavailable, match="nowhere"):
        opened.backup(tmp_path / "nowhere" / "copy.db")
    assert (tmp_path / "copy.db").read_text() == "mine"


def test_a_store_in_memory_can_be_saved(tmp_path: Path) -> None:
    with closing(SqliteStore.open(":memory:")) as store:
        store.facts.set("a", "1")
        store.backup(tmp_path / "copy.db")
    with closing(SqliteStore.open(tmp_path / "copy.db")) as copy:
        assert copy.facts.get("a") == "1"
