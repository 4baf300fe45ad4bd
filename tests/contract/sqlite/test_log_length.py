"""The write-ahead log stays short, whatever readers do."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest

from synergy.storage.sqlite import SqliteStore, write_ahead_log

PAGE = 4_096


@pytest.fixture(autouse=True)
def short_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_ahead_log, "CHECKPOINT_PAGES", 20)
    monkeypatch.setattr(write_ahead_log, "RESTART_PAGES", 80)


def test_readers_that_overlap_all_the_time_do_not_let_the_log_grow(path: Path) -> None:
    with closing(SqliteStore.open(path)) as store, overlapping_readers(path):
        pages = max(pages_after_a_write(store, path) for _ in range(300))
    assert pages < 80 + 20 * 10


def test_a_log_that_one_long_reader_made_long_is_truncated_after_it(path: Path) -> None:
    limit = (16 << 20) // PAGE
    with closing(SqliteStore.open(path)) as store:
        with closing(apsw.Connection(str(path))) as reader:
            reader.execute("BEGIN; SELECT count(*) FROM fact").fetchall()
            while pages_after_a_write(store, path, 250) < 2 * limit:
                pass
        after = [pages_after_a_write(store, path) for _ in range(3)]
    assert after[-1] <= limit + 1


def pages_after_a_write(store: SqliteStore, path: Path, pages: int = 4) -> int:
    store.facts.set("long", secrets.token_hex(pages * PAGE // 2))
    return Path(f"{path}-wal").stat().st_size // PAGE


@contextmanager
def overlapping_readers(path: Path) -> Iterator[None]:
    """Two readers, of which one at least reads the newest state at any time."""
    ended = threading.Event()
    turns = [threading.Semaphore(1), threading.Semaphore(0)]

    def read(own: threading.Semaphore, other: threading.Semaphore) -> None:
        with closing(apsw.Connection(str(path))) as connection:
            while not ended.is_set():
                own.acquire()
                connection.execute("BEGIN; SELECT count(*) FROM fact").fetchall()
                other.release()  # the other one begins before this one ends
                own.acquire()
                connection.execute("ROLLBACK")
                other.release()
        other.release(1_000)  # a waiting reader looks at `ended`

    threads = [threading.Thread(target=read, args=turn) for turn in (turns, turns[::-1])]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()
