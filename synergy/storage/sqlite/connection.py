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


def open_read_only(path: Path) -> apsw.Connection:
    """A connection that can only read; it opens a file on a disk that is read-only, too."""
    try:
        connection = apsw.Connection(str(path), apsw.SQLITE_OPEN_READONLY)
        connection.set_busy_handler(stepping(Patience()))
        connection.pragma("schema_version")
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        connection = apsw.Connection(f"{path.absolute().as_uri()}?immutable=1", flags)
    return connection


def stepping(patience: Patience) -> Callable[[int], bool]:
    """The handler that SQLite calls while it waits for a lock.

    It refers to the patience only: a reference to the session would be a cycle through the
    connection and keep the session alive after its thread has ended.
    """
    return lambda _calls: patience.step()


def writes_at_close(connection: apsw.Connection, *, allowed: bool) -> None:
    """Whether the last connection moves its log into the file when it is closed.

    Only an orderly end allows it, because a file that was found damaged is not to be written to.
    """
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, int(not allowed))


def _configured(connection: apsw.Connection) -> apsw.Connection:
    connection.set_busy_handler(stepping(Patience()))
    writes_at_close(connection, allowed=False)
    mode = connection.pragma("journal_mode", "wal")
    if mode not in ("wal", "memory"):
        raise StorageUnavailable(f"the store cannot be put into WAL mode, only into {mode}")
    connection.pragma("synchronous", "full")
    if connection.pragma("synchronous") != _FULL:
        raise StorageUnavailable("the store cannot be made to survive a power loss")
    for name, value in _PRAGMAS.items():
        connection.pragma(name, value)
    return connection
