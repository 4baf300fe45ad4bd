"""The connection and batches that all parts of the store use.

There are no transactions: when a call returns, its write is durable on most members of a replica
set. A batch guarantees only that nothing is written after one of its writes has failed, so that its
stored writes are a prefix of it.
"""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Self

from pymongo import MongoClient
from pymongo.collection import Collection
from pymongo.cursor import Cursor
from pymongo.errors import BulkWriteError, DuplicateKeyError, PyMongoError

from synergy.errors import ConfigurationError, StorageUnavailable
from synergy.runtime.masking import mask
from synergy.storage.after_commit import call_all
from synergy.storage.malformed import MalformedRows
from synergy.storage.mongodb.faults import duplicate, translated
from synergy.storage.mongodb_url import MongoUrl

Doc = dict[str, Any]
"""A document as the driver gives it."""

# Consistency depends on these (docs/decisions/0009-mongodb-engine.md): no URL may change them.
_FIXED: Doc = {
    "w": "majority",
    "journal": True,
    "readConcernLevel": "majority",
    "readPreference": "primary",
    "retryWrites": True,
    "retryReads": True,
}
_DEFAULTS: Doc = {
    "timeoutMS": 5_000,
    "serverSelectionTimeoutMS": 4_000,
    "connectTimeoutMS": 3_000,
    "appName": "synergy",
}


class WriteBatch:
    """The outermost batch of a thread; implements `synergy.storage.protocol.Batch`."""

    __slots__ = ("after", "failed", "undo")

    def __init__(self) -> None:
        self.after: list[Callable[[], object]] = []
        self.undo: list[Callable[[], object]] = []
        self.failed = False

    def after_commit(self, act: Callable[[], None]) -> None:
        self.after.append(act)

    def after_failure(self, act: Callable[[], object]) -> None:
        self.undo.append(act)


class Database:
    """A database on a server, for all threads of this process."""

    def __init__(self, client: MongoClient[Doc], name: str, place: str) -> None:
        self.client = client
        self.name = name
        self.place = place
        self._database = client[name]
        self.prepared: set[str] = set()  # collections of documents whose index is made
        self.malformed = MalformedRows()
        self._closed = False
        self._own = threading.local()

    @classmethod
    def connect(cls, url: str) -> Self:
        """The database that the URL names; does not contact the server yet.

        Raises ConfigurationError for a URL that the driver does not accept. An option that the
        driver does not know is an error too, because it may be a misspelt safety option.
        """
        place = location(url)
        name = MongoUrl.parse(url).database
        if not name:
            raise ConfigurationError([f"the store's URL {place} names no database"])
        try:
            with warnings.catch_warnings(action="error", category=UserWarning):
                client: MongoClient[Doc] = MongoClient(url, **_options(url))
        except (PyMongoError, OSError, ValueError, UserWarning) as error:
            raise ConfigurationError(
                [f"the store's URL {place} cannot be used: {mask(str(error))}"]
            ) from error
        return cls(client, name, place)

    def __getitem__(self, collection: str) -> Collection[Doc]:
        return self._database[collection]

    def collections(self, prefix: str) -> list[str]:
        """The names of existing collections that begin with the prefix."""
        return sorted(n for n in self._database.list_collection_names() if n.startswith(prefix))

    def command(self, name: str) -> Doc:
        """The server's reply to a command about this database."""
        with self.calling():
            answer: Doc = self._database.command(name)
            return answer

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Translates the driver's errors within the block into StorageUnavailable.

        DuplicateKeyError passes, because callers handle it, and so does BulkWriteError, unless a
        write was not confirmed. Errors that are defects of the engine pass as well. Raises
        StorageUnavailable at once if the store was closed or the batch has failed.
        """
        batch = self._batch()
        self._check(batch)
        try:
            yield
        except PyMongoError as error:
            if (answer := duplicate(error)) is not None:
                raise answer from error
            if (ours := translated(error, self.place)) is None:
                if batch is not None and not isinstance(error, DuplicateKeyError | BulkWriteError):
                    batch.failed = True
                raise
            if batch is not None:
                batch.failed = True
            raise ours from error

    @contextmanager
    def batch(self) -> Iterator[WriteBatch]:
        """A batch of this thread; a batch within a batch is part of the outer one."""
        outer = self._batch()
        self._check(outer)
        if outer is not None:
            with _part(outer):
                yield outer
            return
        batch = self._own.batch = WriteBatch()
        try:
            yield batch
            self._check(batch)
        except BaseException:
            self._own.batch = None
            self._undo(batch)
            raise
        self._own.batch = None
        call_all(batch.after)

    def at_end(self, done: Callable[[], object], undone: Callable[[], object]) -> None:
        """Calls `done` after this thread's batch, or `undone` if it fails.

        Calls `done` at once if there is no batch.
        """
        batch = self._batch()
        if batch is None:
            done()
        else:
            batch.after.append(done)
            batch.undo.append(undone)

    def _undo(self, batch: WriteBatch) -> None:
        """Undoes a failed batch; leaves to `recover` what cannot be undone without the server."""
        for act in batch.undo:
            with suppress(StorageUnavailable):
                act()

    def close(self) -> None:
        """Closes all connections; any later use raises StorageUnavailable."""
        self._closed = True
        self.client.close()

    def _batch(self) -> WriteBatch | None:
        return getattr(self._own, "batch", None)

    def _check(self, batch: WriteBatch | None) -> None:
        if self._closed:
            raise StorageUnavailable(f"{self.place} was closed")
        if batch is not None and batch.failed:
            raise StorageUnavailable(
                "a write within the batch failed, so what follows it is not written"
            )


def first(found: Cursor[Doc], limit: int | None) -> Iterable[Doc]:
    """The first documents of a query; all if `limit` is None, and none if it is 0.

    To MongoDB a limit of 0 means all documents.
    """
    if limit is None:
        return found
    return found.limit(limit) if limit else ()


def location(url: str) -> str:
    """The URL without its secrets and options, for messages."""
    return re.split("[?#]", mask(url), maxsplit=1)[0]


@contextmanager
def _part(batch: WriteBatch) -> Iterator[None]:
    """A batch within a batch: if it fails, the whole batch fails."""
    try:
        yield
    except BaseException:
        batch.failed = True
        raise


def _options(url: str) -> Doc:
    """The fixed options, and the defaults that the URL does not set.

    The value 0 counts as not set: a deadline of 0 would mean no deadline.
    """
    given = {name for name, value in MongoUrl.parse(url).options.items() if value not in ("", "0")}
    return _FIXED | {name: value for name, value in _DEFAULTS.items() if name.lower() not in given}
