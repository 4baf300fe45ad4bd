"""Opening a SQLite file creates, migrates or refuses it."""

from __future__ import annotations

import os
import threading
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import apsw
import pytest

from synergy.errors import StorageUnavailable
from synergy.model.unit_of_work import Hint
from synergy.storage.instants import instant, micros
from synergy.storage.sqlite import SqliteStore, filesystem, upgrade
from synergy.storage.sqlite.database import Database
from synergy.storage.sqlite.writer_gate import Gate, Patience
from tests.contract.concurrency import in_processes
from tests.factories import NOW


def test_a_store_is_created_with_its_folders_and_found_again(path: Path) -> None:
    with closing(SqliteStore.open(path / "deep" / "down.db")) as store:
        store.facts.set("a", "1")
    with closing(SqliteStore.open(path / "deep" / "down.db", create=False)) as store:
        assert store.facts.get("a") == "1"


def test_opening_without_create_creates_nothing(path: Path) -> None:
    with pytest.raises(StorageUnavailable, match="no store at"):
        SqliteStore.open(path, create=False)
    assert list(path.parent.iterdir()) == []


def test_a_creation_that_fails_leaves_no_file_that_counts_as_damaged(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, creates: bool = False) -> None:
        raise StorageUnavailable("no space is left")

    with monkeypatch.context() as patch:
        patch.setattr(Database, "on_its_own", full)  # the first write would be made there
        with pytest.raises(StorageUnavailable, match="no space is left"):
            SqliteStore.open(path)
    with closing(SqliteStore.open(path)) as store:
        store.facts.set("a", "1")


def test_a_newer_schema_is_refused_and_left_alone(opened: SqliteStore, path: Path) -> None:
    opened.close()
    with closing(apsw.Connection(str(path))) as connection:
        connection.pragma("user_version", upgrade.VERSION + 1)
    with pytest.raises(StorageUnavailable, match="newer Synergy"):
        SqliteStore.open(path)
    with closing(apsw.Connection(str(path))) as connection:
        assert connection.pragma("user_version") == upgrade.VERSION + 1


def test_an_older_schema_is_migrated(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SqliteStore.open(path).close()
    steps = [*upgrade.migrations(), "CREATE TABLE added (x)", "INSERT INTO added VALUES (1)"]
    monkeypatch.setattr(upgrade, "migrations", lambda: steps)
    monkeypatch.setattr(upgrade, "VERSION", len(steps))
    for _ in range(2):
        with closing(SqliteStore.open(path)) as store:
            assert store.status().schema == len(steps)
    with closing(apsw.Connection(str(path))) as connection:
        assert connection.execute("SELECT x FROM added").fetchall() == [(1,)]


def test_a_file_of_the_first_schema_keeps_its_units(path: Path) -> None:
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute(upgrade.migrations()[0])
        connection.pragma("user_version", 1)
        for number in (1, 2):
            columns = (str(number), "P", "2026112110", 1, "a", "b", number, 0, 0, 2 - number)
            connection.execute(
                "INSERT INTO unit VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
                " 1, 0, NULL, NULL, NULL, 0, NULL, NULL, NULL, '', 0)",
                columns,
            )
    with closing(SqliteStore.open(path)) as store:
        assert store.status().schema == upgrade.VERSION
        assert [unit.state.value for unit in store.units.unfinished()] == [
            "in_progress",
            "requested",
        ]
        assert store.units.claim([Hint("2", 1)], "worker", NOW) == []  # the first is in progress
        assert (store.schedules.count(), store.events.last_seq()) == (0, 0)
        assert store.operations.find() == ([], None)


def test_the_migration_derives_the_first_claim_of_each_unit(path: Path) -> None:
    before = (Path(upgrade.__file__).parent / "sql/migrations/004_first_claims.sql").read_text()
    older = upgrade.migrations()[: upgrade.migrations().index(before)]
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
    assert found == {name: first and instant(first) for name, (*_, first) in units.items()}


def test_a_failed_migration_leaves_the_file_unchanged(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    SqliteStore.open(path).close()
    steps = [*upgrade.migrations(), "CREATE TABLE added (x); SELECT nonsense FROM nowhere"]
    with monkeypatch.context() as patch:
        patch.setattr(upgrade, "migrations", lambda: steps)
        patch.setattr(upgrade, "VERSION", len(steps))
        with pytest.raises(apsw.SQLError):
            SqliteStore.open(path)
    with closing(SqliteStore.open(path)) as store:
        assert store.status().schema == upgrade.VERSION


def _open_and_set(store: SqliteStore) -> str | None:
    return store.facts.set_default("opened", "yes")


def test_processes_that_create_a_store_together_all_find_it_complete(path: Path) -> None:
    found = in_processes(f"sqlite:{path}", _open_and_set, [(), (), ()])
    assert found == ["yes"] * 3


@pytest.mark.parametrize("content", [b"this is no database at all" * 100, os.urandom(8192)])
def test_a_file_that_is_not_a_store_is_refused_and_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(StorageUnavailable, match="damaged"):
        SqliteStore.open(path)
    assert path.read_bytes() == content


def test_an_unusable_path_is_an_error_that_names_it(tmp_path: Path) -> None:
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


def test_an_old_version_of_sqlite_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.51.2")
    with pytest.raises(StorageUnavailable, match=r"3\.51\.3"):
        SqliteStore.open(path)


def test_every_connection_has_the_settings_for_durability(opened: SqliteStore) -> None:
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


def test_a_connection_that_can_only_read_is_replaced_after_a_refused_write(
    opened: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite opens a write-protected file for reading, without an error."""
    found: list[str | None] = []

    def use() -> None:
        with monkeypatch.context() as protected:
            protected.setattr(apsw, "SQLITE_OPEN_READWRITE", apsw.SQLITE_OPEN_READONLY)
            found.append(opened.facts.get("a"))
            with pytest.raises(StorageUnavailable, match="may only be read"):
                opened.facts.set("a", "2")
            found.append(opened.facts.get("a"))
        with pytest.raises(StorageUnavailable, match="may only be read"):
            opened.facts.set("a", "3")
        opened.facts.set("a", "4")

    opened.facts.set("a", "1")
    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert (found, opened.facts.get("a")) == (["1", "1"], "4")


def test_a_store_is_opened_and_read_while_a_writer_is_stuck(path: Path) -> None:
    with closing(SqliteStore.open(path)) as store:
        store.facts.set("a", "1")
    with closing(apsw.Connection(str(path))) as writer, closing(Gate(path)) as gate:
        writer.execute("BEGIN IMMEDIATE")
        gate.enter(Patience())
        with closing(SqliteStore.open(path, create=False)) as store:
            assert store.facts.get("a") == "1"
            assert store.facts.set_default("a", "2") == "1"
            assert store.status().rows["unit"] == 0
