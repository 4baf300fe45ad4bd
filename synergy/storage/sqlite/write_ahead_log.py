"""Keeps the write-ahead log of the file short.

SQLite starts the log again at its beginning only when no reader needs it. Where readers overlap all
the time, that moment never comes by itself, and the log grows without end.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import apsw

CHECKPOINT_PAGES = 2_000  # from this length on, commits copy the log into the file
RESTART_PAGES = 4_000  # from this length on, a writer waits for readers and truncates the log
READERS_WAIT = 100  # milliseconds of that wait; a longer reader is waited for later


class LogLimit:
    """Called after each commit of a connection with the length of the log in pages."""

    __slots__ = ("_next", "_waits_for_locks")

    def __init__(self, waits_for_locks: Callable[[int], bool]) -> None:
        self._waits_for_locks = waits_for_locks  # the busy handler of the connection
        self._next = RESTART_PAGES

    def __call__(self, connection: apsw.Connection, name: str, pages: int) -> int:
        if pages < CHECKPOINT_PAGES:
            self._next = RESTART_PAGES
        elif pages < self._next:
            with suppress(apsw.Error):  # the next commit tries it again
                connection.wal_checkpoint(name, apsw.SQLITE_CHECKPOINT_PASSIVE)
        else:
            self._next = pages + CHECKPOINT_PAGES
            self._truncate(connection, name)
        return apsw.SQLITE_OK

    def _truncate(self, connection: apsw.Connection, name: str) -> None:
        connection.set_busy_timeout(READERS_WAIT)
        try:
            with suppress(apsw.Error):
                connection.wal_checkpoint(name, apsw.SQLITE_CHECKPOINT_TRUNCATE)
        finally:
            connection.set_busy_handler(self._waits_for_locks)
