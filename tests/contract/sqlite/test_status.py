"""Moved stores, their status, and backups."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from synergy.errors import Refused, StorageUnavailable
from synergy.storage.sqlite import SqliteStore, backup, upgrade
from tests.factories import HOUR, a_unit, some_units


def test_a_moved_store_is_not_created_again_and_works_once_it_is_back(
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


def test_the_status_shows_engine_location_size_and_rows(opened: SqliteStore, path: Path) -> None:
    opened.units.create([a_unit()], "scheduler")
    opened.documents.update("c", [("k", HOUR)], lambda *_: {})
    status = opened.status()
    assert (status.engine, status.location, status.schema) == (
        "sqlite",
        str(path),
        upgrade.VERSION,
    )
    assert status.size_bytes > 4096
    assert (status.rows["unit"], status.rows["journal"], status.rows["document"]) == (1, 1, 1)


def test_a_backup_is_a_complete_store_and_reports_progress(
    opened: SqliteStore, tmp_path: Path
) -> None:
    opened.units.create(some_units(3_000), "scheduler")
    steps: list[tuple[int, int]] = []
    opened.backup(tmp_path / "copy.db", lambda done, total: steps.append((done, total)))
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)
    assert steps[-1][0] == steps[-1][1] > 0
    with closing(SqliteStore.open(tmp_path / "copy.db", create=False)) as copy:
        assert copy.units.unfinished() == opened.units.unfinished()
    assert not (tmp_path / "copy.db.partial").exists()


def test_a_backup_is_a_snapshot_despite_concurrent_writes(
    opened: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "_STEP", 1)
    opened.units.create(some_units(50), "scheduler")
    steps = []

    def write(done: int, _total: int) -> None:
        steps.append(done)
        opened.facts.set("n", str(len(steps)))

    opened.backup(tmp_path / "copy.db", write)
    assert steps == list(range(1, len(steps) + 1)), "the backup never restarts"
    with closing(SqliteStore.open(tmp_path / "copy.db")) as copy:
        assert copy.facts.get("n") is None
        assert len(copy.units.unfinished()) == 50


def test_a_backup_never_overwrites_a_file(opened: SqliteStore, tmp_path: Path) -> None:
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
