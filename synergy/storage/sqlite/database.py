"""Connections and transactions, which all parts of the store use.

Each thread has its own connection to the file, so that readers never wait. A writer passes the gate
and takes SQLite's write lock at the beginning of its transaction, never later. A store in memory
has one connection, which threads use in turns.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from pathlib import Path
from weakref import WeakSet

import apsw

from synergy.errors import StorageUnavailable
from synergy.storage.after_commit import call_all
from synergy.storage.malformed import MalformedRows
from synergy.storage.sqlite.columns import Bindings, Row, fetch, fetch_one, place
from synergy.storage.sqlite.connection import open_connection, stepping, writes_at_close
from synergy.storage.sqlite.damage import DamageMark
from synergy.storage.sqlite.faults import Translating
from synergy.storage.sqlite.queries import queries
from synergy.storage.sqlite.write_ahead_log import LogLimit
from synergy.storage.sqlite.writer_gate import Gate, Patience

OLDEST_SQLITE = (3, 51, 3)  # before it, several writers in WAL mode may corrupt the file

_SQL = queries("engine")


class Session:
    """A connection with its open batch; implements `synergy.storage.protocol.Batch`."""

    __slots__ = (
        "__weakref__",
        "_after",
        "_undo",
        "connection",
        "failed",
        "gate",
        "patience",
        "writing",
    )

    def __init__(self, connection: apsw.Connection, gate: Gate | None) -> None:
        self.connection = connection
        self.gate = gate
        self.patience = Patience()
        waits = stepping(self.patience)
        connection.set_busy_handler(waits)
        connection.set_wal_hook(LogLimit(waits))
        self.writing = False
        self.failed = False
        self._after: list[Callable[[], None]] = []
        self._undo: list[Callable[[], object]] = []

    def after_commit(self, act: Callable[[], None]) -> None:
        self._after.append(act)

    def after_failure(self, act: Callable[[], object]) -> None:
        self._undo.append(act)

    def begin(self) -> None:
        self.patience.renew()
        if self.gate is None:
            self.connection.execute(_SQL["begin"])
        else:
            self.gate.enter(self.patience)
            try:
                self.connection.execute(_SQL["begin"])
            finally:
                self.gate.leave()
        self.writing, self.failed = True, False

    def commit(self) -> list[Callable[[], None]]:
        """Makes the batch durable; returns the functions to call after it."""
        self.check()
        self.connection.execute(_SQL["commit"])
        after, self._after = self._after, []
        self._undo.clear()
        self.writing = False
        return after

    def rollback(self) -> None:
        """Undoes the batch. Does not raise, because that would hide the error that caused it."""
        self._after.clear()
        undo, self._undo = self._undo, []
        self.writing = False
        with suppress(apsw.Error):
            if self.connection.in_transaction:
                self.connection.execute(_SQL["rollback"])
        for act in undo:
            act()

    def check(self) -> None:
        """Raises StorageUnavailable if a write within the batch failed.

        SQLite may have undone the batch already. Later writes must not be committed without the
        earlier ones.
        """
        if self.failed or not self.connection.in_transaction:
            raise StorageUnavailable("a write within the batch failed, so all of it is undone")

    def close(self) -> None:
        self.connection.close()
        if self.gate is not None:
            self.gate.close()


class Database:
    """The file at `path`, or a store in memory if it is None, for all threads of this process."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.place = str(path) if path else "the store in memory"
        self._pid = os.getpid()
        self._closed = False
        self.mark = DamageMark(path) if path else None
        self._translating = Translating(self.place, self.mark)
        self._turn: AbstractContextManager[object] = nullcontext() if path else threading.RLock()
        self._sessions: WeakSet[Session] = WeakSet()
        self.malformed = MalformedRows()
        self._own = threading.local()
        self._shared = None if path else self._connect()
        self._inherited: list[threading.local] = []

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """The connection of this thread, which sees the writes of its open batch."""
        if self.mark is not None:
            self.mark.refuse_reader()
        with self._turn, self._translating:
            session = self._session()
            session.patience.renew()
            yield session.connection

    @contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """The connection of this thread, within its open batch or else a new transaction."""
        with self.batch() as session, self._translating:
            yield session.connection

    def fetch(self, query: str, bindings: Bindings = ()) -> list[Row]:
        """All rows of a query that only reads."""
        with self.reading() as connection:
            try:
                return fetch(connection, query, bindings)
            except UnicodeDecodeError:  # of one row at least: the others are read
                return list(_decodable(connection, query, bindings))

    def fetch_one(self, query: str, bindings: Bindings = ()) -> Row | None:
        """The only row of a query that only reads, if there is one."""
        with self.reading() as connection:
            return fetch_one(connection, query, bindings)

    def page(
        self, query: str, limit: int, cursor: str | None, **bindings: str | int | None
    ) -> tuple[list[Row], str | None]:
        """Rows, newest first, whose first column is a number, and the next page's cursor."""
        rows = self.fetch(query, {**bindings, "cursor": place(cursor), "limit": limit + 1})
        found = rows[:limit]
        return found, str(found[-1][0]) if len(rows) > limit and found else None

    def execute(self, statement: str, bindings: Bindings = ()) -> int:
        """Executes a statement that writes; returns the number of changed rows."""
        with self.writing() as connection:
            connection.execute(statement, bindings)
            return connection.changes()

    def execute_one(self, statement: str, bindings: Bindings = ()) -> Row | None:
        """Executes a statement that writes; returns the only row that it returns, if any."""
        with self.writing() as connection:
            return fetch_one(connection, statement, bindings)

    @contextmanager
    def batch(self) -> Iterator[Session]:
        """A transaction, or a part of the open transaction of this thread."""
        after: list[Callable[[], None]] = []
        with self._turn:
            with self._translating:
                session = self._session()
            if session.writing:
                with _part(session):
                    yield session
                return
            if self.mark is not None and self.mark.exists():
                self.mark.refuse()
            with self._translating:
                session.begin()
            try:
                yield session
                with self._translating:
                    after = session.commit()
            except BaseException:
                session.rollback()
                self._drop_if_read_only(session)
                raise
        call_all(after)

    @contextmanager
    def on_its_own(self, *, creates: bool = False) -> Iterator[apsw.Connection]:
        """A new connection, closed at the end; with `creates`, makes a missing file."""
        with self._translating:
            connection = open_connection(self.path, creates=creates)
            with closing(connection):
                yield connection

    @contextmanager
    def snapshot(self) -> Iterator[apsw.Connection]:
        """A connection that sees one state of the store, without the writes made meanwhile."""
        if self.path is None:
            with self.reading() as connection:
                yield connection
            return
        with self.on_its_own() as connection:
            connection.execute(_SQL["begin_reading"])
            connection.execute(_SQL["touch"]).fetchall()
            yield connection

    def close(self) -> None:
        """Closes the connections of all threads; any later use raises StorageUnavailable."""
        self._closed = True
        is_sound = self.mark is None or not self.mark.exists()
        with self._turn:
            for session in list(self._sessions):
                writes_at_close(session.connection, allowed=is_sound)
                session.close()
            self._sessions.clear()

    def _session(self) -> Session:
        if self._closed:
            raise StorageUnavailable(f"{self.place} was closed")
        if self._shared is not None:
            return self._shared
        if self._pid != os.getpid():
            self._leave_behind()
        found: Session | None = getattr(self._own, "session", None)
        if found is None:
            found = self._own.session = self._connect()
        return found

    def _connect(self) -> Session:
        gate = Gate(self.path) if self.path else None
        with self._translating:
            session = Session(open_connection(self.path), gate)
        self._sessions.add(session)
        return session

    def _drop_if_read_only(self, session: Session) -> None:
        """Closes a connection that can only read, so that the next call opens another one.

        SQLite opens a file for reading, without an error, while the file may not be written.
        """
        with suppress(apsw.Error):
            if session.connection.readonly("main"):
                self._own.session = None
                self._sessions.discard(session)
                session.close()

    def _leave_behind(self) -> None:
        """Drops the connections of the parent after a fork, without using or closing them."""
        self._inherited.append(self._own)
        self._own, self._sessions, self._pid = threading.local(), WeakSet(), os.getpid()


def _decodable(connection: apsw.Connection, query: str, bindings: Bindings) -> Iterator[Row]:
    """The rows of a query without those that hold a text that is not UTF-8."""
    rows = connection.execute(query, bindings)
    while True:
        try:
            yield next(rows)
        except UnicodeDecodeError:
            continue
        except StopIteration:
            return


@contextmanager
def _part(session: Session) -> Iterator[None]:
    """A batch within a batch: if it fails, the whole batch fails."""
    session.check()
    try:
        yield
    except BaseException:
        session.failed = True
        raise
