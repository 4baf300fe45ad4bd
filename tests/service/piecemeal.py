"""A store without atomic batches, and actors that can be stopped between any two writes.

The store uses SQLite, but behaves like an engine without transactions: each write is a commit of
its own, the jobs or units of a group are written one after the other, and the journal entries of a
change are written later. At any call of the store an actor may be paused while others go on, may be
killed, or may find the store or the bus unavailable.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import groupby

from synergy.errors import MessagingUnavailable
from synergy.messaging.stored import StoredBus
from synergy.storage.sqlite.engine import SqliteStore

READS = frozenset(
    {"all", "bounds", "bounds_by_timeperiod", "changed_since", "counts", "depths", "find", "get"}
    | {"last_seq", "load", "newest", "observed", "of_job", "of_jobs", "read", "since", "unfinished"}
)
# Methods of units that take a list and return a list: their items are written one by one.
WRITTEN_SINGLY = frozenset(["create", "claim", "give_back", "conclude", "move", "heartbeat"])
JOURNALED_LATER = frozenset(["jobs", "units"])  # nouns whose journal entries are written later

Pause = Callable[[bool], None]


class Died(BaseException):
    """Ends the thread of a killed actor."""


class Actor:
    """A thread that runs only while it is resumed, from one pause to the next."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._go, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._error: BaseException | None = None
        self._dead = False
        self.is_done = False
        self._thread = threading.Thread(target=self._run, args=(act,), daemon=True)
        self._thread.actor = self
        self._thread.start()

    def resume(self) -> None:
        self._go.release()
        self._back.acquire()
        if self.is_done:
            self._thread.join()
        if self._error is not None:
            raise self._error

    def kill(self) -> None:
        """Ends the actor at its present pause; it writes nothing more."""
        self._dead = True
        while not self.is_done:
            self.resume()

    def pause(self) -> None:
        """Waits until the actor is resumed; called by its own thread."""
        if not self._dead:
            self._back.release()
            self._go.acquire()
        if self._dead:
            raise Died

    @staticmethod
    def current() -> Actor | None:
        return getattr(threading.current_thread(), "actor", None)

    def _run(self, act: Callable[[], object]) -> None:
        self._go.acquire()
        try:
            if not self._dead:
                act()
        except Died:
            pass
        except BaseException as error:  # noqa: BLE001 - raised by `resume`
            self._error = error
        self.is_done = True
        self._back.release()


class _Noun:
    """One noun of the store, such as `units`; an actor may pause before each call."""

    def __init__(self, store: PiecemealStore, name: str, real: object) -> None:
        self._store, self._name, self._real = store, name, real

    def __getattr__(self, method: str) -> object:
        real = getattr(self._real, method)
        if method in READS:
            return partial(self._read, real)
        if self._name == "units" and method in WRITTEN_SINGLY:
            return partial(self._each, real)
        if (self._name, method) == ("jobs", "move"):
            return partial(self._by_process, real)
        return partial(self._write, real)

    def _read(self, real, *arguments, **named):
        self._store.pause(False)
        return real(*arguments, **named)

    def _write(self, real, *arguments):
        self._store.pause(True)
        if self._name not in JOURNALED_LATER:
            return real(*arguments)
        with self._store.journaled_later():
            answer = real(*arguments)
        self._store.journal_pending()
        return answer

    def _each(self, real, items, *arguments):
        return [one for item in items for one in self._write(real, [item], *arguments)]

    def _by_process(self, real, moves, now):
        """Moves the jobs of one process together, after the entries of its older moves."""
        refused = []
        for process, some in groupby(moves, key=lambda move: move.process):
            self._store.journal_moves_of(process)
            refused += self._write(real, list(some), now)
        return refused


class PiecemealStore:
    """See `synergy.storage.protocol.Store`."""

    def __init__(self, pause: Pause) -> None:
        self._store = SqliteStore.open(":memory:")
        self._own = threading.local()
        self.pause = pause
        for name in ("jobs", "units", "documents", "journal", "controls", "leases", "boxes",
                     "facts", "logs", "messages"):  # fmt: skip
            setattr(self, name, _Noun(self, name, getattr(self._store, name)))

    @contextmanager
    def batch(self) -> Iterator[PiecemealStore]:
        if getattr(self._own, "acts", None) is not None:
            yield self
            return
        self._own.acts = acts = []
        try:
            yield self
        finally:
            self._own.acts = None
        for act in acts:
            self.pause(True)
            act()

    def after_commit(self, act: Callable[[], None]) -> None:
        self._own.acts.append(act)

    # A pending journal entry has a negative number until it is written

    @contextmanager
    def journaled_later(self) -> Iterator[None]:
        before = self._store.journal.last_seq()
        self._own.pending = []
        yield
        found = self._store.journal.since(before, 10_000)
        self._sql("UPDATE journal SET seq = -seq WHERE seq > ?", (before,))
        self._own.pending = [-entry.seq for entry in found]

    def journal_pending(self) -> None:
        """Writes the pending entries of this thread's last change."""
        for seq in self._own.pending:
            self.pause(True)
            self._write_entries("seq = ?", seq)

    def journal_moves_of(self, process: str) -> None:
        self._write_entries("seq < 0 AND event LIKE 'job.%' AND process = ?", process)

    def recover(self) -> int:
        self.pause(True)
        return self._write_entries("seq < ?", 0)

    def _write_entries(self, which: str, value: object) -> int:
        rows = self._sql(f"SELECT seq FROM journal WHERE {which} ORDER BY -seq", (value,))
        for (seq,) in rows:
            self._sql("UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'journal'", ())
            self._sql(
                "UPDATE journal SET seq = (SELECT seq FROM sqlite_sequence WHERE name = 'journal')"
                " WHERE seq = ?",
                (seq,),
            )
        return len(rows)

    def _sql(self, statement: str, bindings: tuple) -> list:
        with self._store._database.writing() as connection:
            return connection.execute(statement, bindings).fetchall()

    def close(self) -> None:
        self._store.close()


class UnreliableBus(StoredBus):
    """Messages are sent after the batch, one call at a time, and the bus sometimes refuses them."""

    def __init__(self, store: PiecemealStore, fails: Callable[[], bool]) -> None:
        super().__init__(store)
        self._fails = fails

    def publish(self, queue, messages, batch, confirmed=lambda: None) -> None:
        batch.after_commit(partial(self._send, queue, list(messages), confirmed))

    def _send(self, queue, messages, confirmed) -> None:
        if Actor.current() is not None and self._fails():
            raise MessagingUnavailable("the bus is unavailable")
        with self._store.batch() as batch:
            super().publish(queue, messages, batch)
        confirmed()
