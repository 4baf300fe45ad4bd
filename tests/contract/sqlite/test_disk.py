"""Crashes, full disks and concurrent writers."""

from __future__ import annotations

import os
import threading
from contextlib import closing
from pathlib import Path

import pytest

from synergy.errors import StorageUnavailable
from synergy.storage.sqlite import SqliteStore, engine, writer_gate
from synergy.storage.sqlite import damage as damage_check
from tests.contract.concurrency import paused_in_batch
from tests.factories import NOW, a_move, an_entry, some_units

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
    """Creates a store whose last process was killed, with its units in the main file."""
    with closing(SqliteStore.open(path)) as store:
        store.units.create(some_units(300), "scheduler")
    with paused_in_batch(f"sqlite:{path}", _write_some) as process:
        process.kill()
        process.join()
    assert Path(f"{path}-wal").stat().st_size > 0


def test_damage_after_a_crash_is_detected_when_the_file_is_opened(path: Path) -> None:
    crash(path)
    damage(path)
    with pytest.raises(StorageUnavailable, match="damaged"):
        SqliteStore.open(path)


def test_the_first_opening_of_a_file_checks_it_for_damage(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks: list[int] = []
    monkeypatch.setattr(engine, "quick_check", lambda *_: checks.append(1))
    crash(path)
    checks.clear()
    with closing(SqliteStore.open(path)):
        assert checks == [1]
        SqliteStore.open(path).close()
    assert checks == [1], "a store in use is not checked again"
    SqliteStore.open(path).close()
    assert checks == [1, 1]


def test_the_check_for_damage_stops_at_its_time_limit(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash(path)
    damage(path)
    monkeypatch.setattr(engine, "CHECK_LIMIT", -1.0)
    monkeypatch.setattr(damage_check, "CHECK_EVERY", 1)
    SqliteStore.open(path).close()


# A full disk


def limit_growth(store: SqliteStore, pages: int) -> None:
    """Lets this thread's connection grow the file by at most `pages`."""
    with store._database.reading() as connection:
        connection.pragma("max_page_count", int(str(connection.pragma("page_count"))) + pages)


def test_a_full_disk_is_an_error_until_space_is_free_again(opened: SqliteStore) -> None:
    opened.facts.set("a", "1")
    limit_growth(opened, 2)
    units = some_units(400)
    with pytest.raises(StorageUnavailable, match="no space is left"):
        opened.units.create(units, "scheduler")
    assert opened.facts.get("a") == "1"
    assert opened.units.unfinished() == []
    assert opened.journal.last_seq() == 0
    limit_growth(opened, 10_000)
    assert opened.units.create(units, "scheduler") == units


def test_a_disk_that_fills_up_during_a_batch_undoes_the_whole_batch(opened: SqliteStore) -> None:
    """SQLite ends the transaction by itself then; later writes of the batch must not succeed."""
    limit_growth(opened, 2)

    def write_after_a_failure() -> None:
        with opened.batch():
            opened.facts.set("before", "1")
            with pytest.raises(StorageUnavailable, match="no space"):
                opened.units.create(some_units(400), "scheduler")
            opened.facts.set("after", "1")

    with pytest.raises(StorageUnavailable, match="undone"):
        write_after_a_failure()
    assert (opened.facts.get("before"), opened.facts.get("after")) == (None, None)
    opened.facts.set("later", "1")


# Concurrent writers and forks


def test_a_writer_that_waits_writes_before_the_one_that_has_just_written(
    opened: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits, step = threading.Event(), writer_gate.Patience.step

    def noted_step(self: writer_gate.Patience) -> bool:
        waits.set()
        return step(self)

    monkeypatch.setattr(writer_gate.Patience, "step", noted_step)
    with closing(SqliteStore.open(path)) as other:
        for _ in range(20):
            waiting = threading.Thread(target=other.journal.append, args=([an_entry(who="b")],))
            with opened.batch():
                opened.journal.append([an_entry(who="a")])
                waits.clear()
                waiting.start()
                assert waits.wait(60)
            opened.journal.append([an_entry(who="c")])
            waiting.join(60)
    assert [entry.who for entry in opened.journal.since(0, 100)] == ["a", "b", "c"] * 20


def test_ended_threads_leave_no_files_open(opened: SqliteStore) -> None:
    def in_a_thread() -> int:
        thread = threading.Thread(target=opened.facts.set, args=("n", "1"))
        thread.start()
        thread.join()
        return len(os.listdir("/proc/self/fd"))

    after_the_first = in_a_thread()
    assert [in_a_thread() for _ in range(10)] == [after_the_first] * 10


def test_a_forked_process_opens_its_own_connections(opened: SqliteStore) -> None:
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
