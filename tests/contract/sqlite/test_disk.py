"""Crashes, full disks and writers in line."""

from __future__ import annotations

import os
import threading
from contextlib import closing
from pathlib import Path

import pytest

from synergy.errors import StorageUnavailable
from synergy.storage.sqlite import SqliteStore, engine, gate
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
    """Leaves a store behind whose last process was killed, everything in the main file."""
    with closing(SqliteStore.open(path)) as store:
        store.units.create(some_units(300), "scheduler")
    with paused_in_batch(f"sqlite:{path}", _write_some) as process:
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


def test_a_full_disk_is_an_error_until_there_is_room_again(opened: SqliteStore) -> None:
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


def test_a_writer_that_waits_writes_before_the_one_that_has_just_written(
    opened: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits, step = threading.Event(), gate.Patience.step

    def noted_step(self: gate.Patience) -> bool:
        waits.set()
        return step(self)

    monkeypatch.setattr(gate.Patience, "step", noted_step)
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
