"""Opening a connection to the file with the settings that the store needs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw

from synergy.errors import StorageUnavailable
from synergy.storage.sqlite.write_ahead_log import CHECKPOINT_PAGES
from synergy.storage.sqlite.writer_gate import Patience

_FULL = 2  # how SQLite reports synchronous=FULL
_STATEMENTS = 256  # prepared statements that a connection keeps
_PRAGMAS: dict[str, int | str] = {
    "foreign_keys": "on",
    "mmap_size": 0,
    "temp_store": "memory",
    "cache_size": -8_000,  # KiB
    "wal_autocheckpoint": CHECKPOINT_PAGES,
    "journal_size_limit": 16 << 20,  # bytes; a log that a long write made larger is truncated
}


def open_connection(path: Path | None, *, creates: bool = False) -> apsw.Connection:
    """A connection to the file at `path`, or to a new store in memory if it is None.

    Without `creates`, a missing file is an error: a new, empty store could otherwise replace one
    that is missing only for a moment.
    """
    flags = apsw.SQLITE_OPEN_READWRITE
    if creates or path is None:
        flags |= apsw.SQLITE_OPEN_CREATE
    connection = apsw.Connection(str(path or ":memory:"), flags, statementcachesize=_STATEMENTS)
    return _configured(connection)


def stepping(patience: Patience) -> Callable[[int], bool]:
    """The handler that SQLite calls while it waits for a lock.

    It refers to the patience only: a reference to the session would be a cycle through the
    connection and keep the session alive after its thread has ended.
    """
    return lambda _calls: patience.step()


def _configured(connection: apsw.Connection) -> apsw.Connection:
    connection.set_busy_handler(stepping(Patience()))
    mode = connection.pragma("journal_mode", "wal")
    if mode not in ("wal", "memory"):
        raise StorageUnavailable(f"the store cannot be put into WAL mode, only into {mode}")
    connection.pragma("synchronous", "full")
    if connection.pragma("synchronous") != _FULL:
        raise StorageUnavailable("the store cannot be made to survive a power loss")
    for name, value in _PRAGMAS.items():
        connection.pragma(name, value)
    return connection
