"""A store without atomic batches, and actors that stop between any two writes.

The store is SQLite underneath, but each write is a commit of its own, a group of jobs or units
is written one after the other, and the journal is told of a change only later, by a write of
its own: as it is in an engine without transactions. Wherever an actor calls the store it may
be put aside while others go on, end for good, or find the store or the bus unavailable.
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
# Methods of units that take a list and answer with a list: their items are written one by one.
PIECES = frozenset(["create", "claim", "give_back", "conclude", "move", "heartbeat"])
TELLS = frozenset(["jobs", "units"])  # what tells the journal of its changes later

Pause = Callable[[bool], None]


class Died(BaseException):
    """The actor is no more."""


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
        """Ends it where it stands; nothing more is written."""
        self._dead = True
        while not self.is_done:
            self.resume()

    def pause(self) -> None:
        """Called by the thread itself."""
        if not self._dead:
            self._back.release()
            self._go.acquire()
        if self._dead:
            raise Died

    @staticmethod
    def present() -> Actor | None:
        return getattr(threading.current_thread(), "actor", None)

    def _run(self, act: Callable[[], object]) -> None:
        self._go.acquire()
        try:
            if not self._dead:
                act()
        except Died:
            pass
        except BaseException as error:  # noqa: BLE001 - told to whoever resumed it
            self._error = error
        self.is_done = True
        self._back.release()


class _Noun:
    """One noun of the store; each call is a step of its own."""

    def __init__(self, store: PiecemealStore, name: str, real: object) -> None:
        self._store, self._name, self._real = store, name, real

    def __getattr__(self, method: str) -> object:
        real = getattr(self._real, method)
        if method in READS:
            return partial(self._read, real)
        if self._name == "units" and method in PIECES:
            return partial(self._each, real)
        if (self._name, method) == ("jobs", "move"):
            return partial(self._by_process, real)
        return partial(self._write, real)

    def _read(self, real, *arguments, **named):
        self._store.pause(False)
        return real(*arguments, **named)

    def _write(self, real, *arguments):
        self._store.pause(True)
        if self._name not in TELLS:
            return real(*arguments)
        with self._store.untold():
            answer = real(*arguments)
        self._store.tell()
        return answer

    def _each(self, real, items, *arguments):
        return [one for item in items for one in self._write(real, [item], *arguments)]

    def _by_process(self, real, moves, now):
        """The moves of one process are one step, and what was moved before is told first."""
        refused = []
        for process, some in groupby(moves, key=lambda move: move.process):
            self._store.tell_of(process)
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

    # The journal is told later: until then an entry has a negative number

    @contextmanager
    def untold(self) -> Iterator[None]:
        before = self._store.journal.last_seq()
        self._own.untold = []
        yield
        found = self._store.journal.since(before, 10_000)
        self._sql("UPDATE journal SET seq = -seq WHERE seq > ?", (before,))
        self._own.untold = [-entry.seq for entry in found]

    def tell(self) -> None:
        """Tells what this thread has just written."""
        for seq in self._own.untold:
            self.pause(True)
            self._tell("seq = ?", seq)

    def tell_of(self, process: str) -> None:
        self._tell("seq < 0 AND event LIKE 'job.%' AND process = ?", process)

    def recover(self) -> int:
        self.pause(True)
        return self._tell("seq < ?", 0)

    def _tell(self, which: str, value: object) -> int:
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
    """Messages leave after the batch, one by one, and sometimes the bus does not take them."""

    def __init__(self, store: PiecemealStore, fails: Callable[[], bool]) -> None:
        super().__init__(store)
        self._fails = fails

    def publish(self, queue, messages, batch, confirmed=lambda: None) -> None:
        batch.after_commit(partial(self._send, queue, list(messages), confirmed))

    def _send(self, queue, messages, confirmed) -> None:
        if Actor.present() is not None and self._fails():
            raise MessagingUnavailable("the bus is away")
        with self._store.batch() as batch:
            super().publish(queue, messages, batch)
        confirmed()
